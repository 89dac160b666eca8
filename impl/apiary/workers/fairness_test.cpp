// Fairness, case by case: how many own tasks run before the others' turn, and when the deque's old end passes.
#include <apiary/workers/fairness.hpp>

#include <gtest/gtest.h>

namespace {

using apiary::fairness;
using apiary::worker_parameters;

TEST(fairness, an_interval_is_so_many_own_tasks_and_a_pause_does_not_lengthen_it) {
    const worker_parameters p{.global_probe_interval = 5, .probe_ns = 1000};
    fairness f(p);
    EXPECT_EQ(f.left(), 5U);
    f.pause(2);
    EXPECT_EQ(f.left(), 2U);
    f.end_interval(100);
    EXPECT_EQ(f.left(), 5U) << "the first one: nobody knows yet how long tasks are";
    f.pause(1);
    f.ran_dry();
    EXPECT_EQ(f.left(), 5U);
}

TEST(fairness, long_tasks_shorten_the_interval_to_what_fits) {
    const worker_parameters p{.global_probe_interval = 10, .probe_ns = 1000};
    struct {
        std::int64_t took_ns;
        std::size_t interval;
    } const cases[] = {{0, 10}, {1000, 10}, {1001, 9}, {2000, 5}, {10'000, 1}, {1'000'000, 1}};
    for (const auto& c : cases) {
        fairness f(p);
        f.end_interval(500);
        f.end_interval(500 + c.took_ns);
        EXPECT_EQ(f.left(), c.interval) << c.took_ns;
        EXPECT_EQ(f.tasks_are_long(), c.interval < 10) << c.took_ns;
        EXPECT_EQ(f.oldest_first(), c.interval == 1) << c.took_ns;
        f.ran_dry();
        EXPECT_FALSE(f.tasks_are_long()) << "forgotten when nothing is left";
    }
}

TEST(fairness, an_interval_that_took_no_time_counts_as_one_nanosecond) {
    const worker_parameters p{.global_probe_interval = 10, .probe_ns = 1};
    fairness f(p);
    f.end_interval(500);
    f.end_interval(500);
    EXPECT_EQ(f.left(), 10U);
}

TEST(fairness, an_interval_grows_again_when_its_tasks_are_short) {
    const worker_parameters p{.global_probe_interval = 10, .probe_ns = 1000};
    fairness f(p);
    f.end_interval(0);
    f.end_interval(10'000);
    ASSERT_EQ(f.left(), 1U);
    f.end_interval(10'250);
    EXPECT_EQ(f.left(), 4U);
    f.end_interval(10'650);
    EXPECT_EQ(f.left(), 10U);
}

TEST(fairness, a_deque_of_one_task_an_interval_is_a_queue_only_when_tasks_are_long) {
    const worker_parameters p{.global_probe_interval = 1};
    fairness f(p);
    EXPECT_FALSE(f.oldest_first());
}

TEST(fairness, the_old_end_of_a_long_deque_has_its_turn_once_in_so_many) {
    const worker_parameters p{.short_deque = 8, .long_deque_probes = 3};
    fairness f(p);
    for (int i = 0; i != 5; ++i) EXPECT_FALSE(f.passes_over_the_old_end(8)) << "short";
    for (int i = 1; i <= 9; ++i) EXPECT_EQ(f.passes_over_the_old_end(9), i % 3 != 0) << i;
}

}  // namespace
