// Sleeping on a timer thread whose clock the test moves: deadlines, cancels, the end of the
// service; and on a real thread.
#include <apiary/coroutines/sleeping.hpp>
#include <apiary/coroutines/timer_thread.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>

namespace sleep_test {
namespace {

using namespace std::chrono_literals;
using apiary::awaited;
using apiary::coroutine_place;
using apiary::manual_clock;
using apiary::parker_driver;
using apiary::plain_coroutine;
using apiary::real_sync;
using apiary::resume_later;
using apiary::sleep_for;
using apiary::sleep_until;
using apiary::timer_thread;

using stepped = timer_thread<real_sync, parker_driver<>, manual_clock<>>;
using lines = std::vector<std::string>;

plain_coroutine<> sleeps(coroutine_place<>, stepped& timers, std::int64_t until, lines& l, std::string name) {
    const awaited how = co_await sleep_until(timers, until);
    l.push_back(name + (how == awaited::done ? " woke" : " was cancelled"));
}

TEST(sleeping, wakes_at_the_deadline_and_not_before) {
    resume_later home;
    stepped timers;
    lines l;
    sleeps({home}, timers, 20, l, "b");
    sleeps({home}, timers, 10, l, "a");
    EXPECT_EQ(timers.run_due(), 10);
    timers.clock().set(9);
    EXPECT_EQ(timers.run_due(), 10);
    EXPECT_TRUE(home.waiting.empty());
    timers.clock().set(10);
    EXPECT_EQ(timers.run_due(), 20);
    home.run_all();
    EXPECT_EQ(l, (lines{"a woke"}));
    timers.clock().set(25);
    EXPECT_EQ(timers.run_due(), INT64_MAX);
    home.run_all();
    EXPECT_EQ(l, (lines{"a woke", "b woke"}));
}

TEST(sleeping, a_deadline_in_the_past_does_not_suspend) {
    resume_later home;
    stepped timers;
    lines l;
    timers.clock().set(10);
    sleeps({home}, timers, 10, l, "a");
    EXPECT_EQ(l, (lines{"a woke"}));
}

TEST(sleeping, a_cancelled_one_wakes_at_once_and_leaves_no_timer) {
    resume_later home;
    stepped timers;
    lines l;
    apiary::stop_hooks<> stop;
    sleeps({home, &stop}, timers, 10, l, "a");
    stop.ask();
    EXPECT_EQ(home.run_all(), 1U);
    EXPECT_EQ(l, (lines{"a was cancelled"}));
    timers.clock().set(20);
    EXPECT_EQ(timers.run_due(), INT64_MAX);
    EXPECT_TRUE(home.waiting.empty());
}

TEST(sleeping, behind_a_stop_it_is_cancelled_at_once_and_leaves_no_timer) {
    resume_later home;
    stepped timers;
    lines l;
    apiary::stop_hooks<> stop;
    stop.ask();
    sleeps({home, &stop}, timers, 10, l, "a");
    EXPECT_EQ(l, (lines{"a was cancelled"}));
    EXPECT_EQ(timers.run_due(), INT64_MAX);
}

TEST(sleeping, a_cancel_behind_the_deadline_is_too_late) {
    resume_later home;
    stepped timers;
    lines l;
    apiary::stop_hooks<> stop;
    sleeps({home, &stop}, timers, 10, l, "a");
    timers.clock().set(10);
    (void)timers.run_due();
    stop.ask();
    EXPECT_EQ(home.run_all(), 1U);
    EXPECT_EQ(l, (lines{"a woke"}));
}

TEST(sleeping, the_end_of_the_service_cancels) {
    resume_later home;
    stepped timers;
    lines l;
    sleeps({home}, timers, 10, l, "a");
    timers.stop();
    timers.stop();
    timers.run();
    home.run_all();
    EXPECT_EQ(l, (lines{"a was cancelled"}));
    sleeps({home}, timers, 20, l, "b");
    EXPECT_EQ(l.back(), "b was cancelled") << "at once";
}

TEST(sleeping, a_service_that_goes_cancels) {
    resume_later home;
    lines l;
    {
        stepped timers;
        sleeps({home}, timers, 10, l, "a");
    }
    home.run_all();
    EXPECT_EQ(l, (lines{"a was cancelled"}));
}

TEST(sleeping, a_frame_destroyed_while_it_sleeps_leaves_no_timer) {
    resume_later home;
    stepped timers;
    lines l;
    sleeps({home}, timers, 10, l, "a").frame.destroy();
    timers.clock().set(10);
    EXPECT_EQ(timers.run_due(), INT64_MAX);
    EXPECT_TRUE(home.waiting.empty());
}

template <class Delay>
plain_coroutine<> sleeps_for(coroutine_place<>, stepped& timers, Delay delay, lines& l) {
    l.push_back(co_await sleep_for(timers, delay) == awaited::done ? "woke" : "cancelled");
}

TEST(sleeping, delays_are_rounded_up_and_may_be_beyond_the_clock) {
    resume_later home;
    stepped timers;
    lines l;
    timers.clock().set(5);
    sleeps_for({home}, timers, std::chrono::duration<double, std::nano>(1.5), l);
    EXPECT_EQ(timers.run_due(), 7);
    timers.clock().set(7);
    EXPECT_EQ(timers.run_due(), INT64_MAX);
    home.run_all();
    EXPECT_EQ(l, (lines{"woke"}));
    sleeps_for({home}, timers, -5s, l);
    sleeps_for({home}, timers, std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()), l);
    EXPECT_EQ(l, (lines{"woke", "woke", "woke"}));
    sleeps_for({home}, timers, std::chrono::hours::max(), l);
    sleeps_for({home}, timers, std::chrono::nanoseconds::max(), l);
    timers.clock().set(INT64_MAX - 1);
    EXPECT_EQ(timers.run_due(), INT64_MAX);
    EXPECT_EQ(l.size(), 3U);
    timers.stop();
    timers.run();
    home.run_all();
    EXPECT_EQ(l, (lines{"woke", "woke", "woke", "cancelled", "cancelled"}));
}

plain_coroutine<> naps(coroutine_place<>, timer_thread<>& timers, int times, std::atomic<int>& ended) {
    for (int i = 0; i != times; ++i) (void)co_await sleep_for(timers, 100us);
    ++ended;
}

TEST(sleeping, works_on_a_real_thread) {
    apiary::resume_here<> home;
    timer_thread<> timers;
    std::atomic<int> ended = 0;
    const std::int64_t start = timers.now_ns();
    std::thread t([&] { timers.run(); });
    for (int i = 0; i != 4; ++i) naps({home}, timers, 5, ended);
    while (ended.load() != 4) std::this_thread::yield();
    EXPECT_GE(timers.now_ns() - start, 500'000);
    timers.stop();
    t.join();
}

}  // namespace
}  // namespace sleep_test
