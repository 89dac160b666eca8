// One owner of the timer heap adds, cancels and runs timers on a clock that other threads move, while they read the
// numbers that it publishes. Each timer runs or is cancelled, once; each published number was possible at some moment.
#include <apiary/timers/clock.hpp>
#include <apiary/timers/timer_heap.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <apiary/contract/laws.hpp>
#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;

struct timer {
    std::int64_t deadline_ns = 0;
    std::size_t id = 0;
};

constexpr std::size_t timers = 20'000;
constexpr std::int64_t horizon = 64;

void add_cancel_run(apiary::stress::run& r) {
    apiary::timer_heap<timer, chaos_sync> heap;
    apiary::manual_clock<chaos_sync> clock;
    std::vector<timer> all(timers);
    std::vector<apiary::timer_handle> handles;
    apiary::claim_ledger<> ended(timers);
    std::atomic<bool> done{false};
    r.describe = [&] { return "timers: " + std::to_string(heap.size()) + " pending"; };

    std::vector<std::thread> others;
    for (unsigned t = 1; t < r.opts.threads; ++t)
        others.emplace_back([&, t] {
            chaos::enter(t);
            while (!done) {
                if (t == 1) clock.advance(1);
                if (heap.size() > timers) r.fail("a size that cannot have been");
                const std::int64_t next = heap.next_deadline();
                if (next < 0 || (next != heap.never && next > clock.now_ns() + horizon))
                    r.fail("the next deadline is " + std::to_string(next));
                std::this_thread::yield();
            }
        });
    chaos::enter(0);
    chaos_sync::random_source random(r.seed);
    const auto run_due = [&](std::int64_t now) {
        while (const timer* t = heap.pop_due(now)) {
            if (t->deadline_ns > now) r.fail("a timer ran early");
            ended.took(t->id);
            r.progress();
        }
    };
    for (std::size_t id = 0; id < timers; ++id) {
        all[id] = {clock.now_ns() + random.below(horizon), id};
        handles.push_back(heap.add(&all[id]));
        if (random.below(4) == 0)
            if (const timer* t = heap.cancel(handles[random.below(static_cast<std::uint32_t>(handles.size()))]))
                ended.took(t->id);
        if (random.below(8) == 0) run_due(clock.now_ns());
    }
    run_due(clock.now_ns() + horizon);
    done = true;
    for (auto& t : others) t.join();
    if (heap.size() != 0) r.fail(std::to_string(heap.size()) + " timers are left");
    ended.settle();
}

}  // namespace

int main(int argc, char** argv) {
    return apiary::stress::main(argc, argv, "timer heap: add, cancel, run", add_cancel_run);
}
