// The seed's optimisations, each switched off, and pinned workers: the same results, and what is off stays off.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace coro_switches_test {
namespace {

// How many threads may still be bound; from then on the processor has gone.
std::atomic<int> processors_left{1'000'000};

}  // namespace
}  // namespace coro_switches_test

// In place of the C library's, which it calls: as the system answers where a processor was taken away.
extern "C" int pthread_setaffinity_np(pthread_t thread, std::size_t size, const cpu_set_t* mask) noexcept {
    if (coro_switches_test::processors_left.fetch_sub(1) <= 0) return EINVAL;
    using call = int (*)(pthread_t, std::size_t, const cpu_set_t*);
    static const auto next = reinterpret_cast<call>(::dlsym(RTLD_NEXT, "pthread_setaffinity_np"));
    return next(thread, size, mask);
}

namespace coro_switches_test {
namespace {

using apiary::basic_coro_pool;
using apiary::co_config;
using apiary::co_task;
using apiary::coro_pool;
using apiary::sync_wait;
using apiary::when_all;

template <class Sync = apiary::real_sync>
co_task<std::uint64_t, Sync> fib(unsigned n) {
    if (n < 2) co_return n;
    const auto [x, y] = co_await when_all(fib<Sync>(n - 1), fib<Sync>(n - 2));
    co_return x + y;
}
template <class Sync>
co_task<void, Sync> counts(std::atomic<unsigned>& n) {
    co_await apiary::yield_turn();
    ++n;
}
template <class Sync>
co_task<void, Sync> spawns(basic_coro_pool<Sync>& pool, std::atomic<unsigned>& n) {
    for (int i = 0; i != 100; ++i) EXPECT_TRUE(pool.spawn(counts<Sync>(n)));
    co_return;
}

template <class Sync = apiary::real_sync>
void works(co_config config) {
    std::atomic<unsigned> n = 0;
    config.workers = 3;
    basic_coro_pool<Sync> pool(config);
    pool.start();
    for (int i = 0; i != 200; ++i) EXPECT_TRUE(pool.spawn(counts<Sync>(n)));
    EXPECT_EQ(sync_wait(pool, fib<Sync>(15)), 610U);
    sync_wait(pool, spawns(pool, n));
    pool.stop();
    EXPECT_EQ(n, 300U);
    EXPECT_EQ(pool.report().run, 302U);
    if (!config.stealing) {
        EXPECT_EQ(pool.counters().stolen, 0U);
    }
}

co_task<void> waits_for(std::atomic<unsigned>& begun, unsigned all) {
    ++begun;
    while (begun != all) std::this_thread::yield();
    co_return;
}

TEST(coro_switches, a_pool_of_many_workers_has_them_all_at_work) {
    std::atomic<unsigned> begun = 0;
    coro_pool pool({.workers = 100});
    pool.start();
    for (unsigned i = 0; i != 100; ++i) EXPECT_TRUE(pool.spawn(waits_for(begun, 100)));
    pool.stop();
    EXPECT_EQ(pool.report().run, 100U);
}

TEST(coro_switches, a_pool_works_without_each_of_the_optimisations) {
    works({});
    works({.batch = 1});
    works({.stealing = false});
    works({.linger_ns = 0});
    works({.priorities = false});
    works<apiary::heap_frames>({});
}

co_task<> keeps_a_worker(std::atomic<unsigned>& began, const std::atomic<bool>& over) {
    ++began;
    while (!over) std::this_thread::yield();
    co_return;
}
co_task<> waits_for_all(const std::atomic<unsigned>& n, unsigned all) {
    while (n != all) std::this_thread::yield();
    co_return;
}
co_task<> counts_at_once(std::atomic<unsigned>& n) {
    ++n;
    co_return;
}

// No worker could take what lay behind a long one in its worker's batch: without that this ends.
TEST(coro_switches, without_stealing_no_batch_hides_a_coroutine) {
    std::atomic<unsigned> began = 0, n = 0;
    std::atomic<bool> over = false;
    coro_pool pool({.workers = 2, .stealing = false});
    pool.start();
    for (int i = 0; i != 2; ++i) EXPECT_TRUE(pool.spawn(keeps_a_worker(began, over)));
    while (began != 2) std::this_thread::yield();
    EXPECT_TRUE(pool.spawn(waits_for_all(n, 8)));
    for (int i = 0; i != 8; ++i) EXPECT_TRUE(pool.spawn(counts_at_once(n)));
    over = true;
    pool.stop();
    EXPECT_EQ(n, 8U);
}

TEST(coro_switches, a_batch_is_of_1_to_64) {
    EXPECT_THROW(coro_pool({.batch = 0}), std::invalid_argument);
    EXPECT_THROW(coro_pool({.batch = 65}), std::invalid_argument);
}

co_task<int> where() { co_return ::sched_getcpu(); }

TEST(coro_switches, a_pinned_worker_runs_on_its_processor) {
    const auto there = apiary::usable_processors();
    coro_pool pool({.workers = 1, .pinned = true});
    pool.start();
    for (int i = 0; i != 10; ++i) EXPECT_EQ(sync_wait(pool, where()), there.front());
    coro_pool all({.pinned = true});
    EXPECT_EQ(all.workers(), std::min(apiary::default_workers(), 280U));
}

TEST(coro_switches, there_is_a_worker_for_each_processor_that_the_mask_has) {
    // On a thread that may use one alone, which others must not inherit.
    std::thread([] {
        cpu_set_t one{};
        CPU_SET(static_cast<std::size_t>(apiary::usable_processors().back()), &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(coro_pool().workers(), 1U);
    }).join();
}

// The k-th of those that the process may use, and not the processor k.
TEST(coro_switches, pinning_goes_by_the_mask_that_is_inherited) {
    const int last = apiary::usable_processors().back();
    std::thread([last] {
        cpu_set_t mask{};
        CPU_SET(static_cast<std::size_t>(last), &mask);
        ASSERT_EQ(::sched_setaffinity(0, sizeof mask, &mask), 0);
        coro_pool pool({.workers = 1, .pinned = true});
        pool.start();
        EXPECT_EQ(sync_wait(pool, where()), last);
    }).join();
}

TEST(coro_switches, a_processor_that_is_not_there_is_refused) {
    const auto more = static_cast<unsigned>(apiary::usable_processors().size()) + 1;
    if (more > 280) GTEST_SKIP() << "more processors than a pool has workers";
    EXPECT_THROW(coro_pool({.workers = more, .pinned = true}), std::invalid_argument);
    coro_pool unpinned({.workers = more});
    EXPECT_EQ(unpinned.workers(), more);
}

// Between the constructor and start the mask may have become smaller.
TEST(coro_switches, start_throws_where_a_processor_has_gone_and_the_pool_is_stopped) {
    if (apiary::usable_processors().size() < 2) GTEST_SKIP() << "one processor";
    std::thread([] {
        coro_pool pool({.workers = 2, .pinned = true});
        cpu_set_t mask{};
        CPU_SET(static_cast<std::size_t>(apiary::usable_processors().back()), &mask);
        ASSERT_EQ(::sched_setaffinity(0, sizeof mask, &mask), 0);
        EXPECT_THROW(pool.start(), std::invalid_argument);
        EXPECT_FALSE(pool.spawn([]() -> co_task<> { co_return; }()));
    }).join();
}

// After start's look at the mask, before the second worker is bound. The first runs already.
TEST(coro_switches, start_throws_where_a_processor_goes_while_it_binds) {
    if (apiary::usable_processors().size() < 2) GTEST_SKIP() << "one processor";
    coro_pool pool({.workers = 2, .pinned = true});
    processors_left = 1;
    EXPECT_THROW(pool.start(), std::system_error);
    processors_left = 1'000'000;
    EXPECT_FALSE(pool.spawn([]() -> co_task<> { co_return; }()));
    EXPECT_FALSE(pool.start());
}

}  // namespace
}  // namespace coro_switches_test
