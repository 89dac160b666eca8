// The timer heap with a clock of the test's own: order, ties, and what is due.
#include <apiary/timers/timer_heap.hpp>

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace {

struct node {
    std::int64_t deadline_ns = 0;
    int id = 0;
};
using heap = apiary::timer_heap<node>;

TEST(timer_heap, gives_nothing_before_it_is_due_and_everything_then) {
    heap h;
    node a{100, 0}, b{50, 1};
    h.add(&a);
    h.add(&b);
    EXPECT_EQ(h.size(), 2U);
    EXPECT_EQ(h.next_deadline(), 50);
    EXPECT_EQ(h.pop_due(49), nullptr);
    EXPECT_EQ(h.pop_due(50), &b);
    EXPECT_EQ(h.pop_due(99), nullptr);
    EXPECT_EQ(h.pop_due(1000), &a);
    EXPECT_TRUE(h.empty());
    EXPECT_EQ(h.next_deadline(), heap::never);
    EXPECT_EQ(h.pop_due(INT64_MAX), nullptr);
}

TEST(timer_heap, equal_deadlines_keep_their_order) {
    heap h;
    std::array<node, 9> nodes;
    for (int i = 0; i < 9; ++i) nodes[static_cast<std::size_t>(i)] = {5, i};
    for (auto& n : nodes) h.add(&n);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(h.pop_due(5)->id, i);
}

TEST(timer_heap, sorts_a_thousand) {
    heap h;
    std::mt19937 random(7);
    std::vector<node> nodes(1000);
    for (auto& n : nodes) {
        n.deadline_ns = static_cast<std::int64_t>(random() % 500);
        h.add(&n);
    }
    std::int64_t last = 0;
    for (int i = 0; i < 1000; ++i) {
        const node* n = h.pop();
        EXPECT_GE(n->deadline_ns, last);
        last = n->deadline_ns;
    }
    EXPECT_EQ(h.pop(), nullptr);
    EXPECT_EQ(h.size(), 0U);
}

}  // namespace
