// The hive's timers and their handles. Real threads, no timing assertions but "never early".
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <memory>
#include <ratio>
#include <vector>

#include <apiary/testing/fake_driver.hpp>
#include <apiary/testing/running_hive.hpp>
#include <apiary/timers/clock.hpp>

namespace hive_timers_test {
namespace {

using namespace std::chrono_literals;
using apiary::hive;
using apiary::running_hive;
using apiary::stop_mode;
using apiary::wait_for;
using hive_of = testing::TestWithParam<unsigned>;  // workers; the numbers are in hive_test.cpp

TEST_P(hive_of, timers_are_never_early) {
    running_hive r({.io_workers = GetParam()});
    std::atomic<int> fired{0}, early{0};
    for (int i = 0; i < 50; ++i) {
        const auto delay = std::chrono::microseconds(100 * (i % 7));
        const auto due = std::chrono::steady_clock::now() + delay;
        ASSERT_TRUE(r.h.post_delayed(
            [&, due] {
                if (std::chrono::steady_clock::now() < due) ++early;
                ++fired;
            },
            delay));
    }
    ASSERT_TRUE(r.h.post_micro([&] { ASSERT_TRUE(r.h.post_delayed([&] { ++fired; }, 1ms)); }));
    ASSERT_TRUE(r.h.post_delayed([&] { ++fired; }, -5ms));
    wait_for(fired, 52);
    EXPECT_EQ(early, 0);
}

// More than a few, so that most lie in the wheel, and move from list to list until they are due.
TEST_P(hive_of, thousands_of_timers_are_never_early_and_the_cancelled_ones_never_run) {
    running_hive r({.io_workers = GetParam()});
    std::atomic<int> fired{0}, early{0}, cancelled{0};
    std::vector<apiary::delayed_handle<>> far;
    for (int i = 0; i < 2000; ++i) {
        const auto delay = std::chrono::microseconds(37 * (i % 1000));
        const auto due = std::chrono::steady_clock::now() + delay;
        ASSERT_TRUE(r.h.post_delayed(
            [&, due] {
                if (std::chrono::steady_clock::now() < due) ++early;
                ++fired;
            },
            delay));
        far.push_back(r.h.post_delayed([] { FAIL() << "an hour has passed"; }, 1h + delay));
    }
    for (auto& handle : far) cancelled += handle.cancel() ? 1 : 0;
    wait_for(fired, 2000);
    EXPECT_EQ(early, 0);
    EXPECT_EQ(cancelled, 2000);
    EXPECT_EQ(r.stop().cancelled, 2000U);
}

TEST_P(hive_of, a_cancelled_timer_never_runs_and_frees_what_it_held_at_once) {
    running_hive r({.io_workers = GetParam()});
    auto token = std::make_shared<int>(0);
    auto timer = r.h.post_delayed([token] { FAIL() << "cancelled timers do not run"; }, 1h);
    EXPECT_TRUE(timer);
    EXPECT_TRUE(timer.cancel());
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_FALSE(timer.cancel()) << "it is true once";
    const auto report = r.stop();
    EXPECT_EQ(report.cancelled, 1U);
    EXPECT_EQ(report.run + report.discarded, 0U);
}

TEST(hive, timers_that_were_cancelled_do_not_pile_up_until_their_deadlines) {
    running_hive r({});
    std::atomic<int> done{0};
    ASSERT_TRUE(r.h.post_micro([&] {
        auto kept = r.h.post_delayed([] {}, 1h);
        for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(r.h.post_delayed([] {}, 1h).cancel());
        ++done;
    }));
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(r.h.post_delayed([] {}, 1h).cancel()) << "and from another thread";
    wait_for(done, 1);
    ASSERT_TRUE(r.h.post_micro([&done] { ++done; }));  // behind it every inbox has been looked at
    wait_for(done, 2);
    EXPECT_LE(r.h.total(&apiary::worker_counters::timers_pending), 64U);
    const auto report = r.stop();
    EXPECT_EQ(report.cancelled, 20'000U);
    EXPECT_EQ(report.discarded, 1U);
}

TEST_P(hive_of, a_timer_that_has_begun_cannot_be_cancelled) {
    running_hive r({.io_workers = GetParam()});
    std::atomic<int> ran{0};
    auto timer = r.h.post_delayed([&ran] { ++ran; }, 0ms);
    wait_for(ran, 1);
    EXPECT_FALSE(timer.cancel());
}

TEST(hive, a_timers_handle_outlives_the_hive) {
    apiary::delayed_handle<> timer;
    EXPECT_FALSE(timer);
    EXPECT_FALSE(timer.cancel());
    auto token = std::make_shared<int>(0);
    {
        hive h({});
        timer = h.post_delayed([token] {}, 1h);
        EXPECT_TRUE(timer);
    }
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_FALSE(timer.cancel()) << "it was discarded";
}

TEST(hive, a_handle_that_is_assigned_over_lets_go_of_its_timer) {
    auto first = std::make_shared<int>(0), second = std::make_shared<int>(0);
    hive h({});
    apiary::delayed_handle<> timer = h.post_delayed([first] {}, 1h);
    timer = h.post_delayed([second] {}, 1h);  // that the first block is freed: hive_rules_test.cpp
    EXPECT_TRUE(timer.cancel());
    EXPECT_EQ(first.use_count(), 2) << "it is not cancelled by that";
    EXPECT_EQ(second.use_count(), 1);
}

TEST(hive, letting_go_of_a_handle_does_not_cancel) {
    running_hive r({});
    std::atomic<int> ran{0};
    {
        auto timer = r.h.post_delayed([&ran] { ++ran; }, 1ms);
    }
    wait_for(ran, 1);
}

TEST_P(hive_of, a_drain_runs_the_timers_that_are_due) {
    running_hive r({.io_workers = GetParam()});
    std::atomic<int> ran{0};
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, 0ns));
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, 1h));
    const auto report = r.stop(stop_mode::drain);
    EXPECT_EQ(ran, 20);
    EXPECT_EQ(report.discarded, 1U);
}

