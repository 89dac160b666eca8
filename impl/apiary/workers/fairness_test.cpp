// Fairness, case by case: how many own tasks run before the others' turn, and when the deque's old end passes.
#include <apiary/workers/fairness.hpp>

#include <gtest/gtest.h>

namespace fairness_test {
namespace {

using apiary::fairness;
using apiary::worker_parameters;

TEST(fairness, an_interval_is_so_many_own_tasks_and_a_pause_does_not_lengthen_it) {
    const worker_parameters p{.global_probe_interval = 5, .probe_ns = 1000, .first_looks = 5};
    fairness f(p);
    EXPECT_EQ(f.left(), 5U);
    EXPECT_TRUE(f.is_over()) << "no look before the end";
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
        EXPECT_EQ(f.pool_goes_on(500 + c.took_ns + 999), c.interval < 10) << c.took_ns;
        EXPECT_FALSE(f.pool_goes_on(500 + c.took_ns + 1000)) << "it has had probe_ns";
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
    fairness first(p);
    EXPECT_EQ(first.go_on(500), 4U);
    first.end_interval(500);
    EXPECT_EQ(first.left(), 4U) << "four fit into a nanosecond";
    EXPECT_TRUE(first.is_over()) << "the next interval is these four";
}

TEST(fairness, an_interval_of_long_tasks_begins_with_its_first_task) {
    const worker_parameters p{.global_probe_interval = 10, .probe_ns = 1000};
    fairness f(p);
    f.end_interval(0);
    f.end_interval(2500);
    ASSERT_EQ(f.left(), 4U);
    f.begin_interval(9000);
    f.pause(2);
    f.begin_interval(9500);  // two tasks are left of it: it has begun
    f.end_interval(10'000);
    EXPECT_EQ(f.left(), 4U) << "four in 1000 ns";
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

TEST(fairness, the_first_interval_goes_on_behind_two_looks_at_the_clock_while_tasks_are_short) {
    const worker_parameters p{.global_probe_interval = 10, .probe_ns = 1000, .first_looks = 3};
    fairness f(p);
    EXPECT_EQ(f.left(), 3U);
    ASSERT_FALSE(f.is_over());
    EXPECT_EQ(f.go_on(500), 3U);
    EXPECT_EQ(f.left(), 3U);
    ASSERT_FALSE(f.is_over());
    EXPECT_EQ(f.go_on(1500), 4U) << "three have taken probe_ns, and no longer";
    EXPECT_EQ(f.left(), 4U);
    ASSERT_TRUE(f.is_over());
    f.end_interval(2250);
    EXPECT_EQ(f.left(), 4U) << "seven, from the first look on, took 1750";
    EXPECT_TRUE(f.is_over()) << "the next has no such looks";
}

TEST(fairness, the_first_interval_ends_behind_the_second_look_where_tasks_are_long) {
    const worker_parameters p{.global_probe_interval = 10, .probe_ns = 1000, .first_looks = 3};
    fairness f(p);
    for (int i = 0; i != 2; ++i) {
        EXPECT_EQ(f.left(), 3U);
        EXPECT_EQ(f.go_on(500), 3U) << "how long these took is not known";
        EXPECT_EQ(f.go_on(1501), 0U);
        f.end_interval(1501);
        EXPECT_EQ(f.left(), 2U);
        EXPECT_TRUE(f.tasks_are_long());
        f.ran_dry();
    }
}

TEST(fairness, an_interval_that_ends_with_a_look_is_no_longer_for_it) {
    const worker_parameters p{.global_probe_interval = 4, .probe_ns = 1000, .first_looks = 3};
    fairness f(p);
    EXPECT_EQ(f.go_on(500), 1U);
    ASSERT_TRUE(f.is_over());
    f.end_interval(1500);
    EXPECT_EQ(f.left(), 1U) << "one task took probe_ns";
    EXPECT_TRUE(f.is_over());
}

TEST(fairness, a_batch_of_the_pool_comes_before_the_first_look_and_lengthens_no_interval) {
    const worker_parameters p{.global_probe_interval = 10, .probe_ns = 1000, .first_looks = 3};
    fairness f(p);
    f.took_a_batch(2);
    EXPECT_EQ(f.left(), 5U);
    EXPECT_EQ(f.go_on(500), 3U);
    f.took_a_batch(2);
    EXPECT_EQ(f.left(), 3U) << "the time of some is known";
    EXPECT_EQ(f.go_on(600), 2U);
    f.ran_dry();
    f.took_a_batch(20);
    EXPECT_EQ(f.left(), 10U);
    EXPECT_TRUE(f.is_over());
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
}  // namespace fairness_test
