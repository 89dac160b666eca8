// The account of spins, and when a worker wants one, case by case.
#include <apiary/workers/idle_spin.hpp>

#include <gtest/gtest.h>

#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace idle_spin_test {
namespace {

using apiary::idle_loan;
using apiary::idle_spin;
using apiary::worker_parameters;
using account = apiary::idle_account<apiary::real_sync>;

worker_parameters at(double share, std::int64_t spin_ns = 1000) { return {.idle_cpu = share, .spin_ns = spin_ns}; }
// The time saved at that moment; the loan is given back at once.
std::int64_t saved(account& a, std::int64_t now_ns) {
    const idle_loan l = a.lend(now_ns, 0);
    if (l.most_ns != 0) a.give_back(l, now_ns);
    return l.most_ns;
}

TEST(idle_account, accrues_with_time_at_its_share_and_saves_one_spin_at_most) {
    account a(at(0.25));
    EXPECT_EQ(saved(a, 0), 1000) << "full at first";
    a.give_back(a.lend(0, 1), 1000);
    EXPECT_EQ(saved(a, 1000), 250) << "it accrues during a spin, too";
    EXPECT_EQ(saved(a, 2000), 500);
    EXPECT_EQ(saved(a, 4000), 1000);
    EXPECT_EQ(saved(a, 1'000'000'000), 1000);
}

TEST(idle_account, lends_to_one_at_a_time_and_no_less_than_is_wanted) {
    account a(at(1));
    EXPECT_EQ(a.lend(0, 1001).most_ns, 0);
    const idle_loan l = a.lend(0, 1000);
    EXPECT_EQ(l.most_ns, 1000);
    EXPECT_EQ(a.lend(0, 1).most_ns, 0);
    a.give_back(l, 10);
    EXPECT_EQ(a.lend(10, 1).most_ns, 1000) << "a whole processor is paid for as it is spent";
}

TEST(idle_account, lends_a_single_nanosecond_and_nothing_less) {
    account a(at(0.5, 1));
    const idle_loan l = a.lend(0, 1);
    EXPECT_EQ(l.most_ns, 1);
    a.give_back(l, 1);
    EXPECT_EQ(a.lend(1, 0).most_ns, 0) << "half of one is saved";
    EXPECT_EQ(a.lend(2, 0).most_ns, 1);
}

TEST(idle_account, a_spin_beyond_its_loan_is_worked_off_first) {
    account a(at(0.5));
    a.give_back(a.lend(0, 1), 5000);  // the processor was away
    EXPECT_EQ(saved(a, 5000), 0);
    EXPECT_EQ(saved(a, 8000), 0);
    EXPECT_EQ(saved(a, 8200), 100);
    account b(at(0.5));
    b.give_back(b.lend(1000, 1), 900);  // a clock that goes back
    EXPECT_EQ(saved(b, 1000), 1000);
}

// For every share and length of a spin: no more is spent than has accrued, plus the first spin.
TEST(idle_account, never_spends_more_than_the_share_and_one_spin) {
    for (const double share : {1e-300, 1e-9, 0.01, 0.3, 0.999, 1.0}) {
        account a(at(share));
        std::int64_t now = 0, spent = 0;
        for (int i = 0; i != 10'000; ++i) {
            const idle_loan l = a.lend(now, 1 + i % 300);
            const std::int64_t takes = l.most_ns == 0 ? 0 : 1 + (i * 37) % l.most_ns;
            now += takes;
            spent += takes;
            if (l.most_ns != 0) a.give_back(l, now);
            ASSERT_LE(static_cast<double>(spent), share * static_cast<double>(now) + 1001) << share << ", " << i;
            now += (i * 101) % 700;
        }
        EXPECT_GE(static_cast<double>(spent), share < 0.01 ? 1 : 0.2 * share * static_cast<double>(now)) << share;
    }
}

struct worker {
    explicit worker(double share = 1) : p(at(share)) {}
    // An idle spell of that length, then a task. Returns what the worker wanted for a spin.
    std::int64_t spell(std::int64_t lasts_ns) {
        const std::int64_t least = spin.wants(now, ran);
        spin.idle_until(now += lasts_ns);
        ++ran;
        return least;
    }
    worker_parameters p;
    idle_spin spin{p};
    std::int64_t now = 5;
    std::uint64_t ran = 0;
};

TEST(idle_spin, wants_twice_the_length_of_the_spells_that_it_saw) {
    worker w;
    EXPECT_EQ(w.spell(400), 1) << "the first is tried";
    EXPECT_EQ(w.spell(400), 200);
    for (int i = 0; i != 40; ++i) w.spell(400);
    EXPECT_NEAR(static_cast<double>(w.spell(400)), 800, 10);
    for (int i = 0; i != 40; ++i) w.spell(100);
    EXPECT_NEAR(static_cast<double>(w.spell(100)), 200, 10);
}

TEST(idle_spin, wants_none_where_posts_come_seldom_and_some_again_soon_after_they_are_dense) {
    worker w;
    for (int i = 0; i != 10; ++i) w.spell(1'000'000'000);
    EXPECT_EQ(w.spell(10), 0);
    int before = 0;
    while (w.spell(10) == 0) ++before;
    EXPECT_LE(before, 5);
}

TEST(idle_spin, learns_from_a_pause_as_from_a_spell_of_two_spins) {
    worker w;
    (void)w.spell(1'000'000'000);
    EXPECT_EQ(w.spell(10), 1000);
}

TEST(idle_spin, is_wanted_once_in_a_spell) {
    worker w;
    EXPECT_EQ(w.spin.wants(0, 0), 1);
    EXPECT_FALSE(w.spin.begin({}));
    EXPECT_TRUE(w.spin.begin({.most_ns = 10, .began_ns = 0}));
    EXPECT_TRUE(w.spin.spins());
    w.spin.idle_until(9);
    EXPECT_FALSE(w.spin.over());
    w.spin.idle_until(10);
    EXPECT_TRUE(w.spin.over());
    account a(w.p);
    w.spin.end(a);
    EXPECT_FALSE(w.spin.spins());
    EXPECT_EQ(w.spin.wants(20, 0), 0);
    EXPECT_NE(w.spin.wants(30, 1), 0);
}

}  // namespace
}  // namespace idle_spin_test
