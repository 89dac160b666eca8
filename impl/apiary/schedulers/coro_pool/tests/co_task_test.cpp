// co_task and sync_wait: results, exceptions, laziness, depth; what is stated for bad input.
#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace co_task_test {
namespace {

using apiary::co_task;
using apiary::coro_pool;
using apiary::sync_wait;

co_task<int> seven() { co_return 7; }
co_task<int> eight() { co_return co_await seven() + 1; }
co_task<> throws(const char* what) {
    throw std::runtime_error(what);
    co_return;
}

struct running_pool : coro_pool {
    explicit running_pool(unsigned workers) : coro_pool({.workers = workers}) { start(); }
};

TEST(co_task, gives_its_result_to_its_awaiter) {
    for (const unsigned workers : {1U, 2U, 4U}) {
        running_pool pool(workers);
        EXPECT_EQ(sync_wait(pool, eight()), 8);
    }
}

co_task<std::unique_ptr<std::string>> made() { co_return std::make_unique<std::string>("made"); }
co_task<int&> named(int& n) { co_return n; }

TEST(co_task, gives_values_that_move_and_references) {
    running_pool pool(1);
    EXPECT_EQ(*sync_wait(pool, made()), "made");
    int n = 1;
    sync_wait(pool, named(n)) = 5;
    EXPECT_EQ(n, 5);
}

co_task<> says(std::atomic<bool>& began) {
    began = true;
    co_return;
}

TEST(co_task, begins_when_it_is_awaited_and_not_before) {
    std::atomic<bool> began = false;
    running_pool pool(1);
    {
        const co_task<> never = says(began);
    }
    EXPECT_FALSE(began);
    sync_wait(pool, says(began));
    EXPECT_TRUE(began);
}

struct counted {
    explicit counted(int& n) : living(&n) { ++*living; }
    counted(counted&& other) noexcept : living(std::exchange(other.living, nullptr)) {}
    ~counted() {
        if (living != nullptr) --*living;
    }
    int* living;
};
co_task<int> holds(counted c) { co_return *c.living; }

TEST(co_task, destroys_its_frame_and_arguments_once_run_or_not) {
    running_pool pool(1);
    int living = 0;
    {
        const co_task<int> never = holds(counted(living));
        EXPECT_EQ(living, 1);
    }
    EXPECT_EQ(living, 0);
    EXPECT_EQ(sync_wait(pool, holds(counted(living))), 1);
    EXPECT_EQ(living, 0);
    co_task<int> first = holds(counted(living));
    first = holds(counted(living));
    EXPECT_EQ(living, 1);
}

co_task<std::string> caught() {
    try {
        co_await throws("inner");
    } catch (const std::runtime_error& e) {
        co_return e.what();
    }
    co_return "nothing came";
}
co_task<> passes_on() { co_await throws("outer"); }

TEST(co_task, passes_exceptions_to_its_awaiter) {
    running_pool pool(2);
    EXPECT_EQ(sync_wait(pool, caught()), "inner");
    try {
        sync_wait(pool, passes_on());
        FAIL() << "the exception was lost";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "outer");
    }
    EXPECT_EQ(pool.report().exceptions, 1U);
}

co_task<> keeps_the_worker(const std::atomic<bool>& go) {
    while (!go) std::this_thread::yield();
    co_return;
}

// The lowest address that any level saw.
thread_local std::uintptr_t lowest = 0;
[[gnu::noinline]] void look_at_the_stack() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (lowest == 0 || here < lowest) lowest = here;
}
co_task<std::uint64_t> descend(std::uint64_t levels) {
    look_at_the_stack();
    if (levels == 0) co_return 0;
    co_return co_await descend(levels - 1) + 1;
}
struct depth {
    std::uint64_t levels;
    std::size_t stack;
};
co_task<depth> measured(std::uint64_t levels) {
    look_at_the_stack();
    const std::uintptr_t top = lowest;
    const std::uint64_t reached = co_await descend(levels);
    look_at_the_stack();
    co_return depth{reached, top - lowest};
}

TEST(co_task, a_million_levels_deep_does_not_grow_the_stack) {
    running_pool pool(1);
    const depth d = sync_wait(pool, measured(1'000'000));
    EXPECT_EQ(d.levels, 1'000'000U);
    EXPECT_LT(d.stack, 256U * 1024);  // 64 transfers, each a call where the compiler makes no tail calls
}

