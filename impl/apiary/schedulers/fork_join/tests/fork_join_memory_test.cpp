// Heap calls of a pool after its first call: none, whichever worker runs, takes, divides or sleeps. And what the trace
// of a worker does without memory.
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/scan.hpp>
#include <apiary/schedulers/fork_join/sort.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>
#include <apiary/testing/replaced_new.hpp>
#include <apiary/workers/trace.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "helpers.hpp"

std::atomic<std::uint64_t> allocations = 0;
thread_local bool heap_is_empty = false;
std::atomic<std::int64_t> until_heap_is_empty = INT64_MAX;
void apiary::before_allocation(std::size_t, std::size_t) {
    ++allocations;
    if (heap_is_empty || --until_heap_is_empty == 0) throw std::bad_alloc();
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

// One kind of comparison, so that this file compiles one sort.
using comparison = std::function<bool(int, int)>;
bool sort(context& w, std::span<int> all, const comparison& less) {
    return apiary::parallel_sort(w, all.data(), all.data() + all.size(), std::cref(less));
}

// Ended by an exception, or by what is no order, a range is a permutation of what it was. Its neighbours see nothing.
TEST(fork_join_memory, a_sort_loses_nothing_and_stays_in_its_range) {
    fork_join_pool pool({.workers = 3});
    std::atomic<int> left = 0;
    const comparison by[] = {
        [&](int x, int y) { return --left == 0 ? throw std::runtime_error("compare") : x < y; },
        [](int, int) { return true; },
        [](int x, int y) { return (x ^ y) % 3 == 0; },
    };
    for (int at = 1; at < 300'000; at = at * 3 + 1)
        for (const comparison& less : by) {
            std::vector<int> all(16'386, -1);
            for (int i = 0; i != 16'384; ++i) all[static_cast<std::size_t>(i) + 1] = i ^ 0x2a5;
            left = at;
            const auto in_range = [&](int x, int y) {
                if (x < 0 || y < 0) ADD_FAILURE() << "a neighbour is compared";
                return less(x, y);
            };
            try {
                EXPECT_TRUE(pool.run([&](context& w) { return sort(w, std::span(all).subspan(1, 16'384), in_range); }));
            } catch (const std::runtime_error&) {
                EXPECT_EQ(&less, &by[0]);
            }
            ASSERT_EQ(all.front() + all.back(), -2);
            std::sort(all.begin(), all.end());
            for (int i = 0; i != 16'384; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i) + 2], i);
        }
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
            pool.run([] {});  // its worker sleeps again after it
            std::this_thread::yield();
        }
        if (round % 10 != 0) continue;
        pool.run([&](context& w) {
            static int all[100'000];
            for (int i = 0; i != 100'000; ++i) all[i] = i ^ 0x5555;
            right &= sort(w, all, [](int x, int y) { return x < y; }) && std::ranges::is_sorted(all);
            right &= apiary::parallel_inclusive_scan(w, all, all + 100'000, all, 0, std::bit_xor<>()) && all[2] == 3;
        });
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

// A number on the heap.
struct boxed {
    std::unique_ptr<int> number;
    explicit(false) boxed(int n = 0) : number(std::make_unique<int>(n)) {}
    boxed(const boxed& other) : boxed(*other.number) {}
    boxed& operator=(const boxed& other) { return *this = boxed(other); }
    boxed(boxed&&) = default;
    boxed& operator=(boxed&&) = default;
};

// The allocations are those of the elements; whichever of them fails, each output is the old one or the final one.
TEST(parallel_scan, leaves_each_output_old_or_new_where_any_allocation_fails) {
    fork_join_pool pool({.workers = 2});
    pool.run([] {});
    constexpr int n = 60;
    bool whole = false;
    for (std::int64_t at = 1; !whole; ++at) {
        std::vector<boxed> all(n, boxed(1));
        const auto plus = [](const boxed& a, const boxed& b) { return boxed(*a.number + *b.number); };
        try {
            pool.run([&](context& w) {
                until_heap_is_empty = at;
                whole = apiary::parallel_exclusive_scan(w, all.begin(), all.end(), all.begin(), boxed(1000), plus,
                                                        {.grain = 4});
                until_heap_is_empty = INT64_MAX;
            });
        } catch (const std::bad_alloc&) {
            until_heap_is_empty = INT64_MAX;
        }
        for (int i = 0; const boxed& x : all) {
            ASSERT_TRUE((*x.number == 1 && !whole) || *x.number == 1000 + i) << i << ", at " << at;
            ++i;
        }
        ASSERT_LT(at, 1000);
    }
}

// A comparison that allocates.
bool by_boxes(const boxed& a, const boxed& b) {
    const boxed copy = a;
    asm volatile("" : : "r"(copy.number.get()) : "memory");  // else the compiler needs no box
    return *copy.number < *b.number;
}
// Whichever of them fails, the range is a permutation of what it was.
TEST(parallel_sort, loses_nothing_where_any_allocation_fails) {
    fork_join_pool pool({.workers = 2});
    pool.run([] {});
    constexpr int n = 3000;
    std::vector<int> numbers(n);
    std::uint64_t failed = 0;
    bool whole = false;
    for (std::int64_t at = 1; !whole; at += at / 32 + 1) {
        std::vector<boxed> all;
        for (int i = 0; i != n; ++i) all.emplace_back(i * 1009 % n);
        try {
            pool.run([&](context& w) {
                until_heap_is_empty = at;
                whole = apiary::parallel_sort(w, all.begin(), all.end(), by_boxes);
                until_heap_is_empty = INT64_MAX;
            });
        } catch (const std::bad_alloc&) {
            until_heap_is_empty = INT64_MAX;
            ++failed;
        }
        for (int i = 0; i != n; ++i) numbers[static_cast<std::size_t>(i)] = *all[static_cast<std::size_t>(i)].number;
        if (!whole) std::sort(numbers.begin(), numbers.end());
        for (int i = 0; i != n; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i) << "at " << at;
    }
    EXPECT_GE(failed, 20U);
}
// Whichever of them fails, the caller has the exception, and the next loop has its sum.
TEST(parallel_reduce, throws_where_any_allocation_fails) {
    fork_join_pool pool({.workers = 2});
    pool.run([] {});
    const auto plus = [](const boxed& a, const boxed& b) { return boxed(*a.number + *b.number); };
    int sum = -1;
    for (std::int64_t at = 1; sum < 0; ++at) {
        try {
            pool.run([&](context& w) {
                until_heap_is_empty = at;
                const boxed all = apiary::parallel_reduce(w, 0, 60, boxed(), [](int i) { return boxed(i); }, plus, 4);
                until_heap_is_empty = INT64_MAX;
                sum = *all.number;
            });
            EXPECT_GE(at, 120);
        } catch (const std::bad_alloc&) {
            until_heap_is_empty = INT64_MAX;
        }
        ASSERT_LT(at, 1000);
    }
    EXPECT_EQ(sum, 1770);
}

TEST(event_trace, counts_what_it_has_no_memory_for) {
    apiary::event_trace all;
    heap_is_empty = true;
    for (int i = 0; i != 2; ++i) all.instant(apiary::event_trace::kind::woken, 0, 0);
    heap_is_empty = false;
    EXPECT_EQ(all.left_out(), 2U);
}

}  // namespace
