// Coroutines that wait: the memory of a suspended one, and the cost of messages through the channel.
//
// `suspended`: a million coroutines, each spawned and suspended at one event; the figure is the growth of the process's
// memory for each, and its peak. `ping_pong`: a number to and fro between two coroutines, by two channels of one place.
// `count`: a million numbers from one to another through 64 places. Time is for each message, and `cpu_ns` is the
// processor time of the whole process for one.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <benchmark/benchmark.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "micro/micro.hpp"

namespace {

using apiary::async_event;
using apiary::channel;
using apiary::co_task;
using apiary::coro_pool;
using apiary::real_sync;
using apiary::micro::must;

double resident_bytes() {
    long whole = 0, resident = 0;
    std::FILE* const f = std::fopen("/proc/self/statm", "r");
    must(f != nullptr && std::fscanf(f, "%ld %ld", &whole, &resident) == 2, "no /proc/self/statm");
    std::fclose(f);
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}
double processor_ns() {
    rusage u{};
    must(::getrusage(RUSAGE_SELF, &u) == 0, "no getrusage");
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
           static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}
double peak_mib() {
    rusage u{};
    must(::getrusage(RUSAGE_SELF, &u) == 0, "no getrusage");
    return static_cast<double>(u.ru_maxrss) / 1024;
}

co_task<> waits(async_event<>& e, std::atomic<std::uint64_t>& there) {
    there.fetch_add(1, std::memory_order_relaxed);
    (void)co_await e.wait();
}
void suspended(benchmark::State& state) {
    constexpr std::uint64_t all = 1'000'000;
    for (auto _ : state) {
        coro_pool pool({.workers = 1});
        pool.start();
        async_event<> e;
        std::atomic<std::uint64_t> there = 0;
        const double before = resident_bytes();
        for (std::uint64_t i = 0; i != all; ++i) must(pool.spawn(waits(e, there)), "a spawn was refused");
        while (there != all) std::this_thread::yield();
        const double each = (resident_bytes() - before) / all;
        state.counters["bytes_each"] = each;
        state.counters["peak_mib"] = peak_mib();
        e.set();
        pool.stop();
        must(pool.report().run == all, "not all have run");
    }
}
BENCHMARK(suspended)->Name("coro/suspended/1000000")->Iterations(1)->Unit(benchmark::kMillisecond);

constexpr int pings = 20'000;

co_task<> returns(channel<int>& in, channel<int>& out) {
    while (auto r = co_await in.receive()) (void)co_await out.send(*r.value + 1);
}
co_task<int> serves(channel<int>& out, channel<int>& in) {
    int last = 0;
    for (int i = 0; i != pings; ++i) {
        (void)co_await out.send(last);
        auto r = co_await in.receive();
        last = *r.value;
    }
    out.close();
    co_return last;
}
void ping_pong(benchmark::State& state) {
    coro_pool pool({.workers = static_cast<unsigned>(state.range(0))});
    pool.start();
    double processor = 0;
    for (auto _ : state) {
        channel<int> there(1), back(1);
        must(pool.spawn(returns(there, back)), "a spawn was refused");
        const double before = processor_ns();
        const std::int64_t begin = real_sync::now_ns();
        must(apiary::sync_wait(pool, serves(there, back)) == pings, "a ping was lost");
        const auto ns = static_cast<double>(real_sync::now_ns() - begin);
        processor += processor_ns() - before;
        while (pool.report().living != 0) std::this_thread::yield();  // it has the channels
        state.SetIterationTime(ns * 1e-9 / (2 * pings));
    }
    state.counters["cpu_ns"] = processor / (2.0 * pings * static_cast<double>(state.iterations()));
}
BENCHMARK(ping_pong)->Name("coro/ping_pong")->Arg(1)->Arg(2)->UseManualTime()->Iterations(20);

constexpr int numbers = 1'000'000;

co_task<> sends(channel<int>& to) {
    for (int i = 0; i != numbers; ++i) (void)co_await to.send(i);
    to.close();
}
co_task<std::int64_t> adds(channel<int>& from) {
    std::int64_t sum = 0;
    while (auto r = co_await from.receive()) sum += *r.value;
    co_return sum;
}
void count(benchmark::State& state) {
    coro_pool pool({.workers = static_cast<unsigned>(state.range(0))});
    pool.start();
    double processor = 0;
    for (auto _ : state) {
        channel<int> c(64);
        const double before = processor_ns();
        const std::int64_t begin = real_sync::now_ns();
        must(pool.spawn(sends(c)), "a spawn was refused");
        must(apiary::sync_wait(pool, adds(c)) == std::int64_t{numbers} * (numbers - 1) / 2, "a number was lost");
        const auto ns = static_cast<double>(real_sync::now_ns() - begin);
        processor += processor_ns() - before;
        while (pool.report().living != 0) std::this_thread::yield();
        state.SetIterationTime(ns * 1e-9 / numbers);
    }
    state.counters["cpu_ns"] = processor / (1.0 * numbers * static_cast<double>(state.iterations()));
}
BENCHMARK(count)->Name("coro/count")->Arg(1)->Arg(2)->UseManualTime()->Iterations(5);

}  // namespace

BENCHMARK_MAIN();
