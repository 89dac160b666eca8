// The hive's timers and their handles. Real threads, no timing assertions but "never early".
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ratio>
#include <string>
#include <thread>
#include <vector>

#include <apiary/testing/fake_driver.hpp>
#include <apiary/testing/running_hive.hpp>
#include <apiary/testing/stepped_hive.hpp>
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

// The handle goes within its own cancel, and the rest of the callable after it.
TEST_P(hive_of, a_callable_may_own_the_handle_that_cancels_it) {
    struct session {
        apiary::delayed_handle<> timer;
    };
    struct close_it {
        std::vector<int> destroyed_last;
        std::shared_ptr<session> owner;  // destroyed first
        void operator()() { FAIL() << "cancelled timers do not run"; }
    };
    running_hive r({.io_workers = GetParam()});
    std::atomic<int> cancelled{0};
    const auto arm_and_cancel = [&] {
        auto owner = std::make_shared<session>();
        session& s = *owner;
        s.timer = r.h.post_delayed(close_it{{1, 2, 3}, std::move(owner)}, 1h);
        cancelled += s.timer.cancel() ? 1 : 0;
    };
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(r.h.post_micro(arm_and_cancel));
    for (int i = 0; i < 100; ++i) arm_and_cancel();
    wait_for(cancelled, 200);
    EXPECT_EQ(r.stop().cancelled, 200U);
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
    ASSERT_TRUE(r.h.post_micro([&done] { ++done; }));  // after it every inbox has been looked at
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

// In seconds as a double both delays are what is left until the clock ends.
TEST(hive, a_delay_just_beyond_the_clock_is_never_and_one_just_before_it_is_not_early) {
    apiary::basic_hive<apiary::real_sync, apiary::fake_driver<apiary::manual_clock<>>, apiary::pooled_storage<>,
                       apiary::still_parts>
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

// ---- Timers that are given another time, on a clock that stands still until a worker waits for it.
using still_hive = apiary::basic_hive<apiary::real_sync, apiary::fake_driver<apiary::manual_clock<>>,
                                      apiary::pooled_storage<>, apiary::still_parts>;
using apiary::rearm_result;

struct rearmed_timers : testing::Test {
    still_hive h{{}};
    std::vector<std::int64_t> fired_at;
    // Runs `first` as a task, and then the hive until its clock has come to 1000.
    template <class F>
    void run(F first) {
        h.clock().set(100);
        ASSERT_TRUE(h.post_micro([&, first] {
            ASSERT_TRUE(h.post_delayed([&] { h.request_stop(stop_mode::discard); }, 900ns));
            first();
        }));
        h.run();
    }
    auto note() {
        return [this] { fired_at.push_back(h.clock().now_ns()); };
    }
    std::uint64_t pending() { return h.total(&apiary::worker_counters::timers_pending); }
};

TEST_F(rearmed_timers, a_timer_that_is_put_off_runs_at_the_last_time_that_it_was_given_and_once) {
    apiary::delayed_handle<> timer;
    run([&] {
        timer = h.post_delayed(note(), 100ns);
        for (const auto delay : {150ns, 300ns, 200ns}) EXPECT_EQ(h.rearm(timer, delay), rearm_result::rearmed);
        EXPECT_EQ(pending(), 2U) << "it is one timer";
    });
    EXPECT_EQ(fired_at, std::vector<std::int64_t>{300});
    EXPECT_EQ(h.rearm(timer, 1s), rearm_result::over);
    EXPECT_EQ(h.report().run, 3U);
    EXPECT_EQ(h.report().cancelled + h.report().discarded, 0U);
}

TEST_F(rearmed_timers, a_worker_that_is_late_runs_a_timer_that_was_put_off_in_its_new_place) {
    std::vector<int> order;
    apiary::delayed_handle<> timer;
    run([&] {
        timer = h.post_delayed([&order] { order.push_back(2); }, 100ns);
        ASSERT_TRUE(h.post_delayed([&order] { order.push_back(1); }, 120ns));
        EXPECT_EQ(h.rearm(timer, 150ns), rearm_result::rearmed);
        h.clock().set(300);
    });
    EXPECT_EQ(order, (std::vector{1, 2}));
    EXPECT_EQ(h.total(&apiary::worker_counters::timer_lateness_ns), 80U + 50U)
        << "of the time that it was put off to";
}

TEST_F(rearmed_timers, a_timer_may_be_put_off_again_when_it_has_been_filed_again) {
    apiary::delayed_handle<> timer;
    run([&] {
        timer = h.post_delayed(note(), 100ns);
        EXPECT_EQ(h.rearm(timer, 300ns), rearm_result::rearmed);
        ASSERT_TRUE(h.post_delayed([&] { EXPECT_EQ(h.rearm(timer, 250ns), rearm_result::rearmed); }, 250ns));
        ASSERT_TRUE(h.post_delayed([&] { EXPECT_EQ(h.rearm(timer, 10ns), rearm_result::rearmed); }, 450ns));
    });
    EXPECT_EQ(fired_at, std::vector<std::int64_t>{560});
}

TEST_F(rearmed_timers, its_own_worker_makes_a_timer_earlier_at_once) {
    apiary::delayed_handle<> timer, far;
    run([&] {
        timer = h.post_delayed(note(), 500ns);
        far = h.post_delayed(note(), std::chrono::hours::max());
        EXPECT_EQ(h.rearm(timer, 200ns), rearm_result::rearmed);
        EXPECT_EQ(h.rearm(far, 700ns), rearm_result::rearmed);
        EXPECT_EQ(h.rearm(timer, -5ns), rearm_result::rearmed) << "a negative delay counts as none";
    });
    EXPECT_EQ(fired_at, (std::vector<std::int64_t>{100, 800}));
}

// It is filed again when the old time comes, and so after a timer that was armed in between for the same time.
TEST_F(rearmed_timers, a_timer_that_was_made_earlier_and_is_put_off_stays_under_the_earlier_time) {
    std::vector<int> order;
    apiary::delayed_handle<> timer;
    run([&] {
        timer = h.post_delayed([&order] { order.push_back(1); }, 500ns);
        for (const auto delay : {200ns, 300ns}) EXPECT_EQ(h.rearm(timer, delay), rearm_result::rearmed);
        ASSERT_TRUE(h.post_delayed([&order] { order.push_back(2); }, 300ns));
    });
    EXPECT_EQ(order, (std::vector{2, 1}));
}

TEST_F(rearmed_timers, another_thread_puts_off_and_does_not_make_earlier) {
    apiary::delayed_handle<> timer;
    run([&] {
        timer = h.post_delayed(note(), 200ns);
        std::thread([&] {
            EXPECT_EQ(h.rearm(timer, 400ns), rearm_result::rearmed);
            EXPECT_EQ(h.rearm(timer, 300ns), rearm_result::not_here);
            EXPECT_EQ(h.rearm(timer, 400ns), rearm_result::rearmed) << "the same time";
        }).join();
    });
    EXPECT_EQ(fired_at, std::vector<std::int64_t>{500});
}

TEST_F(rearmed_timers, a_timer_that_has_begun_or_was_cancelled_and_no_timer_at_all_are_not_put_off) {
    apiary::delayed_handle<> begun, cancelled, none;
    run([&] {
        begun = h.post_delayed([&] { EXPECT_EQ(h.rearm(begun, 100ns), rearm_result::over); }, 0ns);
        cancelled = h.post_delayed(note(), 100ns);
        EXPECT_TRUE(cancelled.cancel());
        EXPECT_EQ(h.rearm(cancelled, 200ns), rearm_result::over);
        std::thread([&] { EXPECT_EQ(h.rearm(cancelled, 200ns), rearm_result::over); }).join();
        EXPECT_EQ(h.rearm(none, 100ns), rearm_result::over);
    });
    EXPECT_EQ(fired_at, std::vector<std::int64_t>{});
}

TEST_F(rearmed_timers, a_timer_that_was_put_off_can_be_cancelled_and_is_dropped_by_a_stop_that_drains) {
    apiary::delayed_handle<> cancelled, kept;
    h.clock().set(100);
    ASSERT_TRUE(h.post_micro([&] {
        cancelled = h.post_delayed(note(), 0ns);
        kept = h.post_delayed(note(), 0ns);
        for (auto* t : {&cancelled, &kept}) EXPECT_EQ(h.rearm(*t, 50ns), rearm_result::rearmed);
        EXPECT_TRUE(cancelled.cancel());
        EXPECT_EQ(pending(), 1U);
        h.request_stop(stop_mode::drain);
        EXPECT_EQ(h.rearm(kept, 60ns), rearm_result::rearmed);
    }));
    h.run();
    EXPECT_EQ(fired_at, std::vector<std::int64_t>{});
    EXPECT_EQ(h.report().cancelled, 1U);
    EXPECT_EQ(h.report().discarded, 1U);
}

// The stop takes the due timer out of the wheel, and queues it after the task.
TEST_F(rearmed_timers, a_task_may_cancel_a_due_timer_that_a_stop_has_queued_after_it) {
    apiary::delayed_handle<> timer;
    h.clock().set(100);
    ASSERT_TRUE(h.post_micro([&] {
        timer = h.post_delayed(note(), 0ns);
        ASSERT_TRUE(h.post_to_worker(0, [&] {
            EXPECT_EQ(pending(), 0U);
            EXPECT_TRUE(timer.cancel());
        }));
        h.request_stop(stop_mode::drain);
    }));
    h.run();
    EXPECT_EQ(fired_at, std::vector<std::int64_t>{});
    EXPECT_EQ(h.report().run, 2U);
    EXPECT_EQ(h.report().cancelled, 1U);
}

TEST_F(rearmed_timers, a_cancel_on_its_own_worker_leaves_nothing_behind_and_one_on_another_thread_an_empty_task) {
    run([&] {
        auto here = h.post_delayed(note(), 500ns), there = h.post_delayed(note(), 500ns);
        EXPECT_EQ(pending(), 3U);
        EXPECT_TRUE(here.cancel());
        EXPECT_EQ(pending(), 2U);
        std::thread([&] { EXPECT_TRUE(there.cancel()); }).join();
        EXPECT_EQ(pending(), 2U);
    });
    EXPECT_EQ(h.report().cancelled, 2U);
    EXPECT_EQ(h.report().run, 2U);
}

TEST_F(rearmed_timers, thousands_in_the_wheel_run_at_their_last_times_in_that_order) {
    std::vector<apiary::delayed_handle<>> timers(3000);
    std::vector<std::int64_t> expected;
    h.clock().set(100);
    ASSERT_TRUE(h.post_micro([&] {
        ASSERT_TRUE(h.post_delayed([&] { h.request_stop(stop_mode::discard); }, 1h));
        for (std::size_t i = 0; i != timers.size(); ++i)
            timers[i] = h.post_delayed(note(), std::chrono::milliseconds(1 + i * 7919 % 3001));
        for (std::size_t i = 0; i != timers.size(); ++i) {
            if (i % 5 == 0) {
                EXPECT_TRUE(timers[i].cancel());
                continue;
            }
            std::chrono::milliseconds last{};
            for (std::size_t again = 0; again != i % 5; ++again) {
                last = std::chrono::milliseconds(1 + (i * 104'729 + again * 1299) % 6007);
                EXPECT_EQ(h.rearm(timers[i], last), rearm_result::rearmed);
            }
            expected.push_back(100 + std::chrono::nanoseconds(last).count());
        }
    }));
    h.run();
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(fired_at, expected);
    EXPECT_EQ(h.report().cancelled, 600U);
}

// ---- Timers that a worker hands over to the main worker. The test runs one worker after another.
struct handed_over_timers : testing::Test, apiary::still_script {
    core_type h{2, 0, {}};
    apiary::delayed_handle<> timer;
    using keeper = apiary::timer_keeper<apiary::real_sync>;

    // To be called by a task of that worker. The timer ends the hive.
    void arm(unsigned slot, std::int64_t deadline_ns) {
        const auto callable = [this] {
            log.emplace_back("timer");
            h.request_stop(stop_mode::drain);
        };
        auto* const block = new apiary::delayed_callable<decltype(callable), apiary::real_sync>(deadline_ns, callable);
        timer = apiary::delayed_handle<>(block);
        task_type* const t = storage::make(apiary::delayed_entry<apiary::real_sync>(block));
        t->deadline_ns = deadline_ns;
        ASSERT_TRUE(h.io()[slot]->sources().post_delayed(t));
    }
    rearm_result rearm(unsigned slot, std::int64_t deadline_ns) {
        return h.io()[slot]->sources().rearm(*timer.block(), deadline_ns);
    }
    void run(unsigned slot) {
        apiary::real_sync::set_current<keeper>(&h.io()[slot]->sources());
        h.io()[slot]->run();
        apiary::real_sync::set_current<keeper>(nullptr);
    }
};

// Deadline 0 is also how a task says that it is not timed: the main worker queues this one, and looks at no word.
TEST_F(handed_over_timers, one_that_was_made_due_at_time_0_is_not_put_off_any_more) {
    ASSERT_TRUE(h.post_to(0, doing("put off", [this] { EXPECT_EQ(rearm(0, 5), rearm_result::over); })));
    ASSERT_TRUE(h.post_to(1, doing("hand over", [this] {
                              arm(1, 500);
                              EXPECT_EQ(rearm(1, 0), rearm_result::rearmed);
                              EXPECT_EQ(h.detach_io(1), apiary::detach_result::detached);
                          })));
    run(1);
    run(0);
    EXPECT_EQ(log, (std::vector<std::string>{"hand over", "put off", "timer"}));
    EXPECT_EQ(h.clock().now_ns(), 0);
}

TEST_F(handed_over_timers, one_that_was_made_due_at_time_0_runs_then_on_its_own_worker) {
    ASSERT_TRUE(h.post_to(0, doing("arm", [this] {
                              arm(0, 500);
                              EXPECT_EQ(rearm(0, 0), rearm_result::rearmed);
                              EXPECT_EQ(rearm(0, 5), rearm_result::over);
                          })));
    run(0);
    EXPECT_EQ(log, (std::vector<std::string>{"arm", "timer"}));
    EXPECT_EQ(h.clock().now_ns(), 0);
}

// Until the main worker has filed it the timer has no keeper, though its former one runs again.
TEST_F(handed_over_timers, the_next_life_of_their_worker_may_cancel_them_on_their_way) {
    ASSERT_TRUE(h.post_to(1, doing("hand over", [this] {
                              arm(1, 500);
                              EXPECT_EQ(h.detach_io(1), apiary::detach_result::detached);
                          })));
    run(1);
    auto* const again = h.attach_io();
    ASSERT_EQ(again, h.io()[1]) << "the slot has another life";
    ASSERT_TRUE(h.post_to(again->id(), doing("cancel", [this] {
                              EXPECT_TRUE(timer.cancel());
                              h.request_stop(stop_mode::drain);
                          })));
    run(1);
    run(0);
    EXPECT_EQ(log, (std::vector<std::string>{"hand over", "cancel"}));
    EXPECT_EQ(h.counters().cancelled, 1U);
}

// With several workers most calls come from a thread that does not keep the timer.
TEST_P(hive_of, timers_that_tasks_of_all_workers_put_off_are_never_early_and_run_once) {
    running_hive r({.io_workers = GetParam()});
    struct one {
        apiary::delayed_handle<> timer;
        std::atomic<std::int64_t> due{0};
        std::atomic<int> fired{0};
        int left = 20;
    };
    std::vector<one> all(200);
    std::atomic<int> fired{0}, early{0}, over{0};
    const auto now = [&r] { return r.h.clock().now_ns(); };
    std::function<void(one&)> put_off = [&](one& t) {
        if (t.left-- == 0) {
            ++over;
            return;
        }
        const auto delay = std::chrono::microseconds(100 + t.left * 37 % 300);
        const std::int64_t due = now() + std::chrono::nanoseconds(delay).count();
        const rearm_result how = r.h.rearm(t.timer, delay);
        if (how == rearm_result::rearmed) t.due = due;
        if (how == rearm_result::over) t.left = 0;
        ASSERT_TRUE(r.h.post_micro([&] { put_off(t); }));
    };
    for (one& t : all) {
        t.due = now();
        t.timer = r.h.post_delayed(
            [&] {
                if (now() < t.due) ++early;
                ++t.fired;
                ++fired;
            },
            200us);
        ASSERT_TRUE(r.h.post_micro([&] { put_off(t); }));
    }
    wait_for(over, 200);
    wait_for(fired, 200);
    for (one& t : all) EXPECT_EQ(t.fired, 1);
    EXPECT_EQ(early, 0);
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
