// Slips in a turn that scripts/apiary mutate --logic found alive: how many tasks of a kind run, in which order, and
// when the worker looks at the clock. One worker at a time (stepped_hive.hpp).
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <apiary/testing/stepped_hive.hpp>

namespace hive_turns_test {
namespace {

using apiary::hive_parameters;
using apiary::real_sync;
using apiary::scripted_driver;
using apiary::stop_mode;
using words = std::vector<std::string>;

class one_turn : public testing::Test, public apiary::still_script {};

TEST_F(one_turn, an_interval_that_a_call_cuts_short_goes_on_in_the_next_turn) {
    core_type h(2, 0, {.global_probe_interval = 4});
    auto& worker = *h.io()[0];
    std::function<void(int)> post = [&](int n) {
        ASSERT_TRUE(worker.post_local(doing("own", [&, n] {
            ASSERT_TRUE(h.post_to(0, noting("call")));
            if (n == 8) return h.request_stop(stop_mode::drain);
            post(n + 1);
        })));
    };
    ASSERT_TRUE(worker.post_local(noting("old")));
    post(1);
    worker.run();
    ASSERT_GE(log.size(), 8U);
    log.resize(8);
    EXPECT_EQ(log, (words{"own", "call", "own", "call", "own", "call", "own", "old"}));
}

TEST_F(one_turn, the_time_without_own_tasks_makes_none_of_them_long) {
    core_type h(2, 0, {.global_probe_interval = 4, .probe_ns = 1000});
    auto& worker = *h.io()[0];
    const auto turn_of = [&](std::initializer_list<const char*> names) {
        for (const char* name : names) ASSERT_TRUE(worker.post_local(noting(name)));
        ASSERT_TRUE(worker.turn_once());
    };
    turn_of({"1", "2", "3", "4"});
    EXPECT_FALSE(worker.turn_once());
    h.clock().set(1'000'000'000);
    turn_of({"5", "6", "7", "8"});
    log.clear();
    turn_of({"9", "10", "11"});
    EXPECT_EQ(log, (words{"11", "10", "9"})) << "long ones would run like a queue";
}

// Time passes between any two looks.
struct stepping_clock : apiary::manual_clock<> {
    std::int64_t now_ns() const { return now_ += 10; }
    mutable std::int64_t now_ = 0;
};
struct parts_with_a_stepping_clock : apiary::still_parts {
    using clock = stepping_clock;
};

TEST_F(one_turn, a_worker_that_watches_no_clock_sleeps_for_a_timer_that_is_nearly_due) {
    core_on<parts_with_a_stepping_clock> h(1, 0, {.looks_before_sleep = 0});
    task_type* stop = doing("timer", [&] { h.request_stop(stop_mode::drain); });
    stop->deadline_ns = 20;  // one look after the turn's
    ASSERT_TRUE(h.io()[0]->sources().post_delayed(stop));
    h.io()[0]->run();
    EXPECT_EQ(h.io()[0]->counters().parked, 1U);
}

TEST_F(one_turn, a_worker_watches_the_clock_for_the_last_of_the_time_alone_and_up_to_the_deadline) {
    const auto run_to = [&](std::int64_t deadline_ns, std::int64_t spin_ns) {
        core_on<parts_with_a_stepping_clock> h(1, 0, {.looks_before_sleep = 0, .timer_spin_ns = spin_ns});
        task_type* stop = doing("timer", [&] { h.request_stop(stop_mode::drain); });
        stop->deadline_ns = deadline_ns;
        EXPECT_TRUE(h.io()[0]->sources().post_delayed(stop));
        h.io()[0]->run();
        return h.io()[0]->counters();
    };
    EXPECT_GE(run_to(1000, 100).parked, 1U) << "there was time to sleep";
    const auto near = run_to(40, 1000);
    EXPECT_EQ(near.parked, 0U);
    EXPECT_EQ(near.timer_lateness_ns, 10U) << "one look behind the one that ended the watch";
}

// However long it would watch: here the end of the clock is near, and is no timer's.
TEST_F(one_turn, a_worker_without_a_timer_watches_no_clock) {
    core_on<parts_with_a_stepping_clock> h(1, 0, {.timer_spin_ns = 1000});
    h.clock().now_ = INT64_MAX - 100;
    h.io()[0]->sleep_once();
    EXPECT_EQ(h.io()[0]->counters().parked, 1U);
}

TEST_F(one_turn, long_tasks_run_one_a_turn_also_when_the_old_end_is_passed_over) {
    for (const std::size_t short_deque : {64U, 1U}) {
        core_type h(2, 0,
                    {.global_probe_interval = 2, .probe_ns = 1000, .short_deque = short_deque, .long_deque_probes = 3});
        auto& worker = *h.io()[0];
        for (int i = 0; i < 12; ++i)
            ASSERT_TRUE(worker.post_local(doing("long", [&] { h.clock().advance(1'000'000); })));
        ASSERT_TRUE(worker.turn_once());
        ASSERT_TRUE(worker.turn_once());
        log.clear();
        for (std::size_t turns = 1; turns <= 3; ++turns) {
            EXPECT_TRUE(worker.turn_once());
            EXPECT_EQ(log.size(), turns) << short_deque;
        }
        h.request_stop(stop_mode::drain);
        worker.run();
    }
}

TEST_F(one_turn, a_batch_of_the_pool_runs_in_the_order_of_its_posts_however_long_its_tasks_are) {
    constexpr std::size_t batch = hive_parameters{}.global_batch;
    core_type h(1, 0, {});
    words posted;
    for (std::size_t i = 0; i != batch; ++i) {
        posted.push_back(std::to_string(i));
        ASSERT_TRUE(h.post(doing(posted.back(), [&, last = i + 1 == batch] {
            h.clock().advance(1'000'000);
            if (last) h.request_stop(stop_mode::drain);
        })));
    }
    h.io()[0]->run();
    EXPECT_EQ(log, posted);
}

TEST_F(one_turn, own_tasks_that_end_where_the_worker_looks_at_the_clock_were_work) {
    for (const std::size_t looks : {1U, 2U}) {
        core_type h(2, 0, {});
        auto& worker = *h.io()[0];
        for (std::size_t n = looks * hive_parameters{}.first_looks; n != 0; --n)
            ASSERT_TRUE(worker.post_local(noting("own")));
        EXPECT_TRUE(worker.turn_once()) << looks;
        EXPECT_FALSE(worker.turn_once()) << "none is left";
    }
}

TEST_F(one_turn, a_timer_that_is_not_due_interrupts_no_turn) {
    core_type h(1, 0, {});
    auto& worker = *h.io()[0];
    ASSERT_TRUE(worker.sources().post_delayed(noting("late", 5000)));
    for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(worker.post_local(noting(name)));
    EXPECT_TRUE(worker.turn_once());
    EXPECT_EQ(log, (words{"c", "b", "a"}));
}

TEST_F(one_turn, as_many_timers_run_before_the_private_queue_as_the_budget_says) {
    core_type h(1, 0, {.local_budget = 1});
    auto& worker = *h.io()[0];
    h.clock().set(1000);
    for (const char* name : {"first", "second"}) ASSERT_TRUE(worker.sources().post_delayed(noting(name, 1000)));
    ASSERT_TRUE(worker.sources().post(noting("private")));
    EXPECT_TRUE(worker.turn_once());
    EXPECT_TRUE(worker.turn_once());
    EXPECT_EQ(log, (words{"first", "private", "second"}));
}

}  // namespace
}  // namespace hive_turns_test
