// Heap calls of a pool behind its first call: none, whichever worker runs, takes, divides or sleeps. And what the trace
// of a worker does without memory.
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>
#include <apiary/testing/replaced_new.hpp>
#include <apiary/workers/trace.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>

#include "helpers.hpp"

std::atomic<std::uint64_t> allocations = 0;
thread_local bool heap_is_empty = false;
void apiary::before_allocation(std::size_t, std::size_t) {
    ++allocations;
    if (heap_is_empty) throw std::bad_alloc();
}

namespace {

using apiary::fork_join;
using apiary::fork_join_pool;
using context = fork_join_pool::context;
using fork_join_tests::fib;

// A theft, and a joiner that sleeps until the thief has ended: neither can be otherwise.
void steals_and_sleeps(context& w) {
    while (!w.asked()) std::this_thread::yield();
    std::atomic<bool> begun = false;
    const std::uint64_t slept = w.slept();
    fork_join(
        w,
        [&] {
            while (!begun) std::this_thread::yield();
        },
        [&] {
            begun = true;
            while (w.slept() == slept) std::this_thread::yield();
        });
}

TEST(fork_join_memory, no_heap_call_behind_the_first_run) {
    fork_join_pool pool({.workers = 3, .linger_ns = 0});
    pool.run([] {});  // the engine's line of roots has an array, which grows to the most that ever waited
    bool right = true;
    const std::uint64_t before = allocations;
    for (int round = 0; round != 50; ++round) {
        right &= pool.run([](context& w) { return fib(w, 16); }) == 987;
        pool.run(steals_and_sleeps);
        right &= pool.run([](context& w) {
            std::atomic<unsigned> jobs = 0;
            apiary::task_scope all(w);
            for (int i = 0; i != 20; ++i) all.run([&jobs] { ++jobs; });  // more than it has room for
            (void)all.wait();
            return jobs.load();
        }) == 20;
        right &= pool.run([](context& w) {
            return apiary::parallel_reduce(
                w, 0, 1000, 0, [](int i) { return i; }, [](int a, int b) { return a + b; }, 10);
        }) == 499'500;
        for (const auto parked = pool.counters().parked; pool.counters().parked == parked;) {
            pool.run([] {});  // its worker sleeps again behind it
            std::this_thread::yield();
        }
    }
    const std::uint64_t heap_calls = allocations - before;
    EXPECT_EQ(heap_calls, 0U);
    EXPECT_TRUE(right);
    const auto c = pool.counters();
    EXPECT_GE(c.stolen, 50U);
    EXPECT_GE(c.slept, 50U);
    EXPECT_GE(c.parked, 50U);
    EXPECT_GE(c.woken, 1U);
}

TEST(event_trace, counts_what_it_has_no_memory_for) {
    apiary::event_trace all;
    heap_is_empty = true;
    for (int i = 0; i != 2; ++i) all.instant(apiary::event_trace::kind::woken, 0, 0);
    heap_is_empty = false;
    EXPECT_EQ(all.left_out(), 2U);
}

}  // namespace
