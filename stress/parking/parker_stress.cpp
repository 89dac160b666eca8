// The parker under real threads: a word goes back and forth, many threads wake at once, deadlines and wakes meet. A
// missed wake is a hang, which the watchdog reports; a token without its data is a race, which ThreadSanitizer reports.
#include <apiary/parking/parker.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using parker = apiary::basic_parker<chaos_sync>;

constexpr int rounds = 2000;

// A plain number that only the parkers hand over.
void ping_pong(apiary::stress::run& r) {
    parker to, fro;
    int number = 0;
    r.describe = [&] { return "ping-pong"; };
    std::thread other([&] {
        chaos::enter(1);
        for (int i = 0; i < rounds; ++i) {
            to.park();
            ++number;
            fro.unpark();
        }
    });
    for (int i = 0; i < rounds; ++i) {
        ++number;
        to.unpark();
        fro.park();
        if (number != 2 * (i + 1)) r.fail("round " + std::to_string(i) + ": the number is " + std::to_string(number));
        r.progress();
    }
    other.join();
}

// One thread waits, all others count and wake; every third wait has a deadline close by.
void many_wake_one(apiary::stress::run& r) {
    parker p;
    const unsigned others = r.opts.threads - 1;
    const std::uint64_t all = std::uint64_t{others} * rounds;
    std::atomic<std::uint64_t> come{0};
    r.describe = [&] { return "many wake one: " + std::to_string(come) + " of " + std::to_string(all) + " have come"; };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < others; ++t)
        threads.emplace_back([&, t] {
            chaos::enter(t + 1);
            for (int i = 0; i < rounds; ++i) {
                come.fetch_add(1, std::memory_order_relaxed);
                p.unpark();
            }
        });
    chaos::enter(0);
    for (std::uint64_t waits = 0; come.load(std::memory_order_relaxed) != all; ++waits) {
        if (waits % 3 == 0)
            (void)p.park_until(chaos_sync::now_ns() + 50'000);
        else
            p.park();
        r.progress();
    }
    for (auto& t : threads) t.join();
    // At most one token is left over; after it there is none.
    (void)p.park_until(0);
    if (p.park_until(chaos_sync::now_ns() + 100'000)) r.fail("a token that nobody left");
}

// Each thread of a ring waits for the one before it: as many parkers as threads, all of them in use.
void ring(apiary::stress::run& r) {
    const unsigned n = r.opts.threads;
    std::vector<std::unique_ptr<parker>> parkers;
    for (unsigned i = 0; i < n; ++i) parkers.push_back(std::make_unique<parker>());
    std::uint64_t passed = 0;
    r.describe = [&] { return "ring of " + std::to_string(n); };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n; ++i)
        threads.emplace_back([&, i] {
            chaos::enter(i + 1);
            for (int k = 0; k < rounds / 8; ++k) {
                parkers[i]->park();
                ++passed;
                r.progress();
                parkers[(i + 1) % n]->unpark();
            }
        });
    parkers[0]->unpark();
    for (auto& t : threads) t.join();
    if (passed != std::uint64_t{n} * (rounds / 8)) r.fail("passed on " + std::to_string(passed) + " times");
}

}  // namespace

int main(int argc, char** argv) {
    return apiary::stress::main(argc, argv, "parker: hand-over, many wakers, deadlines", [](apiary::stress::run& r) {
        ping_pong(r);
        many_wake_one(r);
        ring(r);
    });
}
