// Micro-benchmarks of chase_lev_deque. Each measurement runs on one benchmark thread: Google Benchmark
// 1.7.1 divides the wall time by the number of its own threads.
#include <benchmark/benchmark.h>

#include <cstdint>

#include <apiary/queues/chase_lev_deque.hpp>

#include "micro/micro.hpp"

namespace {

using deque = apiary::chase_lev_deque<std::uint64_t>;
using apiary::steal_status;
using apiary::micro::must;

// One push and one pop at the bottom of an otherwise empty deque: the most expensive pop, since it races for the last
// element.
void push_pop_last(benchmark::State& state) {
    deque d;
    auto owner = d.own();
    std::uint64_t value = 0;
    for (auto _ : state) {
        must(owner.try_push(value) && owner.try_pop(value), "push or pop failed");
        benchmark::DoNotOptimize(value);
    }
    state.SetItemsProcessed(state.iterations());
}

// `range` pushes, then as many pops: all but the last are cheap.
void push_pop_many(benchmark::State& state) {
    deque d;
    auto owner = d.own();
    const auto n = static_cast<std::uint64_t>(state.range(0));
    for (auto _ : state) {
        std::uint64_t value = 0;
        for (std::uint64_t i = 0; i < n; ++i) must(owner.try_push(i), "push failed");
        for (std::uint64_t i = 0; i < n; ++i) must(owner.try_pop(value), "pop failed");
        benchmark::DoNotOptimize(value);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Steals without an active owner; only the steals are timed, `range` at a time.
void steal_uncontended(benchmark::State& state) {
    deque d;
    auto owner = d.own();
    const auto thief = d.share();
    const auto n = static_cast<std::uint64_t>(state.range(0));
    for (auto _ : state) {
        for (std::uint64_t i = 0; i < n; ++i) must(owner.try_push(i), "push failed");
        const std::int64_t start = apiary::real_sync::now_ns();
        for (std::uint64_t i = 0; i < n; ++i) must(thief.steal().status == steal_status::taken, "steal failed");
        state.SetIterationTime(static_cast<double>(apiary::real_sync::now_ns() - start) * 1e-9);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

// The owner pushes `range` elements while one thief takes them; timed from the start to the last theft.
void push_against_thief(benchmark::State& state) {
    deque d;
    auto owner = d.own();
    const auto thief = d.share();
    const auto n = static_cast<std::uint64_t>(state.range(0));
    for (auto _ : state) {
        const auto push_all = [&] {
            for (std::uint64_t i = 0; i < n; ++i) must(owner.try_push(i), "push failed");
        };
        const auto steal_all = [&] {
            for (std::uint64_t taken = 0; taken < n;)
                if (thief.steal().status == steal_status::taken)
                    ++taken;
                else
                    apiary::real_sync::relax();
        };
        state.SetIterationTime(apiary::micro::seconds_of_both(push_all, steal_all));
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(push_pop_last)->Name("deque/push_pop_last");
BENCHMARK(push_pop_many)->Name("deque/push_pop")->Arg(64);
BENCHMARK(steal_uncontended)->Name("deque/steal_uncontended")->Arg(1024)->UseManualTime();
BENCHMARK(push_against_thief)->Name("deque/push_against_thief")->Arg(1 << 16)->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
