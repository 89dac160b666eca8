// Priorities: which coroutine goes first, and within which bounds every one has its turn.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace coro_priority_test {
namespace {

using apiary::co_priority;
using apiary::co_task;
using apiary::comes_true;
using apiary::coro_pool;
using lanes = apiary::co_lanes<apiary::real_sync>;

class order {
public:
    void add(char c) {
        const std::lock_guard held(mutex_);
        all_ += c;
    }
    std::string all() {
        const std::lock_guard held(mutex_);
        return all_;
    }

private:
    std::mutex mutex_;
    std::string all_;
};

co_task<> notes(order& o, char c) {
    o.add(c);
    co_return;
}
co_task<> keeps_the_worker(std::atomic<bool>& began, const std::atomic<bool>& over) {
    began = true;
    while (!over) std::this_thread::yield();
    co_return;
}

// A test that is left early ends, too.
struct ends_it {
    std::atomic<bool>& over;
    ~ends_it() { over = true; }
};

// One worker, which runs nothing before `spawn_all` has returned.
template <class F>
void behind_one_that_keeps_the_worker(bool priorities, F spawn_all) {
    std::atomic<bool> began = false, over = false;
    coro_pool pool({.workers = 1, .priorities = priorities});
    const ends_it before_the_pool_waits{over};
    pool.start();
    ASSERT_TRUE(pool.spawn(keeps_the_worker(began, over)));
    while (!began) std::this_thread::yield();
    spawn_all(pool);
    over = true;
    pool.stop();
}
TEST(coro_priority, a_test_that_is_left_early_ends) {
    EXPECT_THROW(behind_one_that_keeps_the_worker(true, [](coro_pool&) { throw std::runtime_error("left early"); }),
                 std::runtime_error);
}
void spawn_three_of_each(coro_pool& pool, order& o) {
    for (const auto& [priority, name] : {std::pair{co_priority::background, 'b'}, std::pair{co_priority::normal, 'n'},
                                         std::pair{co_priority::high, 'h'}})
        for (int i = 0; i != 3; ++i) ASSERT_TRUE(pool.spawn(notes(o, name), {.priority = priority}));
}

TEST(coro_priority, high_goes_before_normal_and_normal_before_background) {
    order o;
    behind_one_that_keeps_the_worker(true, [&](coro_pool& pool) { spawn_three_of_each(pool, o); });
    EXPECT_EQ(o.all(), "hhhnnnbbb");
}

TEST(coro_priority, switched_off_all_are_normal) {
    order o;
    behind_one_that_keeps_the_worker(false, [&](coro_pool& pool) { spawn_three_of_each(pool, o); });
    EXPECT_EQ(o.all(), "bbbnnnhhh");
}

// Each spawns the next, for ever as it seems.
co_task<> goes_on(coro_pool& pool, co_priority p, unsigned left, order& o) {
    o.add('.');
    if (left != 0) {
        EXPECT_TRUE(pool.spawn(goes_on(pool, p, left - 1, o), {.priority = p}));
    }
    co_return;
}

TEST(coro_priority, high_ones_that_never_end_leave_normal_and_background_their_turns) {
    order o;
    behind_one_that_keeps_the_worker(true, [&](coro_pool& pool) {
        ASSERT_TRUE(pool.spawn(notes(o, 'b'), {.priority = co_priority::background}));
        ASSERT_TRUE(pool.spawn(notes(o, 'n')));
        ASSERT_TRUE(pool.spawn(goes_on(pool, co_priority::high, 1000, o), {.priority = co_priority::high}));
    });
    EXPECT_LE(o.all().find('n'), lanes::high_share);
    EXPECT_LE(o.all().find('b'), lanes::background_every + lanes::high_share + 1);
}

TEST(coro_priority, normal_ones_that_never_end_leave_background_its_turn) {
    order o;
    behind_one_that_keeps_the_worker(true, [&](coro_pool& pool) {
        ASSERT_TRUE(pool.spawn(notes(o, 'b'), {.priority = co_priority::background}));
        ASSERT_TRUE(pool.spawn(goes_on(pool, co_priority::normal, 1000, o)));
    });
    EXPECT_LE(o.all().find('b'), lanes::background_every + 1);
}

co_task<> nothing() { co_return; }
co_task<> calls_until(const std::atomic<bool>& ran, std::atomic<bool>& began) {
    for (began = true; !ran;) co_await nothing();
}
co_task<> forks_until(const std::atomic<bool>& ran, std::atomic<bool>& began) {
    for (began = true; !ran;) co_await apiary::when_all(nothing(), nothing());
}
co_task<> runs(std::atomic<bool>& ran) {
    ran = true;
    co_return;
}

// A tree is one job of its worker, however long it takes. Without the hurry these would not end.
TEST(coro_priority, a_tree_that_runs_stands_back_for_a_high_one) {
    for (auto* const tree : {&calls_until, &forks_until}) {
        std::atomic<bool> ran = false, began = false;
        coro_pool pool({.workers = 1});
        pool.start();
        ASSERT_TRUE(pool.spawn(tree(ran, began)));
        while (!began) std::this_thread::yield();
        ASSERT_TRUE(pool.spawn(runs(ran), {.priority = co_priority::high}));
        pool.stop();
        EXPECT_TRUE(ran);
    }
}

co_task<> counts(std::atomic<unsigned>& n) {
    ++n;
    co_return;
}
co_task<> calls_for_all(const std::atomic<bool>& posted, std::atomic<bool>& began, const std::atomic<unsigned>& ran,
                        unsigned all, unsigned& calls) {
    began = true;
    while (!posted) std::this_thread::yield();
    for (; ran != all && calls != 1000; ++calls) co_await nothing();
}

// More than the worker takes in a row: each row that leaves some behind makes the tree stand back once more.
TEST(coro_priority, a_tree_that_waits_for_the_last_of_many_high_ones_ends) {
    for (const unsigned many : {17U, 40U}) {
        std::atomic<bool> posted = false, began = false;
        std::atomic<unsigned> ran = 0;
        unsigned calls = 0;
        coro_pool pool({.workers = 1});
        pool.start();
        EXPECT_TRUE(pool.spawn(calls_for_all(posted, began, ran, many, calls)));
        while (!began) std::this_thread::yield();
        for (unsigned i = 0; i != many; ++i) EXPECT_TRUE(pool.spawn(counts(ran), {.priority = co_priority::high}));
        posted = true;
        pool.stop();
        EXPECT_EQ(ran, many);
        EXPECT_LE(calls, many / lanes::high_share + 1);
    }
}

co_task<> notes_twice(order& o, char c) {
    o.add(c);
    co_await apiary::yield_turn();
    o.add(c);
}
co_task<> notes_below(order& o, char c) {
    co_await notes_twice(o, c);
    co_await notes_twice(o, c);
}

TEST(coro_priority, a_coroutine_comes_back_with_the_priority_of_its_root) {
    order o;
    behind_one_that_keeps_the_worker(true, [&](coro_pool& pool) {
        ASSERT_TRUE(pool.spawn(notes_below(o, 'b'), {.priority = co_priority::background}));
        ASSERT_TRUE(pool.spawn(notes_below(o, 'n')));
        ASSERT_TRUE(pool.spawn(notes_below(o, 'h'), {.priority = co_priority::high}));
    });
    EXPECT_EQ(o.all(), "hhhhnnnnbbbb");
}

// A worker that announces its sleep first counts as parked, though it then stays awake. That takes it some 15 us.
TEST(coro_priority, a_worker_that_looks_on_takes_from_the_lanes_at_once) {
    using clock = std::chrono::steady_clock;
    order o;
    coro_pool pool({.workers = 1, .linger_ns = 10'000'000});
    pool.start();
    for (const co_priority p : {co_priority::high, co_priority::background}) {
        auto last = clock::now() - std::chrono::hours(1);
        for (int i = 0; i != 100; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));  // it has nothing by then
            const auto noted = o.all().size(), parked = pool.counters().parked;
            const auto posted = clock::now();
            ASSERT_TRUE(pool.spawn(notes(o, 'x'), {.priority = p}));
            EXPECT_TRUE(comes_true([&] { return o.all().size() == noted + 1; }));
            const auto parked_now = pool.counters().parked;
            // On a busy machine it may have slept: its patience began after the last post; this thread may have waited.
            const bool patient = clock::now() - last < std::chrono::milliseconds(5);
            EXPECT_TRUE(!patient || parked_now == parked);
            last = posted;
        }
    }
}

TEST(coro_priority, many_of_each_from_several_threads_run_once) {
    std::atomic<unsigned> n = 0;
    coro_pool pool({.workers = 3});
    pool.start();
    const auto counts = [](std::atomic<unsigned>& c) -> co_task<> {
        ++c;
        co_return;
    };
    const auto spawns = [&](co_priority p) {
        for (int i = 0; i != 3000; ++i) EXPECT_TRUE(pool.spawn(counts(n), {.priority = p}));
    };
    std::thread high(spawns, co_priority::high), background(spawns, co_priority::background);
    spawns(co_priority::normal);
    high.join();
    background.join();
    pool.stop();
    EXPECT_EQ(n, 9000U);
    EXPECT_EQ(pool.report().run, 9000U);
}

}  // namespace
}  // namespace coro_priority_test
