#include <apiary/schedulers/task_graph/output_ring.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>

namespace output_ring_test {
namespace {

using apiary::output_ring;

TEST(output_ring, rounds_blocks_and_its_own_size_up) {
    output_ring ring(100);
    EXPECT_EQ(ring.size(), 112U);
    EXPECT_EQ(ring.take(1), 0U);
    EXPECT_EQ(ring.take(17), 16U);
    EXPECT_EQ(ring.in_use(), 48U);
}

TEST(output_ring, a_block_that_does_not_fit_behind_the_last_one_begins_at_the_start) {
    output_ring ring(96);
    EXPECT_EQ(ring.take(64), 0U);
    EXPECT_FALSE(ring.has_room(48)) << "32 are left at the end, and none at the start";
    EXPECT_TRUE(ring.has_room(32));
    const auto second = ring.take(16);
    EXPECT_EQ(ring.offset(second), 64U);
    const auto end_of_first = std::uint64_t{64};
    ring.reclaim(end_of_first);
    ASSERT_TRUE(ring.has_room(48));
    EXPECT_FALSE(ring.has_room(80)) << "the second block still lies at 64";
    const auto third = ring.take(48);
    EXPECT_EQ(ring.offset(third), 0U);
    EXPECT_EQ(ring.in_use(), 16U + 16 + 48) << "the rest of the ring's end lies idle with the block";
}

TEST(output_ring, an_empty_one_takes_a_block_of_its_whole_size_wherever_it_stands) {
    output_ring ring(96);
    (void)ring.take(80);
    ring.reclaim(ring.end());
    ASSERT_TRUE(ring.has_room(96));
    EXPECT_EQ(ring.offset(ring.take(96)), 0U);
    EXPECT_FALSE(ring.has_room(1));
    EXPECT_TRUE(ring.has_room(0)) << "a task without output always has room";
}

TEST(output_ring, the_end_of_an_empty_task_in_front_does_not_move_it_back) {
    output_ring ring(96);
    (void)ring.take(48);
    ring.reclaim(ring.end());
    const auto end_of_empty = ring.end();
    (void)ring.take(96);
    ring.reclaim(end_of_empty);
    EXPECT_EQ(ring.in_use(), 96U);
    ring.reclaim(ring.end());
    EXPECT_EQ(ring.in_use(), 0U);
}

TEST(output_ring, of_no_bytes_has_room_for_no_output_only) {
    output_ring ring(0);
    EXPECT_TRUE(ring.has_room(0));
    EXPECT_FALSE(ring.can_ever_hold(1));
    EXPECT_EQ(ring.offset(ring.take(0)), 0U);
}

TEST(output_ring, random_blocks_never_overlap) {
    std::mt19937 random(1);
    output_ring ring(1024);
    struct block {
        std::uint64_t begin, bytes, end;
    };
    std::deque<block> live;
    unsigned wraps = 0;
    for (int step = 0; step != 20'000; ++step) {
        const std::uint64_t bytes = random() % 300;
        if (!ring.has_room(bytes)) {
            ASSERT_FALSE(live.empty()) << "an empty ring has room for everything";
            ring.reclaim(live.front().end);
            live.pop_front();
            continue;
        }
        const std::uint64_t begin = ring.offset(ring.take(bytes));
        ASSERT_LE(begin + bytes, ring.size());
        for (const block& b : live) {
            const bool apart = begin + bytes <= b.begin || b.begin + b.bytes <= begin;
            ASSERT_TRUE(apart || bytes == 0 || b.bytes == 0) << step;
        }
        if (!live.empty() && begin < live.back().begin) ++wraps;
        live.push_back({begin, bytes, ring.end()});
    }
    EXPECT_GT(wraps, 100U);
}

}  // namespace
}  // namespace output_ring_test
