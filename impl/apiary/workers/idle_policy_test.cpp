// The idle policy's rules, case by case: what the worker saw, and what it does next.
#include <apiary/workers/idle_policy.hpp>

#include <gtest/gtest.h>

#include <climits>
#include <cstdint>

namespace idle_policy_test {
namespace {

using apiary::idle_policy;
using apiary::idle_word;
using apiary::worker_parameters;

constexpr auto yes = [] { return true; };
constexpr auto no = [] { return false; };

// A worker that has slept after its first 10 tasks.
struct worker {
    explicit worker(worker_parameters parameters) : p(parameters) { policy.slept(ran = 10); }
    // A turn has run this many tasks, and the next found nothing: does the worker look again?
    bool looks(std::uint64_t tasks, bool others_sleep, bool displaced) {
        if (tasks != 0) policy.worked();
        ran += tasks;
        return policy.look_again(ran, [=] { return others_sleep; }, [=] { return displaced; });
    }
    bool looks_after_a_timed_yield(std::int64_t took_ns, std::uint64_t brought) {
        policy.yielded(took_ns, ran);
        return looks(brought, false, false);
    }
    worker_parameters p;
    idle_policy policy{p};
    std::uint64_t ran = 0;
};

TEST(idle_policy, a_worker_looks_again_unless_it_was_woken_for_one_task_while_all_others_sleep) {
    struct {
        std::uint64_t tasks;
        bool others_sleep, displaced, looks;
    } const cases[] = {
        {0, true, false, false}, {1, true, false, false}, {2, true, false, true}, {0, false, false, true},
        {1, false, false, true}, {0, true, true, true},   {1, true, true, true},
    };
    for (const auto& c : cases) {
        worker w({});
        EXPECT_EQ(w.looks(c.tasks, c.others_sleep, c.displaced), c.looks)
            << c.tasks << " tasks, others sleep " << c.others_sleep << ", displaced " << c.displaced;
    }
}

TEST(idle_policy, the_two_rules_of_single_tasks_have_a_switch_each) {
    const worker_parameters always{.sleeps_after_one = false}, never{.lets_poster_go_on = false};
    EXPECT_TRUE(worker(always).looks(1, true, false));
    EXPECT_FALSE(worker(never).looks(1, true, true));
    EXPECT_TRUE(worker(never).looks(2, true, true));
}

TEST(idle_policy, it_looks_so_many_times_and_then_sleeps) {
    for (const unsigned most : {0U, 1U, 3U}) {
        worker w({.looks_before_sleep = most});
        for (unsigned i = 0; i != most; ++i) EXPECT_TRUE(w.looks(0, false, true)) << most;
        EXPECT_FALSE(w.looks(0, false, true)) << most;
    }
    worker w({.looks_before_sleep = 1});
    EXPECT_TRUE(w.looks(0, false, false));
    EXPECT_TRUE(w.looks(1, false, false)) << "a turn that found work begins anew";
    EXPECT_FALSE(w.looks(0, false, false));
    EXPECT_TRUE(w.looks(0, false, false)) << "so does a sleep";
}

TEST(idle_policy, what_it_ran_before_its_last_sleep_does_not_count) {
    worker w({.looks_before_sleep = 9});
    EXPECT_TRUE(w.looks(2, true, false));
    w.policy.slept(w.ran);
    EXPECT_FALSE(w.looks(1, true, false));
    EXPECT_TRUE(w.looks(1, true, false));
}

TEST(idle_policy, after_a_long_yield_that_brought_little_so_many_sleeps_come_without_a_look) {
    const worker_parameters p{
        .looks_before_sleep = 100, .long_yield_ns = 1000, .yield_pays_ns = 100, .sleeps_after_long_yield = 3};
    struct {
        std::int64_t took_ns;
        std::uint64_t brought;
        bool contended;
    } const cases[] = {
        {1000, 0, false},  {1001, 0, true},       {1001, 9, true},
        {1001, 10, false}, {500'000, 4999, true}, {500'000, 5000, false},
    };
    for (const auto& c : cases) {
        worker w(p);
        EXPECT_EQ(w.looks_after_a_timed_yield(c.took_ns, c.brought), !c.contended) << c.took_ns << ", " << c.brought;
        if (!c.contended) continue;
        EXPECT_FALSE(w.looks(5, false, true));
        EXPECT_FALSE(w.looks(5, false, true));
        EXPECT_TRUE(w.looks(5, false, true)) << "three sleeps";
    }
    worker_parameters off = p;
    off.sleeps_after_long_yield = 0;
    EXPECT_TRUE(worker(off).looks_after_a_timed_yield(500'000, 0));
}

TEST(idle_policy, one_long_yield_costs_few_sleeps_and_each_further_one_eight_times_as_many) {
    worker w({.looks_before_sleep = 100, .long_yield_ns = 1000, .sleeps_after_long_yield = 1000});
    const auto sleeps_after = [&](std::int64_t took_ns) {
        unsigned sleeps = 0;
        for (bool looks = w.looks_after_a_timed_yield(took_ns, 0); !looks; looks = w.looks(5, false, true)) ++sleeps;
        return sleeps;
    };
    for (const unsigned expected : {16U, 128U, 1000U, 1000U}) EXPECT_EQ(sleeps_after(1'000'000), expected);
    EXPECT_EQ(sleeps_after(1000), 0U) << "one that is not long takes a step back";
    EXPECT_EQ(sleeps_after(1'000'000), 125U);
    for (int i = 0; i != 3; ++i) EXPECT_EQ(sleeps_after(1000), 0U);
    EXPECT_EQ(sleeps_after(1'000'000), 16U);
}

TEST(idle_policy, a_worker_without_work_leaves_the_looking_to_enough_searchers_among_several_awake_ones) {
    static constexpr worker_parameters three{.workers_per_searcher = 3, .few_awake = 4};
    static constexpr worker_parameters none{.workers_per_searcher = 0, .few_awake = 0};
    static constexpr worker_parameters any{.workers_per_searcher = UINT_MAX, .few_awake = 0};
    const idle_policy policy{three}, off{none}, always{any};
    const auto leaves = [&policy](unsigned others, unsigned asleep, unsigned members) {
        return policy.leaves_it_to(others, idle_word{(std::uint64_t{1} << asleep) - 1}, members);
    };
    EXPECT_FALSE(leaves(0, 0, 20)) << "nobody looks";
    EXPECT_FALSE(leaves(0, 15, 20));
    // itself, one that searches, and three that run
    EXPECT_TRUE(leaves(1, 15, 20));
    EXPECT_FALSE(leaves(1, 14, 20)) << "four run";
    EXPECT_TRUE(leaves(2, 11, 20)) << "six run, two search";
    EXPECT_FALSE(leaves(2, 10, 20));
    EXPECT_TRUE(leaves(1, 0, 5));
    EXPECT_FALSE(leaves(1, 1, 5)) << "few are awake";
    EXPECT_FALSE(leaves(3, 0, 4));
    EXPECT_FALSE(off.leaves_it_to(1, {}, 2));
    EXPECT_TRUE(always.leaves_it_to(1, {}, 2));
    EXPECT_FALSE(policy.leaves_it_to(1, idle_word{0xff}, 5)) << "the number of workers is older than the word";
}

TEST(idle_policy, a_worker_that_looks_again_counts_where_several_are_awake_and_its_kind_says_so) {
    const worker_parameters off{.few_awake = 4}, on{.few_awake = 4, .lookers_count = true};
    const idle_policy policy{on};
    EXPECT_TRUE(policy.counts_as_searcher({}, 5));
    EXPECT_FALSE(policy.counts_as_searcher({}, 4)) << "few are awake";
    EXPECT_FALSE(policy.counts_as_searcher(idle_word{1}, 5)) << "one of five sleeps";
    EXPECT_FALSE(idle_policy{off}.counts_as_searcher({}, 5));
    const worker_parameters nobody_leaves{.workers_per_searcher = 0, .few_awake = 4, .lookers_count = true};
    EXPECT_FALSE(idle_policy{nobody_leaves}.counts_as_searcher({}, 5));
}

TEST(idle_policy, a_yield_is_judged_once) {
    worker w({.looks_before_sleep = 100, .sleeps_after_long_yield = 1});
    EXPECT_FALSE(w.looks_after_a_timed_yield(INT64_MAX, 0));
    EXPECT_TRUE(w.looks(0, false, false));
}

TEST(idle_policy, every_eighth_yield_is_timed) {
    idle_policy policy{worker_parameters{}};
    for (int i = 1; i <= 24; ++i) EXPECT_EQ(policy.times_this_yield(), i % 8 == 0) << i;
}

TEST(idle_policy, the_first_yield_after_sleeps_without_one_is_timed) {
    worker w({.looks_before_sleep = 100, .sleeps_after_long_yield = 1});
    EXPECT_FALSE(w.looks_after_a_timed_yield(INT64_MAX, 0));
    EXPECT_TRUE(w.policy.times_this_yield());
    for (int i = 1; i <= 8; ++i) EXPECT_EQ(w.policy.times_this_yield(), i == 8) << i;
}

TEST(idle_policy, a_worker_that_was_woken_in_vain_naps_so_many_times_beside_one_that_is_awake) {
    const worker_parameters p{.naps = 2};
    idle_policy policy(p);
    EXPECT_FALSE(policy.naps(false, false, no)) << "it went on by itself";
    EXPECT_TRUE(policy.naps(true, true, no));
    EXPECT_TRUE(policy.naps(false, true, no)) << "after a nap it searches";
    EXPECT_FALSE(policy.naps(false, true, no)) << "two naps";
    EXPECT_TRUE(policy.naps(true, true, no)) << "woken in vain once more";
    EXPECT_FALSE(policy.naps(false, false, no)) << "it has found work";
    EXPECT_FALSE(policy.naps(true, true, yes)) << "nobody is awake";
    EXPECT_FALSE(policy.naps(false, true, no)) << "and that holds until the next wake";
    EXPECT_FALSE(idle_policy(worker_parameters{.naps = 0}).naps(true, true, no));
    const worker_parameters once{.naps = 1};
    EXPECT_FALSE(idle_policy(once).naps(true, true, yes)) << "not even the last";
}

}  // namespace
}  // namespace idle_policy_test
