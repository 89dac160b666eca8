// fork_join without a tree that hides its cost: two branches of 20 us that never fork again, and the cost of a pool
// that no thread calls.
//
// `awake`: the other worker has just run a job, and looks for more. `parked`: it sleeps on a futex. `one_worker`: the
// time of two branches without parallelism. A figure of `two_branches` is one fork_join, the median of all. `idle` is
// the processor time of the process in a second that begins 10 ms after the last job. `call` is a `run` from outside,
// of nothing and of fib(16): `handed_over` to a worker, which is awake or sleeps, or in a `seat`; each with one worker.
#include <apiary/schedulers/fork_join/pool.hpp>

#include <benchmark/benchmark.h>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "micro/micro.hpp"

namespace {

using pool = apiary::fork_join_pool;
using apiary::real_sync;

constexpr std::int64_t branch_ns = 20'000;

void branch() {
    const std::int64_t until = real_sync::now_ns() + branch_ns;
    while (real_sync::now_ns() < until) real_sync::relax();
}

// Calls `ready` before each fork_join; only the fork_join is timed.
template <class Ready>
void measure(benchmark::State& state, unsigned workers, Ready ready) {
    pool p({.workers = workers});
    std::vector<double> took;
    p.run([&](pool::context& w) {
        for (auto _ : state) {
            ready(p, w);
            const std::int64_t begin = real_sync::now_ns();
            apiary::fork_join(w, branch, branch);
            const auto ns = static_cast<double>(real_sync::now_ns() - begin);
            state.SetIterationTime(ns * 1e-9);
            took.push_back(ns);
        }
    });
    std::nth_element(took.begin(), took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2), took.end());
    state.counters["median_us"] = took[took.size() / 2] / 1000;
    state.counters["stolen"] = static_cast<double>(p.counters().stolen) / static_cast<double>(took.size());
}

void one_worker(benchmark::State& state) {
    measure(state, 1, [](const pool&, const pool::context&) {});
}
void awake(benchmark::State& state) {
    measure(state, 2, [](const pool&, const pool::context& w) {
        while (!w.asked()) real_sync::relax();
    });
}
void parked(benchmark::State& state) {
    measure(state, 2, [](pool& p, const pool::context& w) {
        while (!w.asked() || !p.somebody_sleeps()) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(50));  // from its announcement into the kernel
    });
}
BENCHMARK(one_worker)->Name("fork/two_branches/one_worker")->UseManualTime()->Iterations(1000);
BENCHMARK(awake)->Name("fork/two_branches/awake")->UseManualTime()->Iterations(1000);
BENCHMARK(parked)->Name("fork/two_branches/parked")->UseManualTime()->Iterations(1000);

std::int64_t processor_ns() {
    timespec t{};
    apiary::micro::must(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0, "no clock of the process");
    return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}
void idle(benchmark::State& state) {
    pool p({.workers = 2});
    for (auto _ : state) {
        p.run([](pool::context& w) { apiary::fork_join(w, branch, branch); });
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        const std::int64_t before = processor_ns();
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const auto cpu_ns = static_cast<double>(processor_ns() - before);
        state.SetIterationTime(cpu_ns * 1e-9);
        state.counters["cpu_us_per_s"] = cpu_ns / 1000;
    }
}
BENCHMARK(idle)->Name("fork/idle")->UseManualTime()->Iterations(1);

std::uint64_t fib(pool::context& w, unsigned n) {
    if (n < 2) return n;
    const auto [x, y] = apiary::fork_join(
        w, [n](pool::context& v) { return fib(v, n - 1); }, [n](pool::context& v) { return fib(v, n - 2); });
    return x + y;
}
// `pause` before each call: so long that the workers sleep.
template <unsigned N, bool Pause>
void call(benchmark::State& state, unsigned callers) {
    pool p({.workers = 1, .callers = callers});
    std::vector<double> took;
    std::uint64_t sum = 0;
    for (auto _ : state) {
        if (Pause) std::this_thread::sleep_for(std::chrono::microseconds(300));
        const std::int64_t begin = real_sync::now_ns();
        sum += p.run([](pool::context& w) { return fib(w, N); });
        const auto ns = static_cast<double>(real_sync::now_ns() - begin);
        state.SetIterationTime(ns * 1e-9);
        took.push_back(ns);
    }
    benchmark::DoNotOptimize(sum);
    std::nth_element(took.begin(), took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2), took.end());
    state.counters["median_us"] = took[took.size() / 2] / 1000;
}
template <unsigned N, bool Pause>
void handed_over(benchmark::State& state) {
    call<N, Pause>(state, 0);
}
template <unsigned N, bool Pause>
void seat(benchmark::State& state) {
    call<N, Pause>(state, 1);
}
BENCHMARK(handed_over<0, false>)->Name("fork/call/nothing/awake/handed_over")->UseManualTime()->Iterations(3000);
BENCHMARK(seat<0, false>)->Name("fork/call/nothing/awake/seat")->UseManualTime()->Iterations(3000);
BENCHMARK(handed_over<0, true>)->Name("fork/call/nothing/asleep/handed_over")->UseManualTime()->Iterations(1000);
BENCHMARK(seat<0, true>)->Name("fork/call/nothing/asleep/seat")->UseManualTime()->Iterations(1000);
BENCHMARK(handed_over<16, true>)->Name("fork/call/fib/asleep/handed_over")->UseManualTime()->Iterations(1000);
BENCHMARK(seat<16, true>)->Name("fork/call/fib/asleep/seat")->UseManualTime()->Iterations(1000);

}  // namespace

BENCHMARK_MAIN();
