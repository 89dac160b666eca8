// task_graph of several submitters under stress: each thread submits its own chain through a small window, names tasks
// of other threads as producers, waits now and then, and reads plain data that those tasks wrote.
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <apiary/stress/harness.hpp>
#include <apiary/sync/chaos_sync.hpp>

namespace {

using apiary::chaos;
using apiary::chaos_sync;
using apiary::task_id;
using graph_type = apiary::basic_task_graph<chaos_sync>;

// The newest task of a thread that others may name: its id, and the number of that thread's tasks before it.
struct alignas(64) published {
    std::atomic<std::uint64_t> word{0};  // id << 16 | number
};

void body(apiary::stress::run& r) {
    chaos_sync::random_source random(r.seed);
    chaos::enter(0);
    const std::size_t submitters = 2 + random.below(3), each = 500;
    graph_type g({.workers = {1 + random.below(r.opts.threads)},
                  .submitter_helps = random.below(2) == 0,
                  .window = std::size_t{1} << random.below(7),
                  .dependencies = 64,
                  .at_once = 1 + random.below(8),
                  .policy = static_cast<apiary::ready_policy>(random.below(4)),
                  .several_submitters = true,
                  .window_most = random.below(3) == 0 ? 256U : 0U});
    r.describe = [&] {
        const auto p = g.progress();
        return "submitted " + std::to_string(p.submitted) + ", begun " + std::to_string(p.begun);
    };
    // The tasks of each submitter in order: a task writes its own cell and reads those of its producers.
    std::vector<std::vector<std::uint64_t>> made(submitters, std::vector<std::uint64_t>(each));
    std::vector<published> newest(submitters);
    const auto submit_all = [&](std::size_t me) {
        chaos::enter(static_cast<unsigned>(me + 1));
        chaos_sync::random_source mine(r.seed * 31 + me);
        task_id last = 0;
        for (std::size_t n = 0; n != each; ++n) {
            const std::size_t other = mine.below(static_cast<std::uint32_t>(submitters));
            const std::uint64_t theirs = newest[other].word.load(std::memory_order_acquire);
            std::array<task_id, 2> after{last, theirs >> 16};
            std::size_t producers = 0;
            if (n != 0) after[producers++] = last;
            const bool names_other = theirs != 0;
            if (names_other) after[producers++] = theirs >> 16;
            const std::size_t number = theirs & 0xFFFF;
            last = g.submit(std::span(after).first(producers), [&, me, n, other, number, names_other] {
                r.progress();
                if (n != 0 && made[me][n - 1] != n) r.fail("a task ran before the one before it in its chain");
                if (names_other && made[other][number] != number + 1) r.fail("a task ran before another's task");
                made[me][n] = n + 1;
            });
            newest[me].word.store(last << 16 | n, std::memory_order_release);
            if (mine.below(200) == 0) g.wait();
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t me = 1; me != submitters; ++me) threads.emplace_back(submit_all, me);
    submit_all(0);
    for (std::thread& t : threads) t.join();
    const auto report = g.close();
    if (report.submitted != submitters * each || report.consumed != report.submitted)
        r.fail("submitted and consumed are not the same");
    for (const auto& of : made)
        for (std::size_t n = 0; n != each; ++n)
            if (of[n] != n + 1) r.fail("a task did not run");
}

}  // namespace

int main(int argc, char** argv) { return apiary::stress::main(argc, argv, "task graph of several submitters", body); }
