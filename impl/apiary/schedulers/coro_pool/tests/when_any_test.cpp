// when_any: the first to end lets the parent go on; losers are asked to end, and may outlive it.
#include <apiary/coroutines/channel.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

namespace when_any_test {
namespace {

using apiary::co_task;
using apiary::coro_pool;
using apiary::sync_wait;
using apiary::when_any;
using apiary::yield_turn;

struct running_pool : coro_pool {
    explicit running_pool(unsigned workers) : coro_pool({.workers = workers}) { start(); }
};

struct my_token {
    using comes_home = void;
    std::stop_token token{};
    bool await_ready() const noexcept { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> h) noexcept {
        token = h.promise().stop_token();
        return false;
    }
    std::stop_token await_resume() noexcept { return std::move(token); }
};

std::atomic<int> begun = 0;
co_task<int> until_asked(std::atomic<int>& asked) {
    const std::stop_token token = co_await my_token();
    ++begun;
    while (!token.stop_requested()) co_await yield_turn();
    ++asked;
    throw apiary::wait_cancelled();
}
// A contender that has not begun when another ends never does.
co_task<int> when_begun(int others, int value) {
    while (begun != others) co_await yield_turn();
    co_return value;
}
co_task<int> deaf(std::atomic<bool>& open, std::atomic<int>& ended) {
    ++begun;
    while (!open) co_await yield_turn();
    ++ended;
    co_return 0;
}
co_task<int> fails_when_begun(int others) {
    while (begun != others) co_await yield_turn();
    throw std::runtime_error("first");
    co_return 0;
}

co_task<> first_of(std::atomic<int>& asked) {
    begun = 0;
    const auto [which, value] = co_await when_any(until_asked(asked), when_begun(2, 7), until_asked(asked));
    EXPECT_EQ(which, 1U);
    EXPECT_EQ(value, 7);
}

TEST(when_any, gives_the_first_and_asks_the_others_to_end) {
    for (const unsigned workers : {1U, 3U}) {
        std::atomic<int> asked = 0;
        running_pool pool(workers);
        for (int i = 0; i != 20; ++i) {
            sync_wait(pool, first_of(asked));
            while (pool.report().living != 0) std::this_thread::yield();  // the losers count what they begin
        }
        pool.stop();
        EXPECT_EQ(asked, 40);
        EXPECT_EQ(pool.report().lost_exceptions, 0U);
    }
}

co_task<int> beside_a_deaf_one(std::atomic<bool>& open, std::atomic<int>& ended) {
    begun = 0;
    co_return (co_await when_any(deaf(open, ended), when_begun(1, 4))).value;
}

TEST(when_any, a_loser_may_outlive_its_parent_and_a_stop_waits_for_it) {
    std::atomic<bool> open = false;
    std::atomic<int> ended = 0;
    running_pool pool(2);
    EXPECT_EQ(sync_wait(pool, beside_a_deaf_one(open, ended)), 4);
    EXPECT_EQ(pool.report().living, 1U);
    EXPECT_EQ(ended, 0);
    pool.request_stop();
    EXPECT_FALSE(pool.wait_for_end(std::chrono::milliseconds(1)));
    open = true;
    pool.stop();
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(pool.report().living, 0U);
}

co_task<int> an_exception_wins(std::atomic<int>& asked) {
    begun = 0;
    co_return (co_await when_any(until_asked(asked), fails_when_begun(1))).value;
}

TEST(when_any, an_exception_may_be_the_first) {
    std::atomic<int> asked = 0;
    running_pool pool(2);
    EXPECT_THROW(sync_wait(pool, an_exception_wins(asked)), std::runtime_error);
    pool.stop();
    EXPECT_EQ(asked, 1);
}

co_task<int> fails_when_asked() {
    const std::stop_token token = co_await my_token();
    ++begun;
    while (!token.stop_requested()) co_await yield_turn();
    throw std::runtime_error("too late");
}
co_task<int> beside_one_that_fails() {
    begun = 0;
    co_return (co_await when_any(fails_when_asked(), when_begun(1, 4))).value;
}

TEST(when_any, the_exception_of_a_loser_is_counted_as_lost) {
    running_pool pool(2);
    EXPECT_EQ(sync_wait(pool, beside_one_that_fails()), 4);
    pool.stop();
    EXPECT_EQ(pool.report().lost_exceptions, 1U);
}

co_task<> waits_for_the_end(std::atomic<int>& asked) {
    (void)co_await when_any(until_asked(asked), until_asked(asked));
}

TEST(when_any, a_stop_that_cancels_reaches_the_contenders) {
    for (const int wait_for : {0, 2}) {
        std::atomic<int> asked = 0;
        begun = 0;
        running_pool pool(2);
        ASSERT_TRUE(pool.spawn(waits_for_the_end(asked)));
        while (pool.report().living != 3 || begun < wait_for) std::this_thread::yield();
        pool.stop(apiary::co_stop::cancel);
        EXPECT_EQ(asked, begun) << "one that had not begun never does";
        EXPECT_GE(asked, wait_for);
        EXPECT_EQ(pool.report().cancelled, 1U);
        EXPECT_EQ(pool.report().living, 0U);
    }
}

// Races one below the other; at the bottom one waits for what never comes, and so does another of each.
struct well {
    apiary::channel<int> dry{1};
    std::atomic<unsigned> waiting = 0, cancelled = 0;
    std::uintptr_t lowest = UINTPTR_MAX, highest = 0;  // of the stack of the thread that asks for the stop

