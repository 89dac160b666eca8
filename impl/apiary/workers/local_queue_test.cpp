// A worker's own queue on one thread: the two differences between the queues, a theft and a push without room.
#include <apiary/workers/local_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/steal_half_queue.hpp>
#include <apiary/sync/real_sync.hpp>

namespace local_queue_test {
namespace {

using apiary::real_sync;
using apiary::steal_status;

struct node {
    int number = 0;
    real_sync::cell<node*> next{};
};

struct eight_slots {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 8;
};
struct eight_of_which_half_is_stolen {
    static constexpr unsigned index_bits = 16, version_bits = 32;
    static constexpr std::size_t capacity = 8;
};
using of_ones = apiary::local_queue<node, apiary::chase_lev_deque<node*, real_sync, eight_slots>>;
using of_halves = apiary::local_queue<node, apiary::steal_half_queue<node*, real_sync, eight_of_which_half_is_stolen>>;
using numbers = std::vector<int>;

template <class Queue>
class local_queue : public testing::Test {
protected:
    local_queue() {
        for (int i = 0; i != 10; ++i) nodes[i].number = i;
    }
    // A node without room goes to `posted`, or is refused.
    [[nodiscard]] bool push(int i, bool accepts = true) {
        return queue.push(&nodes[i], [&](apiary::fifo_list<node>& rest) {
            if (accepts)
                while (const node* n = rest.pop_front()) posted.push_back(n->number);
            return accepts;
        });
    }
    void fill() {
        for (int i = 0; i != 8; ++i) ASSERT_TRUE(push(i));
        ASSERT_EQ(posted, numbers{});
    }
    static numbers popped(Queue& q) {
        numbers out;
        for (node* n = nullptr; q.pop(n);) out.push_back(n->number);
        return out;
    }
    node nodes[10];
    Queue queue, thief;
    numbers posted;
};
using both = testing::Types<of_ones, of_halves>;
TYPED_TEST_SUITE(local_queue, both);

TYPED_TEST(local_queue, gives_its_owner_the_newest_and_the_oldest) {
    this->fill();
    EXPECT_EQ(this->queue.size(), 8U);
    EXPECT_EQ(this->queue.steal_oldest().value, &this->nodes[0]);
    EXPECT_EQ(this->popped(this->queue), (numbers{7, 6, 5, 4, 3, 2, 1}));
    EXPECT_TRUE(this->queue.looks_empty());
    EXPECT_NE(this->queue.steal_oldest().status, steal_status::taken);
}

TYPED_TEST(local_queue, has_the_room_that_it_states_when_it_is_empty) {
    std::vector<node*> all;
    for (std::size_t i = 0; i != TypeParam::room_when_empty; ++i) all.push_back(&this->nodes[i]);
    ASSERT_TRUE(this->queue.push_all(all));
    EXPECT_EQ(this->popped(this->queue).front(), 0) << "the first is then the newest";
}

TYPED_TEST(local_queue, that_is_empty_gives_a_thief_nothing) {
    const auto [status, stolen, moved] = this->thief.steal_from(this->queue);
    EXPECT_EQ(status, steal_status::empty) << "no race was lost";
    EXPECT_EQ(moved, 0U);
}

TYPED_TEST(local_queue, that_is_full_and_can_post_nothing_keeps_all_but_the_new_one) {
    this->fill();
    EXPECT_FALSE(this->push(8, false));
    numbers left = this->popped(this->queue);
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, (numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

using local_queue_of_ones = local_queue<of_ones>;
TEST_F(local_queue_of_ones, gives_a_thief_the_oldest_alone) {
    fill();
    const auto [status, stolen, moved] = thief.steal_from(queue);
    ASSERT_EQ(status, steal_status::taken);
    EXPECT_EQ(stolen, &nodes[0]);
    EXPECT_EQ(moved, 0U);
    EXPECT_TRUE(thief.looks_empty());
}
TEST_F(local_queue_of_ones, that_is_full_posts_the_new_task) {
    fill();
    ASSERT_TRUE(push(8));
    EXPECT_EQ(posted, numbers{8});
    EXPECT_EQ(popped(queue), (numbers{7, 6, 5, 4, 3, 2, 1, 0}));
}

using local_queue_of_halves = local_queue<of_halves>;
TEST_F(local_queue_of_halves, gives_a_thief_the_older_half_which_others_can_steal_from_it) {
    fill();
    const auto [status, stolen, moved] = thief.steal_from(queue);
    ASSERT_EQ(status, steal_status::taken);
    EXPECT_EQ(stolen, &nodes[0]);
    EXPECT_EQ(moved, 3U);
    EXPECT_FALSE(thief.looks_empty());
    of_halves next;
    EXPECT_EQ(next.steal_from(thief).value, &nodes[1]);
    EXPECT_EQ(popped(next), numbers{2});
    EXPECT_EQ(popped(thief), numbers{3});
    EXPECT_EQ(popped(queue), (numbers{7, 6, 5, 4}));
}
TEST_F(local_queue_of_halves, that_is_full_posts_its_older_half_oldest_first_and_keeps_the_new_task) {
    fill();
    ASSERT_TRUE(push(8));
    EXPECT_EQ(posted, (numbers{0, 1, 2, 3}));
    EXPECT_EQ(popped(queue), (numbers{8, 7, 6, 5, 4}));
}

}  // namespace
}  // namespace local_queue_test
