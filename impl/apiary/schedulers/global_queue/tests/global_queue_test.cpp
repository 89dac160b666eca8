// What the global queue offers beyond the contract (contract_test.cpp): the order of its batches, the number of its
// workers, its waits for idleness, and a run that gets no thread. A program of its own: it replaces operator new.
#include <apiary/schedulers/global_queue/global_queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <apiary/testing/replaced_new.hpp>

namespace {

using apiary::global_queue;
using apiary::stop_mode;

// This thread's allocations until one fails; below zero: none fails.
thread_local int allocations_left = -1;
std::atomic<std::uint64_t> all_allocations = 0;
std::function<void()>* before_one_fails = nullptr;

}  // namespace

void apiary::before_allocation(std::size_t, std::size_t) {
    if (allocations_left >= 0 && allocations_left-- == 0) {
        if (before_one_fails != nullptr) (*before_one_fails)();
        throw std::bad_alloc();
    }
    ++all_allocations;
}

namespace {

std::size_t threads_of_this_process() {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++n;
    return n;
}

// A thread that was joined may still be listed for a moment.
std::size_t threads_that_stay() {
    std::size_t n = threads_of_this_process();
    for (int same = 0; same != 20; ++same) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const std::size_t now = threads_of_this_process();
        if (now != n) n = now, same = 0;
    }
    return n;
}

