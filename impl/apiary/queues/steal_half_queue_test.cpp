// The steal-half queue from one thread: which side gets which half, overflow, limits, wraps.
#include <apiary/queues/steal_half_queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

namespace steal_half_queue_test {
namespace {

using apiary::steal_half_queue;
using apiary::steal_status;

struct tiny {
    static constexpr unsigned index_bits = 5;
    static constexpr unsigned version_bits = 3;
    static constexpr std::size_t capacity = 8;
};
using tiny_queue = steal_half_queue<int, apiary::real_sync, tiny>;

struct queue : tiny_queue {
    owner mine = own();
    void fill(int from, int n) {
        for (int i = from; i < from + n; ++i) ASSERT_TRUE(mine.try_push(i)) << i;
    }
    std::vector<int> drain() {
        std::vector<int> out;
        for (int v = 0; mine.try_pop(v);) out.push_back(v);
        return out;
    }
};

TEST(steal_half_queue, owner_pops_the_newest_first) {
    queue q;
    q.fill(0, 3);
    EXPECT_EQ(q.drain(), (std::vector{2, 1, 0}));
    int out = 0;
    EXPECT_FALSE(q.mine.try_pop(out));
}

TEST(steal_half_queue, owner_can_take_the_oldest) {
    queue q;
    q.fill(0, 3);
    int out = -1;
    ASSERT_TRUE(q.mine.try_pop_oldest(out));
    EXPECT_EQ(out, 0);
    EXPECT_EQ(q.drain(), (std::vector{2, 1}));
    EXPECT_FALSE(q.mine.try_pop_oldest(out));
}

TEST(steal_half_queue, a_take_at_the_old_end_leaves_no_claim_behind) {
    queue victim, thief;
    victim.fill(0, 4);
    int out = -1;
    ASSERT_TRUE(victim.mine.try_pop_oldest(out));
    const auto got = thief.mine.steal_half(victim.share());
    EXPECT_EQ(got.status, steal_status::taken) << "nobody else is at it";
    EXPECT_EQ(got.value, 1);
    ASSERT_TRUE(victim.mine.try_pop_oldest(out));
    EXPECT_EQ(out, 3) << "nor is a thief any more";
}

TEST(steal_half_queue, a_thief_gets_the_older_half_rounded_up) {
    for (int n = 1; n <= 8; ++n) {
        queue victim, thief;
        victim.fill(0, n);
        const auto got = thief.mine.steal_half(victim.share());
        ASSERT_EQ(got.status, steal_status::taken);
        EXPECT_EQ(got.value, 0);
        EXPECT_EQ(got.moved, static_cast<std::size_t>((n + 1) / 2 - 1));
        EXPECT_EQ(thief.mine.size(), got.moved);
        EXPECT_EQ(victim.mine.size(), static_cast<std::size_t>(n / 2));
        std::vector<int> all = victim.drain(), stolen = thief.drain();
        all.insert(all.end(), stolen.begin(), stolen.end());
        all.push_back(0);
        std::vector<int> expected;
        for (int i = n - 1; i >= 0; --i) expected.push_back(i);
        EXPECT_EQ(all, expected);
    }
}

TEST(steal_half_queue, a_theft_gives_its_whole_claim_back) {
    queue victim, thief;
    victim.fill(0, 8);
    ASSERT_EQ(thief.mine.steal_half(victim.share()).moved, 3U);
    victim.fill(8, 4);
    EXPECT_EQ(victim.mine.size(), 8U) << "the slots of the four that were stolen are free again";
    queue other;
    EXPECT_EQ(other.mine.steal_half(victim.share()).status, steal_status::taken) << "and the next thief is let in";
}

TEST(steal_half_queue, an_empty_victim_gives_nothing) {
    queue victim, thief;
    EXPECT_EQ(thief.mine.steal_half(victim.share()).status, steal_status::empty);
    EXPECT_TRUE(victim.share().looks_empty());
}

TEST(steal_half_queue, a_full_thief_takes_the_one_that_it_will_run) {
    queue victim, thief;
    victim.fill(0, 8);
    thief.fill(100, 8);
    const auto got = thief.mine.steal_half(victim.share());
    ASSERT_EQ(got.status, steal_status::taken);
    EXPECT_EQ(got.value, 0);
    EXPECT_EQ(got.moved, 0U);
    EXPECT_EQ(victim.mine.size(), 7U);
}

TEST(steal_half_queue, a_full_ring_hands_its_older_half_to_the_sink) {
    queue q;
    q.fill(0, 8);
    EXPECT_FALSE(q.mine.try_push(8));
    std::vector<int> sunk;
    q.mine.push(8, [&](std::span<int> older) { sunk.assign(older.begin(), older.end()); });
    EXPECT_EQ(sunk, (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(q.drain(), (std::vector{8, 7, 6, 5, 4}));
}

TEST(steal_half_queue, several_are_pushed_at_once_or_none_and_the_first_is_then_the_newest) {
    queue q;
    q.fill(0, 5);
    EXPECT_FALSE(q.mine.try_push_all(std::array{5, 6, 7, 8}));
    ASSERT_TRUE(q.mine.try_push_all(std::array{7, 6, 5}));
    EXPECT_EQ(q.drain(), (std::vector{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(steal_half_queue, owner_can_take_several_of_the_oldest) {
    queue q;
    q.fill(0, 5);
    std::array<int, 3> out{};
    EXPECT_EQ(q.mine.try_pop_oldest(std::span(out)), 3U);
    EXPECT_EQ(out, (std::array{0, 1, 2}));
    EXPECT_EQ(q.mine.try_pop_oldest(std::span(out)), 2U) << "as many as there are";
    EXPECT_EQ(out, (std::array{3, 4, 2}));
    EXPECT_EQ(q.mine.try_pop_oldest(std::span(out)), 0U);
}

TEST(steal_half_queue, positions_and_versions_wrap_without_harm) {
    queue victim, thief;
    for (int i = 0; i < 200; ++i) {
        victim.fill(i, 2);
        ASSERT_EQ(thief.mine.steal_half(victim.share()).value, i);
        int out = -1;
        ASSERT_TRUE(victim.mine.try_pop(out));
        ASSERT_EQ(out, i + 1);
    }
    EXPECT_TRUE(victim.share().looks_empty());
}

TEST(steal_half_word, packs_three_fields_that_wrap_apart) {
    using word = apiary::steal_half_word<tiny>;
    word w;
    for (int i = 0; i < 100; ++i) {
        const word claimed = w.without(5, 3);
        EXPECT_EQ(claimed.claimed(), 3U);
        EXPECT_EQ(claimed.real(), (w.real() + 5) % 32);
        EXPECT_EQ(claimed.steal(), (w.real() + 2) % 32);
        const word released{claimed.value - 3 * word::one_claimed + word::one_version};
        EXPECT_EQ(released.claimed(), 0U);
        EXPECT_EQ(released.real(), claimed.real());
        w = released;
    }
}

TEST(steal_half_queue_death, there_is_one_owner) {
    steal_half_queue<int> q;
    const auto owner = q.own();
    (void)owner;
    EXPECT_DEATH((void)q.own(), "own\\(\\) called twice");
}

}  // namespace
}  // namespace steal_half_queue_test