// A chain: each holds the one before it as an argument, and a share of a token.
using token = std::shared_ptr<int>;
co_task<> holds(co_task<> inner, token) { co_await std::move(inner); }
co_task<> chain_of(unsigned tasks, const token& all) {
    co_task<> t = holds(co_task<>(), all);
    while (--tasks != 0) t = holds(std::move(t), all);
    return t;
}
constexpr unsigned long_chain =
    apiary::frame_storage<apiary::real_sync>::recycles ? 1'000'000 : 100'000;  // fewer under sanitizers

TEST(co_task, a_chain_of_a_million_arguments_is_dropped_without_growing_the_stack) {
    const token all = std::make_shared<int>();
    (void)chain_of(long_chain, all);
    EXPECT_EQ(all.use_count(), 1);
}

TEST(co_task, a_chain_of_a_million_arguments_that_never_begins_does_not_grow_the_stack) {
    const token all = std::make_shared<int>();
    coro_pool pool({.workers = 1});
    pool.start();
    std::atomic<bool> go = false;
    ASSERT_TRUE(pool.spawn(keeps_the_worker(go)));
    ASSERT_TRUE(pool.spawn(chain_of(long_chain, all)));
    pool.request_stop(apiary::co_stop::cancel);
    go = true;
    pool.stop();
    EXPECT_EQ(all.use_count(), 1);
    EXPECT_EQ(pool.report().cancelled, 1U);
}

// What a frame holds goes in the order of the language: the last member of an argument first, the frame that it holds
// too.
struct says_its_end {
    std::string* to;
    char name;
    ~says_its_end() { *to += name; }
};
struct data_and_task {
    std::unique_ptr<says_its_end> data;
    co_task<> uses_it;
};
co_task<> uses(std::unique_ptr<says_its_end>) { co_return; }
co_task<> owns(data_and_task) { co_return; }

TEST(co_task, what_a_dropped_task_holds_goes_in_the_order_of_the_language) {
    std::string order;
    const auto called = [&](char name) { return std::make_unique<says_its_end>(&order, name); };
    (void)owns({called('a'), owns({called('b'), uses(called('c'))})});
    EXPECT_EQ(order, "cba");
}

struct holder {
    co_task<> work;
};
co_task<> keeps(std::shared_ptr<holder>) { co_return; }

// What the frame holds is the last that holds the task.
TEST(co_task, that_its_own_argument_owns_goes_once) {
    const auto ring = [] {
        auto h = std::make_shared<holder>();
        h->work = keeps(h);
        return std::weak_ptr(h);
    };
    for (const bool by_another : {false, true}) {
        const std::weak_ptr<holder> h = ring();
        holder* const its = h.lock().get();
        its->work = by_another ? keeps(nullptr) : co_task<>();
        EXPECT_TRUE(h.expired());
    }
}

co_task<std::uint64_t> one_after_the_other(std::uint64_t times) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i != times; ++i) sum += static_cast<std::uint64_t>(co_await seven());
    co_return sum;
}

