// The deque from one thread: order, growth, limits, and the edges that need no second thread.
#include <apiary/queues/chase_lev_deque.hpp>

#include <gtest/gtest.h>

#include <array>

namespace chase_lev_deque_test {
namespace {

using apiary::chase_lev_deque;
using apiary::steal_status;

struct tiny : apiary::deque_limits {
    static constexpr unsigned index_bits = 5;
    static constexpr std::size_t initial_capacity = 2;
    static constexpr std::size_t max_capacity = 8;
};
using tiny_deque = chase_lev_deque<int, apiary::real_sync, tiny>;

TEST(chase_lev_deque, owner_pops_the_newest_first) {
    chase_lev_deque<int> d;
    auto owner = d.own();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(owner.try_push(i));
    int out = -1;
    for (int i = 2; i >= 0; --i) {
        ASSERT_TRUE(owner.try_pop(out));
        EXPECT_EQ(out, i);
    }
    EXPECT_FALSE(owner.try_pop(out));
}

TEST(chase_lev_deque, thief_steals_the_oldest_first) {
    chase_lev_deque<int> d;
    auto owner = d.own();
    const auto thief = d.share();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(owner.try_push(i));
    for (int i = 0; i < 3; ++i) {
        const auto got = thief.steal();
        ASSERT_EQ(got.status, steal_status::taken);
        EXPECT_EQ(got.value, i);
    }
    EXPECT_EQ(thief.steal().status, steal_status::empty);
}

TEST(chase_lev_deque, counts_what_is_inside) {
    chase_lev_deque<int> d;
    auto owner = d.own();
    int out = 0;
    for (std::size_t n = 0; n < 3; ++n) {
        EXPECT_EQ(owner.size(), n);
        EXPECT_EQ(d.share().looks_empty(), n == 0);
        ASSERT_TRUE(owner.try_push(1));
    }
    for (std::size_t n = 3; n > 0; --n) {
        EXPECT_EQ(owner.size(), n);
        ASSERT_TRUE(owner.try_pop(out));
    }
    EXPECT_EQ(owner.size(), 0U);
    EXPECT_TRUE(d.share().looks_empty());
}

TEST(chase_lev_deque, a_virgin_deque_is_empty_for_both) {
    chase_lev_deque<int> d;
    auto owner = d.own();
    int out = 0;
    EXPECT_FALSE(owner.try_pop(out));
    EXPECT_FALSE(owner.try_pop(out));
    EXPECT_EQ(d.share().steal().status, steal_status::empty);
    ASSERT_TRUE(owner.try_push(7));
    EXPECT_EQ(d.share().steal().value, 7);
}

TEST(chase_lev_deque, grows_up_to_its_limit_and_then_refuses) {
    tiny_deque d;
    auto owner = d.own();
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(owner.try_push(i)) << i;
    EXPECT_FALSE(owner.try_push(8));
    EXPECT_EQ(owner.size(), 8U);
    EXPECT_EQ(d.share().steal().value, 0);
    EXPECT_TRUE(owner.try_push(8));
    int out = -1;
    for (int i = 8; i >= 1; --i) {
        ASSERT_TRUE(owner.try_pop(out));
        EXPECT_EQ(out, i);
    }
}

TEST(chase_lev_deque, many_pushed_at_once_grow_it_and_the_first_is_the_newest) {
    tiny_deque d;  // 2 slots
    auto owner = d.own();
    ASSERT_TRUE(owner.try_push(0));
    ASSERT_TRUE(owner.try_push_all(std::array{6, 5, 4, 3, 2, 1}));
    EXPECT_FALSE(owner.try_push_all(std::array{8, 7})) << "7 of 8";
    EXPECT_EQ(owner.size(), 7U) << "all or none";
    EXPECT_EQ(d.share().steal().value, 0);
    int out = -1;
    for (int i = 6; i >= 1; --i) {
        ASSERT_TRUE(owner.try_pop(out));
        EXPECT_EQ(out, i);
    }
}

TEST(chase_lev_deque, positions_wrap_without_harm) {
    tiny_deque d;  // 5 bits: 32 positions
    auto owner = d.own();
    const auto thief = d.share();
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(owner.try_push(i));
        ASSERT_TRUE(owner.try_push(1000 + i));
        EXPECT_EQ(thief.steal().value, i);
        int out = -1;
        ASSERT_TRUE(owner.try_pop(out));
        EXPECT_EQ(out, 1000 + i);
    }
    EXPECT_TRUE(thief.looks_empty());
}

TEST(chase_lev_deque, elements_left_inside_are_dropped_with_it) {
    tiny_deque d;
    auto owner = d.own();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(owner.try_push(i));
}

TEST(chase_lev_deque_death, there_is_one_owner) {
    chase_lev_deque<int> d;
    const auto owner = d.own();
    (void)owner;
    EXPECT_DEATH((void)d.own(), "own\\(\\) called twice");
}

}  // namespace
}  // namespace chase_lev_deque_test