    [[gnu::noinline]] void look_at_the_stack() {
        const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        lowest = std::min(lowest, here);
        highest = std::max(highest, here);
    }
};
co_task<int> waits_at(well& w) {
    const std::stop_token token = co_await my_token();
    const std::stop_callback looks(token, [&w] { w.look_at_the_stack(); });
    ++w.waiting;
    const auto got = co_await w.dry.receive();
    if (got.how == apiary::awaited::cancelled) ++w.cancelled;
    co_return 0;  // no exception: a hundred thousand of them would be most of the test
}
co_task<int> goes_down(well& w, unsigned levels) {
    if (levels == 0) co_return co_await waits_at(w);
    const auto first = co_await when_any(goes_down(w, levels - 1), waits_at(w));
    co_return first.value;
}
co_task<> goes_to_the_bottom(well& w, unsigned levels) { (void)co_await goes_down(w, levels); }
co_task<int> ends_when_all_wait(well& w, unsigned levels) {
    while (w.waiting != levels + 1) co_await yield_turn();
    co_return 1;
}
co_task<> beats_what_is_below(well& w, unsigned levels) {
    const auto first = co_await when_any(goes_down(w, levels), ends_when_all_wait(w, levels));
    EXPECT_EQ(first.index, 1U);
}

TEST(when_any, a_stop_that_goes_down_many_races_does_not_grow_the_stack) {
    for (const bool by_a_winner : {false, true}) {
        well w;
        constexpr bool sanitized = !apiary::frame_storage<apiary::real_sync>::recycles;
        const unsigned levels = sanitized || by_a_winner ? 20'000 : 100'000;
        running_pool pool(1);
        if (by_a_winner) {
            sync_wait(pool, beats_what_is_below(w, levels));
        } else {
            ASSERT_TRUE(pool.spawn(goes_to_the_bottom(w, levels)));
            while (w.waiting != levels + 1) std::this_thread::yield();
        }
        pool.stop(apiary::co_stop::cancel);
        EXPECT_EQ(w.cancelled, levels + 1);
        EXPECT_LT(w.highest - w.lowest, 256U * 1024);
        EXPECT_EQ(pool.report().living, 0U);
    }
}

co_task<> at_the_bottom(well& w, unsigned levels, std::stop_token& innermost, std::atomic<bool>& there) {
    if (levels != 0) {
        (void)co_await when_any(at_the_bottom(w, levels - 1, innermost, there));
        co_return;
    }
    innermost = co_await my_token();
    there = true;
    (void)co_await w.dry.receive();
}

TEST(when_any, races_however_deep_are_asked_before_the_request_returns) {
    well w;
    std::stop_source stop;
    std::stop_token innermost;
    std::atomic<bool> there = false;
    running_pool pool(1);
    ASSERT_TRUE(pool.spawn(at_the_bottom(w, 200, innermost, there), {.stop = stop}));
    while (!there) std::this_thread::yield();
    stop.request_stop();
    EXPECT_TRUE(innermost.stop_requested());
    pool.stop();
}

co_task<> empty_contender() {
    co_task<int> t = when_begun(begun, 1);
    co_await std::move(t);
    (void)co_await when_any(when_begun(0, 2), std::move(t));
}

TEST(when_any, an_empty_task_throws_before_any_begins) {
    running_pool pool(1);
    EXPECT_THROW(sync_wait(pool, empty_contender()), std::logic_error);
}

}  // namespace
}  // namespace when_any_test
