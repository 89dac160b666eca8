// Heap calls: none for a coroutine in the steady state, on whichever worker its frame goes.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>
#include <apiary/testing/replaced_new.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

std::atomic<std::uint64_t> allocations = 0;
std::atomic<std::uint64_t> slabs = 0;  // they alone are aligned
std::atomic<bool> heap_is_empty = false;
std::atomic<int> left = -1;  // so many more are served; below 0: all
void apiary::before_allocation(std::size_t, std::size_t alignment) {
    ++allocations;
    if (alignment > alignof(std::max_align_t)) ++slabs;
    if (heap_is_empty) throw std::bad_alloc();
    if (left >= 0 && left-- == 0) throw std::bad_alloc();
}

namespace {

using apiary::co_task;
using apiary::coro_pool;
using apiary::sync_wait;
using apiary::when_all;
using storage = apiary::frame_storage<apiary::real_sync>;

co_task<std::uint64_t> fib(unsigned n) {
    if (n < 2) co_return n;
    const auto [x, y] = co_await when_all(fib(n - 1), fib(n - 2));
    co_return x + y;
}
co_task<std::uint64_t> fib_without_forks(unsigned n) {
    if (n < 2) co_return n;
    co_return co_await fib_without_forks(n - 1) + co_await fib_without_forks(n - 2);
}
co_task<> counts(std::atomic<unsigned>& n) {
    ++n;
    co_return;
}

std::uint64_t allocations_of(auto action) {
    const std::uint64_t before = allocations;
    action();
    return allocations - before;
}

TEST(coro_memory, no_heap_call_for_a_coroutine_in_the_steady_state) {
    if (!storage::recycles) GTEST_SKIP() << "frames come from the heap under a sanitizer";
    coro_pool pool({.workers = 1});
    pool.start();
    const auto work = [&] {
        sync_wait(pool, fib(15));
        sync_wait(pool, fib_without_forks(15));
    };
    work();
    work();
    EXPECT_EQ(allocations_of(work), 0U);  // 3 * 1,973 coroutines
}

TEST(coro_memory, few_heap_calls_when_frames_travel_between_workers) {
    if (!storage::recycles) GTEST_SKIP() << "frames come from the heap under a sanitizer";
    coro_pool pool({.workers = 3});
    pool.start();
    std::atomic<unsigned> n = 0;
    const auto work = [&] {
        for (int i = 0; i != 10'000; ++i) EXPECT_TRUE(pool.spawn(counts(n)));
        while (pool.report().living != 0) std::this_thread::yield();
    };
    for (int i = 0; i != 5; ++i) work();
    // What a spawn from outside takes comes back by way of the depot. How many live at a time is up to the threads, so
    // there may be a slab more than before: of 32 blocks.
    EXPECT_LT(allocations_of(work), 1'000U);
}

// A thread keeps up to 63 blocks of a size. So four threads and 32 coroutines at a time have ten slabs of a size at
// most, however many have run: the rest is the books of the depot and the line of the engine's pool.
TEST(coro_memory, heap_calls_follow_what_lives_at_a_time_and_not_what_has_run) {
    if (!storage::recycles) GTEST_SKIP() << "frames come from the heap under a sanitizer";
    coro_pool pool({.workers = 3});
    pool.start();
    std::atomic<unsigned> n = 0;
    const auto heap_calls = allocations_of([&] {
        for (int round = 0; round != 3'000; ++round) {
            for (int i = 0; i != 32; ++i) EXPECT_TRUE(pool.spawn(counts(n)));
            while (pool.report().living != 0) std::this_thread::yield();
        }
    });
    EXPECT_LT(heap_calls, 64U);
    EXPECT_EQ(n, 96'000U);
}

TEST(frame_blocks, are_reused_by_size_and_given_back_by_other_threads) {
    using apiary::frame_blocks;
    for (const std::size_t bytes : {1UL, 64UL, 65UL, 200UL, 2048UL, 2049UL, 100'000UL}) {
        std::vector<void*> all;
        for (int i = 0; i != 300; ++i) {
            auto* const p = static_cast<std::byte*>(frame_blocks::allocate(bytes));
            p[0] = p[bytes - 1] = std::byte{1};
            all.push_back(p);
        }
        std::thread([&] {
            for (void* p : all) frame_blocks::release(p, bytes);
        }).join();
        const bool recycled = bytes <= 2048;
        all.clear();
        const auto again = allocations_of([&] {
            for (int i = 0; i != 300; ++i) all.push_back(frame_blocks::allocate(bytes));
        });
        all.reserve(300);
        if (recycled)
            EXPECT_LT(again, 15U) << bytes;  // of the vector above
        else
            EXPECT_GE(again, 300U) << bytes;
        for (void* p : all) frame_blocks::release(p, bytes);
    }
}

TEST(frame_blocks, larger_than_the_largest_class_come_from_the_heap_and_go_back_to_it) {
    using apiary::frame_blocks;
    constexpr std::size_t largest = frame_blocks::step * frame_blocks::classes;
    frame_blocks::release(frame_blocks::allocate(largest), largest);
    for (const std::size_t more : {0U, 1U, 64U, 65U}) {
        const std::uint64_t before = allocations, freed = apiary::deallocations;
        frame_blocks::release(frame_blocks::allocate(largest + more), largest + more);
        EXPECT_EQ(allocations - before, more == 0 ? 0U : 1U) << more;
        EXPECT_EQ(apiary::deallocations - freed, more == 0 ? 0U : 1U) << more;
    }
}

constexpr std::size_t of_another_size = 700;  // that no coroutine here has: batches of 8

std::vector<void*> take_blocks(std::size_t n) {
    std::vector<void*> all(n);
    for (void*& p : all) p = apiary::frame_blocks::allocate(of_another_size);
    return all;
}
void give_blocks_back(const std::vector<void*>& all) {
    for (void* const p : all) apiary::frame_blocks::release(p, of_another_size);
}
std::uint64_t slabs_of_many_rounds(auto round) {
    for (int i = 0; i != 10; ++i) round();
    const std::uint64_t before = slabs;
    for (int i = 0; i != 50; ++i) round();
    return slabs - before;
}

TEST(frame_blocks, come_back_from_a_thread_that_ends) {
    for (const std::size_t n : {1U, 5U, 20U})
        EXPECT_EQ(slabs_of_many_rounds([n] { std::thread([n] { give_blocks_back(take_blocks(n)); }).join(); }), 0U)
            << n;
}

// Destroyed after the object that hands the thread's blocks back, which was made later.
struct gives_back_late {
    ~gives_back_late() { give_blocks_back(blocks); }
    std::vector<void*> blocks;
};
thread_local gives_back_late late;

TEST(frame_blocks, come_back_from_what_a_thread_gives_back_behind_its_end) {
    for (const std::size_t n : {1U, 5U, 16U, 40U})
        EXPECT_EQ(slabs_of_many_rounds([n] {
                      std::vector<void*> taken = take_blocks(n);
                      std::thread([&taken] {
                          late.blocks.swap(taken);
                          give_blocks_back(take_blocks(1));
                      }).join();
                  }),
                  0U)
            << n;
}

TEST(frame_blocks, come_back_from_a_thread_that_only_gives_back) {
    for (const std::size_t n : {1U, 5U, 16U, 40U})
        EXPECT_EQ(slabs_of_many_rounds([n] {
                      const std::vector<void*> taken = take_blocks(n);
                      std::thread([&taken] { give_blocks_back(taken); }).join();
                  }),
                  0U)
            << n;
}

// Tells for which lines it was asked.
struct told_sync : apiary::real_sync {
    static inline std::set<const void*> asked;
    static inline unsigned processors_here = 3;
    static unsigned processors() noexcept { return processors_here; }
    static void prefetch_to_write(const void* p, site = {}) noexcept { asked.insert(p); }
};
using told_blocks = apiary::basic_frame_blocks<told_sync>;

std::vector<void*> take_told(std::size_t n, std::size_t bytes) {
    std::vector<void*> all(n);
    for (void*& p : all) p = told_blocks::allocate(bytes);
    return all;
}

TEST(frame_blocks, of_a_batch_that_another_thread_has_freed_are_all_asked_for_at_once) {
    for (const auto& [bytes, batch] : {std::pair{64UL, 32UL}, {500UL, 32UL}, {700UL, 8UL}}) {
        const std::vector<void*> used = take_told(3 * batch, bytes);
        std::thread([&] {
            for (void* const p : used) told_blocks::release(p, bytes);
            std::thread([&] {  // while the other lives: what it has kept is not given back yet
                for (int i = 0; i != 2; ++i) {
                    told_sync::asked.clear();
                    const std::vector<void*> first = take_told(1, bytes);
                    EXPECT_EQ(told_sync::asked.size(), batch - 1) << bytes;
                    for (void* const p : take_told(batch - 1, bytes)) EXPECT_EQ(told_sync::asked.count(p), 1U) << bytes;
                    EXPECT_EQ(told_sync::asked.count(first[0]), 0U);
                    EXPECT_EQ(told_sync::asked.size(), batch - 1) << "an allocation that finds a block asks for none";
                }
            }).join();
        }).join();
    }
}

TEST(frame_blocks, are_not_asked_for_where_two_processors_are) {
    told_sync::processors_here = 2;
    const std::vector<void*> used = take_told(96, 1900);
    std::thread([&] {
        for (void* const p : used) told_blocks::release(p, 1900);
        std::thread([] {
            told_sync::asked.clear();
            (void)take_told(8, 1900);
            EXPECT_TRUE(told_sync::asked.empty());
        }).join();
    }).join();
    told_sync::processors_here = 3;
}

TEST(frame_blocks, of_a_thread_that_has_ended_are_not_asked_for) {
    for (const std::size_t n : {1U, 8U}) {  // 8: a batch
        std::thread([&] {
            for (void* const p : take_told(n, 900)) told_blocks::release(p, 900);
        }).join();
        told_sync::asked.clear();
        (void)take_told(n, 900);
        EXPECT_TRUE(told_sync::asked.empty());
    }
}

TEST(coro_memory, a_frame_that_gets_no_memory_throws_in_its_caller) {
    coro_pool pool({.workers = 1});
    pool.start();
    const auto caller = [](bool& threw) -> co_task<> {
        const auto large = []() -> co_task<> {
            std::array<volatile char, 5'000> room;
            room[0] = 1;
            co_await apiary::yield_turn();
            room[1] = room[0];
        };
        heap_is_empty = true;
        try {
            auto t = large();
            heap_is_empty = false;
        } catch (const std::bad_alloc&) {
            heap_is_empty = false;
            threw = true;
        }
        co_return;
    };
    bool threw = false;
    sync_wait(pool, caller(threw));
    EXPECT_TRUE(threw);
}

// More than the queue has room for at first.
TEST(coro_memory, a_pool_that_gets_no_memory_for_its_queue_runs_what_it_has_accepted) {
    std::atomic<bool> began = false;
    std::atomic<bool> go_on = false;
    std::atomic<unsigned> n = 0;
    coro_pool pool({.workers = 1});
    pool.start();
    (void)pool.spawn([&]() -> co_task<> {
        began = true;
        while (!go_on) std::this_thread::yield();
        co_return;
    });
    while (!began) std::this_thread::yield();
    for (int i = 0; i != 1000; ++i) EXPECT_TRUE(pool.spawn(counts(n)));
    heap_is_empty = true;
    go_on = true;
    while (n != 1000) std::this_thread::yield();
    heap_is_empty = false;
}

// Each use of coroutines while the n-th allocation fails, for n from 0 until none does. Frames are larger than what is
// kept (2 KiB), so that each is an allocation.
struct uses {
    coro_pool& pool;
    std::shared_ptr<int> counted = std::make_shared<int>(0);

    // What it holds goes with its frame.
    co_task<int> large(std::shared_ptr<int> held) {
        std::array<volatile char, 3'000> room;
        room[0] = static_cast<char>(*held);
        co_await apiary::yield_turn();
        co_return 1 + room[0];
    }
    co_task<int> large() { return large(counted); }
    co_task<> large_and_detached(std::shared_ptr<int> held) {
        std::array<volatile char, 3'000> room;
        room[0] = 0;
        co_await apiary::yield_turn();
        *held += room[0];
    }
    co_task<> large_and_detached() { return large_and_detached(counted); }

    co_task<int> calls() { co_return co_await large(); }
    co_task<int> waits_for_all() {
        const auto [a, b] = co_await when_all(large(), large());
        co_return a + b;
    }
    co_task<int> waits_for_all_of_a_vector() {
        std::vector<co_task<int>> tasks;
        for (int i = 0; i != 3; ++i) tasks.push_back(large());
        const auto all = co_await when_all(std::move(tasks));
        co_return static_cast<int>(all.size());
    }
    co_task<int> forks() {
        co_await apiary::with_scope([this](apiary::co_scope<>& s) -> co_task<> {
            s.fork(large_and_detached());
            s.fork([this, held = counted]() -> co_task<> { co_await large_and_detached(held); });
            co_return;
        });
        co_return 1;
    }
    co_task<int> waits_for_the_first() {
        const auto first = co_await apiary::when_any(large(), large());
        co_return first.value;
    }
    co_task<int> spawns() {
        EXPECT_TRUE(pool.spawn(large_and_detached()));
        co_return 1;
    }
    co_task<int> spawns_with_a_name_and_a_stop() {
        EXPECT_TRUE(pool.spawn([this, held = counted] { return large_and_detached(held); },
                               {.name = std::string(100, 'n'), .stop = std::stop_source()}));
        co_return 1;
    }
    // Its awaiter may come back anywhere, so a frame lies in between.
    co_task<int> awaits_what_does_not_come_home() {
        struct elsewhere {
            std::array<char, 3'000> room{};
            bool await_ready() const { return false; }
            bool await_suspend(std::coroutine_handle<>) const { return false; }
            int await_resume() const { return 1 + room[0]; }
        };
        co_return co_await elsewhere();
    }
};
// -1: std::bad_alloc.
co_task<int> without_the_nth(uses& u, co_task<int> (uses::*does)(), int n) {
    left = n;
    int result = -1;
    try {
        result = co_await (u.*does)();
    } catch (const std::bad_alloc&) {
    }
    left = -1;
    co_return result;
}

TEST(coro_memory, each_use_without_memory_for_each_of_its_allocations_throws_and_leaves_nothing) {
    using use = co_task<int> (uses::*)();
    for (const use does : {&uses::calls, &uses::waits_for_all, &uses::waits_for_all_of_a_vector, &uses::forks,
                           &uses::waits_for_the_first, &uses::spawns, &uses::spawns_with_a_name_and_a_stop,
                           &uses::awaits_what_does_not_come_home}) {
        int failed = 0;
        for (int n = 0, result = -1; result == -1; ++n) {
            ASSERT_LT(n, 64) << "it never succeeds";
            coro_pool pool({.workers = 1});
            pool.start();
            uses u{pool};
            result = sync_wait(pool, without_the_nth(u, does, n));
            failed += result == -1 ? 1 : 0;
            pool.stop();
            EXPECT_EQ(u.counted.use_count(), 1) << "a frame is left after the failure of allocation " << n;
            const auto r = pool.report();
            EXPECT_EQ(r.living, 0U);
            EXPECT_TRUE(r.names.empty());
            EXPECT_EQ(r.exceptions, 0U);
        }
        EXPECT_GT(failed, 0);
    }
}

// The place of the results comes first: a branch that has run has changed the world.
TEST(coro_memory, branches_of_a_vector_do_not_begin_without_memory_for_their_results) {
    int ran = 0;
    const auto counts = [](int& n) -> co_task<int> {
        ++n;
        co_return n;
    };
    int failed = 0;
    coro_pool pool({.workers = 1});
    pool.start();
    for (int n = 0; ran == 0; ++n) {
        ASSERT_LT(n, 64) << "it never succeeds";
        const auto all_of_three = [&]() -> co_task<bool> {
            std::vector<co_task<int>> tasks;
            for (int i = 0; i != 3; ++i) tasks.push_back(counts(ran));
            left = n;
            try {
                const auto all = co_await when_all(std::move(tasks));
                left = -1;
                co_return all.size() == 3;
            } catch (const std::bad_alloc&) {
            }
            left = -1;
            co_return false;
        };
        const bool whole = sync_wait(pool, all_of_three());
        EXPECT_EQ(ran, whole ? 3 : 0) << "allocation " << n;
        failed += whole ? 0 : 1;
    }
    EXPECT_GE(failed, 2) << "outcomes and results";
}

}  // namespace
