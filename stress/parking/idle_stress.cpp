// Event count, idle sets and sleeper with real threads: workers take pieces of work and sleep when there are none;
// posters post in bursts. A missed wake leaves pieces in the queue while all workers sleep: a hang, which the watchdog
// reports.
#include <apiary/events/parker_driver.hpp>
#include <apiary/parking/event_count.hpp>
#include <apiary/parking/idle_sets.hpp>
#include <apiary/parking/sleeper.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using word = chaos_sync::atomic<std::uint64_t>;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint64_t each = 3000;

bool take(word& pieces) {
    std::uint64_t n = pieces.load(relaxed);
    while (n != 0)
        if (pieces.compare_exchange_weak(n, n - 1, relaxed, relaxed)) return true;
    return false;
}

struct crew {
    explicit crew(const apiary::stress::run& r) : workers(r.opts.threads / 2 + 1), posters(r.opts.threads / 2 + 1) {
        pieces.store(0, relaxed);
        quit.store(false, relaxed);
    }
    unsigned workers, posters;
    word pieces;
    chaos_sync::atomic<bool> quit;
    std::atomic<std::uint64_t> taken{0};

    std::string describe(const char* what) const {
        return std::string(what) + ": " + std::to_string(taken) + " of " + std::to_string(posters * each) + " taken";
    }
    // Posts in bursts, so that workers fall asleep in between; the last poster to end waits for all pieces, and stops
    // the workers.
    template <class Post, class Stop>
    void run(apiary::stress::run& r, const std::function<void(unsigned)>& work, Post post, Stop stop) {
        std::vector<std::thread> threads;
        for (unsigned w = 0; w < workers; ++w)
            threads.emplace_back([&, w] {
                chaos::enter(w + 1);
                work(w);
            });
        std::vector<std::thread> outside;
        for (unsigned p = 0; p < posters; ++p)
            outside.emplace_back([&, p] {
                chaos::enter(100 + p);
                chaos_sync::random_source random(r.seed + p);
                for (std::uint64_t n = 0; n < each; ++n) {
                    post();
                    if (random.below(32) == 0) std::this_thread::yield();
                }
            });
        for (auto& t : outside) t.join();
        while (taken != posters * each) std::this_thread::yield();  // a piece left lying is a hang here
        stop();
        for (auto& t : threads) t.join();
        if (pieces.load(relaxed) != 0) r.fail("more pieces than were posted");
    }
};

void event_count(apiary::stress::run& r) {
    crew c(r);
    apiary::event_count<chaos_sync> events(c.workers);
    r.describe = [&] { return c.describe("event count"); };
    c.run(
        r,
        [&](unsigned w) {
            for (;;) {
                events.prepare_wait();
                if (take(c.pieces)) {
                    events.cancel_wait();
                    ++c.taken;
                    r.progress();
                } else if (c.quit.load(relaxed)) {
                    return events.cancel_wait();
                } else {
                    events.commit_wait(w);
                }
            }
        },
        [&] {
            c.pieces.fetch_add(1, relaxed);
            events.notify_one();
        },
        [&] {
            c.quit.store(true, relaxed);
            events.notify_all();
        });
    const auto end = events.snapshot();
    if (end.top() != 0 || end.before() != 0 || end.signals() != 0)
        r.fail("the books of the event count do not balance");
}

// `PerSet` workers share a word: one word for all, or one for each.
template <unsigned PerSet>
void idle_sets(apiary::stress::run& r, const char* what) {
    using core = apiary::parker_driver<chaos_sync>;
    using sets = apiary::idle_sets<chaos_sync, PerSet, 56 / PerSet>;
    crew c(r);
    sets idle;
    for (unsigned w = 0; w < c.workers; ++w) idle.join(w);
    std::vector<std::unique_ptr<core>> cores;
    for (unsigned w = 0; w < c.workers; ++w) cores.push_back(std::make_unique<core>());
    r.describe = [&] { return c.describe(what) + ", asleep " + std::to_string(idle.asleep()); };
    const auto wake_one = [&] {
        if (const auto w = idle.claim_any()) cores[*w]->wake();
    };
    c.run(
        r,
        [&](unsigned w) {
            apiary::sleeper<chaos_sync, core> self(sets::within(w), idle.of(w), *cores[w]);
            const auto visible = [&] { return c.pieces.load(relaxed) != 0 || c.quit.load(relaxed); };
            while (!c.quit.load(relaxed)) {
                if (!take(c.pieces)) {
                    // Every third sleep has a deadline close by: the worker leaves while others claim it.
                    const bool timed = c.taken.load(relaxed) % 3 == 0;
                    self.sleep(timed ? chaos_sync::now_ns() + 20'000 : core::forever, visible);
                    continue;
                }
                if (self.found_work() && c.pieces.load(relaxed) != 0) wake_one();
                ++c.taken;
                r.progress();
            }
            (void)self.found_work();
        },
        [&] {
            c.pieces.fetch_add(1, relaxed);
            chaos_sync::fence(std::memory_order_seq_cst);  // idle_set S2
            wake_one();
        },
        [&] {
            c.quit.store(true, relaxed);
            for (auto& sleeping : cores) sleeping->wake();
        });
    for (unsigned w = 0; w < c.workers; ++w) {
        const std::uint64_t end = idle.of(w).snapshot().value & ~apiary::idle_word::one_of_several;
        if (end != 0) r.fail("the books of the idle sets do not balance");
    }
}

}  // namespace

int main(int argc, char** argv) {
    return apiary::stress::main(argc, argv, "event count and idle sets: bursts of work", [](apiary::stress::run& r) {
        event_count(r);
        idle_sets<56>(r, "idle set");
        idle_sets<1>(r, "idle sets");
    });
}