TEST(hive, a_delay_beyond_the_clock_is_never) {
    running_hive r({});
    std::atomic<int> ran{0};
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, std::chrono::nanoseconds::max()));
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, std::chrono::hours::max()));
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, std::chrono::hours::min()));
    wait_for(ran, 1);
    EXPECT_EQ(r.stop().discarded, 2U);
    EXPECT_EQ(ran, 1);
}

// Their number times the nanoseconds of one is beyond 64 bits.
TEST(hive, a_long_delay_in_short_ticks_is_not_early) {
    using ticks = std::chrono::duration<std::int64_t, std::ratio<1, 1 << 30>>;
    running_hive r({});
    std::atomic<int> ran{0};
    ASSERT_TRUE(r.h.post_delayed([] { FAIL() << "due in two hours"; }, ticks(2h)));
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, 1ms));
    wait_for(ran, 1);
    EXPECT_EQ(r.stop().discarded, 1U);
}

struct still_parts : apiary::hive_parts<apiary::real_sync> {
    using clock = apiary::manual_clock<>;
};

// In seconds as a double both delays are what is left until the clock ends.
TEST(hive, a_delay_just_beyond_the_clock_is_never_and_one_just_before_it_is_not_early) {
    apiary::basic_hive<apiary::real_sync, apiary::fake_driver<apiary::manual_clock<>>, apiary::pooled_storage<>,
                       still_parts>
        h({});
    h.clock().set(12'775'857);
    constexpr std::int64_t left = INT64_MAX - 12'775'857;
    std::vector<std::int64_t> fired_at;
    const auto note = [&] { fired_at.push_back(h.clock().now_ns()); };
    const std::chrono::milliseconds beyond(left / 1'000'000 + 1), before(left / 1'000'000);
    ASSERT_TRUE(h.post_delayed(note, beyond));
    ASSERT_TRUE(h.post_delayed(note, before));
    ASSERT_TRUE(h.post_delayed([&h] { h.request_stop(); }, before));
    h.run();
    EXPECT_EQ(fired_at, std::vector{INT64_MAX - left + left / 1'000'000 * 1'000'000});
    EXPECT_EQ(h.report().discarded, 1U);
}

TEST(hive, a_timer_may_post_cancel_another_and_detach_its_worker) {
    running_hive r({.io_workers = 2, .compute_workers = 1});
    std::atomic<int> ran{0};
    const auto count = [&ran] { ++ran; };
    auto other = r.h.post_delayed([] { FAIL() << "cancelled timers do not run"; }, 1h);
    std::atomic<bool> cancelled{false};
    ASSERT_TRUE(r.h.post_delayed(
        [&] {
            cancelled = other.cancel();
            (void)r.h.detach_io_worker(*r.h.this_worker());  // the main worker stays
            EXPECT_TRUE(r.h.post_micro(count));
            EXPECT_TRUE(r.h.post_delayed(count, 0ns));
            EXPECT_TRUE(r.h.post_delayed(count, 100us));
            EXPECT_TRUE(r.h.post_compute(count));
            ++ran;
        },
        100us));
    wait_for(ran, 5);
    EXPECT_TRUE(cancelled);
    const auto report = r.stop();
    EXPECT_EQ(report.run, 5U);
    EXPECT_EQ(report.cancelled, 1U);
}

TEST(hive, a_timer_is_not_refused_because_a_worker_was_detached) {
    hive h({.io_workers = 2});
    int ran = 0;
    EXPECT_EQ(h.detach_io_worker(1), apiary::detach_result::detached);
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(h.post_delayed([&ran] { ++ran; }, 0ns));
    h.request_stop();
    h.run();
    EXPECT_EQ(ran, 200);
}

}  // namespace
}  // namespace hive_timers_test