TEST(global_queue_batch, runs_in_its_order_behind_what_was_posted_before) {
    global_queue q({.workers = 1});
    std::vector<int> order;
    ASSERT_TRUE(q.post([&] { order.push_back(0); }));
    std::vector<std::function<void()>> batch;
    for (int i = 1; i <= 3; ++i) batch.emplace_back([&order, i] { order.push_back(i); });
    EXPECT_EQ(q.post_batch(std::span(batch)), 3U);
    ASSERT_TRUE(q.post([&] { order.push_back(4); }));
    q.request_stop();
    q.run();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(global_queue_batch, that_is_refused_is_destroyed) {
    global_queue q({.workers = 1});
    q.request_stop();
    const auto token = std::make_shared<int>(0);
    struct holds {
        std::shared_ptr<int> token;
        void operator()() const { FAIL() << "refused tasks do not run"; }
    };
    std::vector<holds> batch(2, holds{token});
    EXPECT_EQ(q.post_batch(std::span(batch)), 0U);
    EXPECT_EQ(token.use_count(), 1) << "moved from, and destroyed";
    EXPECT_EQ(q.report().refused, 2U);
}

// Throws at its third move.
struct throws_when_moved {
    std::shared_ptr<int> token;
    int* moves;
    int* ran;
    throws_when_moved(std::shared_ptr<int> t, int* m, int* r) : token(std::move(t)), moves(m), ran(r) {}
    throws_when_moved(throws_when_moved&& other) : token(other.token), moves(other.moves), ran(other.ran) {
        if (++*moves == 3) throw std::runtime_error("moved");
    }
    void operator()() const { ++*ran; }
};

TEST(global_queue_batch, whose_third_throws_when_it_is_moved_in_posts_none) {
    int moves = 0, ran = 0;
    const auto token = std::make_shared<int>(0);
    {
        global_queue q({.workers = 1});
        {
            std::array<throws_when_moved, 3> batch{
                {{token, &moves, &ran}, {token, &moves, &ran}, {token, &moves, &ran}}};
            EXPECT_THROW((void)q.post_batch(std::span(batch)), std::runtime_error);
        }
        EXPECT_EQ(token.use_count(), 1) << "what was moved in before is destroyed";
        q.wait_idle();
        q.request_stop();
        q.run();
        EXPECT_EQ(q.report().run + q.report().discarded + q.report().refused, 0U);
    }
    EXPECT_EQ(ran, 0);
}

TEST(global_queue_run, works_with_as_many_threads_as_it_was_told_one_of_them_its_callers) {
    std::thread([] {}).join();  // with a program's first thread ThreadSanitizer starts one of its own
    for (const unsigned workers : {1U, 2U, 3U}) {
        const std::size_t before = threads_that_stay();
        global_queue q({.workers = workers});
        std::barrier all(workers);
        std::atomic<std::size_t> most{0};
        std::atomic<int> here{0};
        const auto caller = std::this_thread::get_id();
        for (unsigned i = 0; i < workers; ++i)
            ASSERT_TRUE(q.post([&] {
                if (std::this_thread::get_id() == caller) ++here;
                all.arrive_and_wait();  // every worker is at a task, and none has ended
                most = threads_of_this_process();
                all.arrive_and_wait();
            }));
        q.request_stop();
        q.run();
        EXPECT_EQ(most, before + workers - 1) << workers << " workers";
        EXPECT_EQ(here, 1) << workers << " workers";
        EXPECT_EQ(q.report().exceptions, 0U);
    }
}

TEST(global_queue_run, returns_when_every_worker_has_ended) {
    global_queue q({.workers = 2});
    std::barrier both(2);
    std::atomic<bool> ended{false};
    const auto caller = std::this_thread::get_id();
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(q.post([&] {
            both.arrive_and_wait();
            if (std::this_thread::get_id() == caller) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ended = true;
        }));
    q.request_stop();
    q.run();
    EXPECT_TRUE(ended);
}

TEST(global_queue_run, that_gets_no_thread_throws_and_accounts_for_every_task) {
    for (int allocations = 0; allocations < 3; ++allocations) {
        global_queue q({.workers = 3});
        const auto token = std::make_shared<int>(0);
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(q.post([token] {}));
        allocations_left = allocations;
        EXPECT_THROW(q.run(), std::bad_alloc);
        allocations_left = -1;
        EXPECT_EQ(q.report().run + q.report().discarded, 2U) << allocations;
        EXPECT_EQ(token.use_count(), 1);
        EXPECT_FALSE(q.post([] {})) << "it is stopped";
        q.wait_idle();
    }
}

TEST(global_queue_start, that_gets_no_thread_throws_and_joins_those_that_it_got) {
    std::thread([] {}).join();
    const std::size_t before = threads_that_stay();
    for (int allocations = 0; allocations < 4; ++allocations) {
        global_queue q({.workers = 3});
        const auto token = std::make_shared<int>(0);
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(q.post([token] {}));
        allocations_left = allocations;
        EXPECT_THROW(q.start(), std::bad_alloc);
        allocations_left = -1;
        EXPECT_EQ(q.report().run + q.report().discarded, 2U) << allocations;
        EXPECT_EQ(token.use_count(), 1);
        EXPECT_EQ(threads_that_stay(), before);
        EXPECT_FALSE(q.post([] {})) << "it is stopped";
        EXPECT_THROW(q.start(), std::logic_error);
    }
}

// The first thread is at a task when the second one is refused.
TEST(global_queue_start, that_gets_no_second_thread_throws_after_the_first_has_ended) {
    std::thread([] {}).join();
    const std::size_t before = threads_that_stay();
    int begun_at_all = 0;
    for (int left = 0; left < 4; ++left) {
        global_queue q({.workers = 2});
        std::atomic<bool> begun = false, ended = false;
        ASSERT_TRUE(q.post([&] {
            begun = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ended = true;
        }));
        std::function<void()> waits = [&] {
            while (!begun && threads_of_this_process() > before) std::this_thread::yield();
        };
        before_one_fails = &waits;
        allocations_left = left;
        try {
            q.start();
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(begun.load(), ended.load());
            begun_at_all += begun ? 1 : 0;
        }
        allocations_left = -1;
        before_one_fails = nullptr;
    }
    EXPECT_GE(begun_at_all, 1);
}

TEST(global_queue_memory, tasks_that_ran_and_that_were_refused_give_theirs_back) {
    const std::uint64_t before = all_allocations - apiary::deallocations;
    const auto token = std::make_shared<int>(0);
    {
        global_queue q({.workers = 1});
        for (int i = 0; i != 10; ++i) ASSERT_TRUE(q.post([token] {}));
        q.request_stop();
        q.run();
        EXPECT_FALSE(q.post([token] {}));
        EXPECT_EQ(token.use_count(), 1);
    }
    EXPECT_EQ(all_allocations - apiary::deallocations, before + 1) << "the token's";
}

// All or none, as a batch.
TEST(global_queue_scope, that_gets_no_memory_in_the_middle_of_several_runs_none) {
    global_queue q({.workers = 1});
    global_queue::task_scope scope(q);
    for (int allocations = 0; allocations < 3; ++allocations) {
        allocations_left = allocations;
        EXPECT_THROW((void)scope.run_all(3, [](std::size_t) { return [] { FAIL() << "none was accepted"; }; }),
                     std::bad_alloc);
        allocations_left = -1;
        EXPECT_TRUE(scope.wait());
    }
}

TEST(global_queue_stop, the_first_decides_how) {
    global_queue draining({.workers = 1}), discarding({.workers = 1});
    int ran = 0;
    ASSERT_TRUE(draining.post([&] { ++ran; }));
    ASSERT_TRUE(discarding.post([] { FAIL() << "a discarded task ran"; }));
    draining.request_stop(stop_mode::drain);
    draining.request_stop(stop_mode::discard);
    discarding.request_stop(stop_mode::discard);
    discarding.request_stop(stop_mode::drain);
    draining.run();
    discarding.run();
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(draining.report().run, 1U);
    EXPECT_EQ(discarding.report().discarded, 1U);
}

TEST(global_queue_idle, a_discarding_stop_ends_the_wait_for_tasks_that_never_run) {
    global_queue q({.workers = 1});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(q.post([] { FAIL() << "a discarded task ran"; }));
    q.request_stop(stop_mode::discard);
    q.wait_idle();
    q.run();
    EXPECT_EQ(q.report().discarded, 3U);
}

}  // namespace