TEST(co_task, a_long_loop_of_awaits_does_not_grow_the_stack) {
    running_pool pool(1);
    EXPECT_EQ(sync_wait(pool, one_after_the_other(300'000)), 2'100'000U);
}

co_task<> thrown_from_below(int levels) {
    if (levels == 0)
        co_await throws("from below");
    else
        co_await thrown_from_below(levels - 1);
}

TEST(co_task, an_exception_climbs_from_a_thousand_levels) {
    running_pool pool(1);
    EXPECT_THROW(sync_wait(pool, thrown_from_below(1000)), std::runtime_error);
}

co_task<> awaits_twice() {
    co_task<int> t = seven();
    co_await std::move(t);
    co_await std::move(t);
}
co_task<> awaits_moved_from() {
    co_task<int> t = seven();
    const co_task<int> other = std::move(t);
    co_await std::move(t);
}

TEST(co_task, awaited_twice_or_moved_from_throws) {
    running_pool pool(1);
    EXPECT_THROW(sync_wait(pool, awaits_twice()), std::logic_error);
    EXPECT_THROW(sync_wait(pool, awaits_moved_from()), std::logic_error);
    EXPECT_THROW(sync_wait(pool, co_task<int>()), std::logic_error);
    EXPECT_THROW((void)pool.spawn(co_task<>()), std::logic_error);
}

co_task<int> waits_for_itself(coro_pool& pool) { co_return sync_wait(pool, seven()); }

TEST(sync_wait, throws_on_a_worker_of_the_same_pool_before_start_and_behind_a_stop) {
    running_pool pool(1);
    EXPECT_THROW(sync_wait(pool, waits_for_itself(pool)), std::logic_error);
    coro_pool idle({.workers = 1});
    EXPECT_THROW(sync_wait(idle, seven()), std::logic_error);
    pool.stop();
    EXPECT_THROW(sync_wait(pool, seven()), std::logic_error);
    EXPECT_EQ(pool.report().refused, 1U) << "the last: it met the closed door";
}

TEST(coro_pool, empty_braces_are_the_usual_configuration) {
    coro_pool named({}), usual, braces{}, config(apiary::co_config{});
    EXPECT_EQ(named.workers(), usual.workers());
    EXPECT_TRUE(named.start());
}

TEST(coro_pool, refuses_numbers_out_of_range) {
    EXPECT_THROW(coro_pool({.workers = 10'000}), std::invalid_argument);
    EXPECT_THROW(coro_pool({.linger_ns = -1}), std::invalid_argument);
    running_pool by_processors(0);
    EXPECT_GE(by_processors.workers(), 1U);
    EXPECT_EQ(sync_wait(by_processors, seven()), 7);
}

co_task<> counts(std::atomic<unsigned>& n) {
    ++n;
    co_return;
}

TEST(coro_pool, runs_every_spawned_task_once) {
    for (const unsigned workers : {1U, 3U}) {
        std::atomic<unsigned> n = 0;
        running_pool pool(workers);
        for (int i = 0; i != 5000; ++i) ASSERT_TRUE(pool.spawn(counts(n)));
        pool.stop();
        EXPECT_EQ(n, 5000U);
        const auto report = pool.report();
        EXPECT_EQ(report.run, 5000U);
        EXPECT_EQ(report.living, 0U);
    }
}

TEST(coro_pool, counts_what_each_of_its_workers_runs) {
    for (const unsigned workers : {1U, 2U}) {
        std::atomic<unsigned> n = 0;
        running_pool pool(workers);
        for (int i = 0; i != 100; ++i) ASSERT_TRUE(pool.spawn(counts(n)));
        pool.stop();
        EXPECT_EQ(pool.counters().run, 100U) << workers;
    }
}

co_task<> spawns(coro_pool& pool, std::atomic<unsigned>& n, unsigned levels) {
    ++n;
    if (levels == 0) co_return;
    for (int i = 0; i != 2; ++i) EXPECT_TRUE(pool.spawn(spawns(pool, n, levels - 1)));
}

TEST(coro_pool, runs_what_coroutines_spawn) {
    std::atomic<unsigned> n = 0;
    running_pool pool(3);
    ASSERT_TRUE(pool.spawn(spawns(pool, n, 10)));
    pool.stop();
    EXPECT_EQ(n, 2047U);
}

TEST(coro_pool, tells_of_exceptions_that_nobody_awaits) {
    std::atomic<unsigned> told = 0;
    coro_pool pool({.workers = 2, .on_exception = [&](std::exception_ptr) { ++told; }});
    pool.start();
    ASSERT_TRUE(pool.spawn(throws("to nobody")));
    pool.stop();
    EXPECT_EQ(told, 1U);
    EXPECT_EQ(pool.report().exceptions, 1U);
    EXPECT_EQ(pool.report().run, 1U);
}

TEST(coro_pool, an_exception_that_leaves_on_exception_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            coro_pool pool(
                {.workers = 1, .on_exception = [](std::exception_ptr) { throw std::logic_error("handler"); }});
            pool.start();
            (void)pool.spawn(throws("to nobody"));
            pool.stop();
        },
        "handler");
}

co_task<> two_turns(std::string& order, char mine) {
    order += mine;
    co_await apiary::yield_turn();
    order += mine;
}
co_task<> both_take_turns(coro_pool& pool, std::string& order) {
    EXPECT_TRUE(pool.spawn(two_turns(order, 'b')));
    co_await two_turns(order, 'a');
}

TEST(coro_pool, a_coroutine_that_yields_lets_others_run) {
    std::string order;
    running_pool pool(1);
    ASSERT_TRUE(pool.spawn(both_take_turns(pool, order)));
    pool.stop();
    EXPECT_EQ(order, "abab");
}

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12
co_task<> awaits_a_temporary_in_a_condition(apiary::async_semaphore<>& s) {
    if (co_await s.acquire() == apiary::awaited::done) s.release();
}

// Whether the compiler misplaces its promise depends on its options. Where it does, the program ends at once, and does
// not go on with a promise that lies elsewhere.
TEST(co_task, a_promise_that_the_compiler_misplaces_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            apiary::async_semaphore<> s(1);
            running_pool pool(1);
            sync_wait(pool, awaits_a_temporary_in_a_condition(s));
            pool.stop();
            std::fputs("misplaced nothing", stderr);
            std::_Exit(s.try_acquire() ? 0 : 1);
        },
        [](int status) { return WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) == 0; },
        "misplaced");
}
#endif

}  // namespace
}  // namespace co_task_test
