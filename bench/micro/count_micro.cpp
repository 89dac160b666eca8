// Ways in which the global queue may count its unfinished tasks: the cost for a worker to take a task and to report its
// end. Seed 004 proposes an atomic variable. Each way does the same work on a queue that never runs dry, with two
// threads or one alone.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "micro/micro.hpp"

namespace {

constexpr std::uint64_t tasks = 1 << 16;

// The count under the lock, taken just for the count.
struct own_lock {
    std::mutex mutex;
    std::uint64_t taken = 0, unfinished = 2 * tasks;
    void run(std::uint64_t n) {
        while (n-- > 0) {
            {
                const std::lock_guard held(mutex);
                ++taken;
            }
            const std::lock_guard held(mutex);
            --unfinished;
        }
    }
    std::uint64_t left() const { return unfinished; }
};

// The seed's way: an atomic variable.
struct atomic_count {
    std::mutex mutex;
    std::uint64_t taken = 0;
    std::atomic<std::uint64_t> unfinished{2 * tasks};
    void run(std::uint64_t n) {
        while (n-- > 0) {
            {
                const std::lock_guard held(mutex);
                ++taken;
            }
            unfinished.fetch_sub(1, std::memory_order_acq_rel);
        }
    }
    std::uint64_t left() const { return unfinished; }
};

// The count under the lock that the worker takes for the next task anyway. This way ships.
struct with_the_take {
    std::mutex mutex;
    std::uint64_t taken = 0, unfinished = 2 * tasks;
    void run(std::uint64_t n) {
        while (n-- > 0) {
            const std::lock_guard held(mutex);
            ++taken;
            --unfinished;
        }
    }
    std::uint64_t left() const { return unfinished; }
};

template <class Way>
void two_workers(benchmark::State& state) {
    for (auto _ : state) {
        Way way;
        state.SetIterationTime(apiary::micro::seconds_of_both([&] { way.run(tasks); }, [&] { way.run(tasks); }));
        apiary::micro::must(way.taken == 2 * tasks && way.left() == 0, "a task was lost");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * tasks));
}

template <class Way>
void one_worker(benchmark::State& state) {
    // A process that never had a second thread takes no lock.
    std::thread([] {}).join();
    for (auto _ : state) {
        Way way;
        way.run(2 * tasks);
        apiary::micro::must(way.taken == 2 * tasks && way.left() == 0, "a task was lost");
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * tasks));
}

BENCHMARK(one_worker<own_lock>)->Name("count/own_lock/workers:1");
BENCHMARK(one_worker<atomic_count>)->Name("count/atomic/workers:1");
BENCHMARK(one_worker<with_the_take>)->Name("count/with_the_take/workers:1");
BENCHMARK(two_workers<own_lock>)->Name("count/own_lock/workers:2")->UseManualTime();
BENCHMARK(two_workers<atomic_count>)->Name("count/atomic/workers:2")->UseManualTime();
BENCHMARK(two_workers<with_the_take>)->Name("count/with_the_take/workers:2")->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
