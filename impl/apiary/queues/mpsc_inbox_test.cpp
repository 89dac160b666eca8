// The inbox and the global pool from one thread: order, what push tells, and close.
#include <apiary/queues/mpsc_inbox.hpp>

#include <apiary/queues/global_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace mpsc_inbox_test {
namespace {

using apiary::fifo_list;
using apiary::push_result;

struct node {
    apiary::real_sync::cell<node*> next;
    int id = 0;
};
using inbox = apiary::mpsc_inbox<node>;
using pool = apiary::global_pool<node>;

class queue_of_nodes : public testing::Test {
protected:
    queue_of_nodes() {
        for (int i = 0; i < 10; ++i) nodes[static_cast<std::size_t>(i)].id = i;
    }
    static std::vector<int> ids(fifo_list<node> list) {
        std::vector<int> out;
        while (node* n = list.pop_front()) out.push_back(n->id);
        return out;
    }
    fifo_list<node> list_of(std::size_t first, std::size_t last) {
        fifo_list<node> list;
        for (std::size_t i = first; i <= last; ++i) list.push_back(&nodes[i]);
        return list;
    }
    static std::vector<int> taken(pool& p, std::size_t most, std::size_t sharers) {
        std::vector<node*> out(most);
        std::vector<int> numbers;
        const std::size_t n = p.take(out, sharers);
        for (std::size_t i = 0; i < n; ++i) numbers.push_back(out[i]->id);
        return numbers;
    }
    std::array<node, 10> nodes;
};
using mpsc_inbox = queue_of_nodes;
using global_pool = queue_of_nodes;

TEST_F(mpsc_inbox, drains_in_the_order_of_the_pushes) {
    inbox in;
    EXPECT_TRUE(in.looks_empty());
    EXPECT_EQ(in.push(&nodes[0]), push_result::was_empty);
    EXPECT_EQ(in.push(&nodes[1]), push_result::was_not_empty);
    auto more = list_of(2, 4);
    EXPECT_EQ(in.push_list(more), push_result::was_not_empty);
    EXPECT_FALSE(in.looks_empty());
    EXPECT_EQ(ids(in.drain()), (std::vector{0, 1, 2, 3, 4}));
    EXPECT_TRUE(in.looks_empty());
    EXPECT_TRUE(in.drain().empty());
    EXPECT_EQ(in.push(&nodes[0]), push_result::was_empty);
    EXPECT_EQ(in.drain().size(), 1U);
}

TEST_F(mpsc_inbox, close_returns_the_rest_and_refuses_all_that_follows) {
    inbox in;
    EXPECT_EQ(in.push(&nodes[0]), push_result::was_empty);
    EXPECT_EQ(ids(in.close()), std::vector{0});
    EXPECT_EQ(in.push(&nodes[1]), push_result::closed);
    auto refused = list_of(2, 4);
    EXPECT_EQ(in.push_list(refused), push_result::closed);
    EXPECT_EQ(ids(std::move(refused)), (std::vector{2, 3, 4})) << "a refused list is left as it was";
    EXPECT_TRUE(in.drain().empty());
    EXPECT_EQ(in.push(&nodes[1]), push_result::closed) << "a drain does not open it again";
    EXPECT_TRUE(in.close().empty());
    EXPECT_TRUE(in.looks_empty());
}

TEST_F(global_pool, hands_out_a_fair_share_and_at_most_a_batch) {
    pool p;
    auto all = list_of(0, 9);
    EXPECT_EQ(p.push_list(all), push_result::was_empty);
    EXPECT_EQ(taken(p, 16, 5), (std::vector{0, 1})) << "ten tasks for five takers";
    EXPECT_EQ(taken(p, 3, 1), (std::vector{2, 3, 4}));
    EXPECT_FALSE(p.looks_empty());
    EXPECT_EQ(taken(p, 16, 100), std::vector{5}) << "never less than one";
    EXPECT_EQ(taken(p, 16, 1), (std::vector{6, 7, 8, 9}));
    EXPECT_TRUE(p.looks_empty());
    EXPECT_EQ(p.take_one(), nullptr);
}

TEST_F(global_pool, what_comes_later_waits_behind_what_a_taker_left) {
    pool p;
    for (const std::size_t i : {0U, 1U, 2U}) (void)p.push(&nodes[i]);
    EXPECT_EQ(p.take_one(), &nodes[0]);
    (void)p.push(&nodes[3]);
    for (const std::size_t i : {1U, 2U, 3U}) EXPECT_EQ(p.take_one(), &nodes[i]);
    EXPECT_EQ(p.take_one(), nullptr);
}

TEST_F(global_pool, a_closed_pool_still_hands_out_what_it_holds) {
    pool p;
    for (std::size_t i = 0; i < 3; ++i) (void)p.push(&nodes[i]);
    EXPECT_EQ(p.take_one(), &nodes[0]);
    (void)p.push(&nodes[3]);
    p.close();
    EXPECT_EQ(p.push(&nodes[5]), push_result::closed);
    EXPECT_FALSE(p.looks_empty());
    EXPECT_EQ(taken(p, 16, 1), (std::vector{1, 2}));
    EXPECT_FALSE(p.looks_empty());
    EXPECT_EQ(taken(p, 16, 1), (std::vector{3})) << "it came after those";
    EXPECT_TRUE(p.looks_empty());
}

TEST_F(global_pool, a_pool_from_which_nothing_was_taken_hands_out_all_after_its_close) {
    pool p;
    for (std::size_t i = 0; i < 3; ++i) (void)p.push(&nodes[i]);
    p.close();
    EXPECT_FALSE(p.looks_empty());
    EXPECT_EQ(taken(p, 16, 1), (std::vector{0, 1, 2}));
    EXPECT_TRUE(p.looks_empty());
}

TEST_F(queue_of_nodes, fifo_list_splices) {
    auto list = list_of(0, 3);
    list.splice_back(list_of(4, 5));
    list.splice_back({});
    EXPECT_EQ(list.size(), 6U);
    list.push_front(&nodes[9]);
    EXPECT_EQ(ids(std::move(list)), (std::vector{9, 0, 1, 2, 3, 4, 5}));
    fifo_list<node> empty;
    empty.splice_back(list_of(7, 7));
    EXPECT_EQ(ids(std::move(empty)), std::vector{7});
}

TEST_F(queue_of_nodes, fifo_list_splices_to_a_list_that_goes_on) {
    auto list = list_of(0, 1);
    auto other = list_of(2, 3);
    list.splice_back(std::move(other));
    list.push_back(&nodes[4]);  // after the last that came; none follows it
    EXPECT_EQ(list.size(), 5U);
    EXPECT_EQ(list.back(), &nodes[4]);
    fifo_list<node> nothing;
    list.splice_back(std::move(nothing));
    list.push_back(&nodes[5]);
    EXPECT_EQ(list.front(), &nodes[0]);
    EXPECT_EQ(ids(std::move(list)), (std::vector{0, 1, 2, 3, 4, 5}));
    EXPECT_TRUE(other.empty());
    EXPECT_EQ(other.size(), 0U);
    other.push_back(&nodes[6]);
    EXPECT_EQ(other.size(), 1U);
    EXPECT_EQ(ids(std::move(other)), std::vector{6}) << "what was spliced away is its no more";
}

TEST_F(queue_of_nodes, fifo_list_counts_what_is_popped_and_begins_anew_when_it_is_empty) {
    auto list = list_of(0, 2);
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_EQ(list.pop_front(), &nodes[i]);
        EXPECT_EQ(list.size(), 2 - i);
        EXPECT_EQ(list.back(), &nodes[2]);
    }
    EXPECT_EQ(list.pop_front(), &nodes[2]);
    EXPECT_EQ(list.size(), 0U);
    EXPECT_EQ(list.back(), nullptr);
    list.push_back(&nodes[3]);
    EXPECT_EQ(list.front(), &nodes[3]) << "not linked to a node that was popped";
}

TEST_F(queue_of_nodes, fifo_list_that_is_assigned_is_whole_and_its_source_empty) {
    auto from = list_of(0, 2);
    fifo_list<node> to;
    to = std::move(from);
    EXPECT_EQ(to.size(), 3U);
    EXPECT_EQ(to.back(), &nodes[2]);
    to.push_back(&nodes[3]);
    EXPECT_EQ(ids(std::move(to)), (std::vector{0, 1, 2, 3}));
    EXPECT_TRUE(from.empty());
    EXPECT_EQ(from.size(), 0U);
    EXPECT_EQ(from.back(), nullptr);
    from.push_back(&nodes[4]);
    fifo_list<node> made(std::move(from));
    EXPECT_EQ(made.size(), 1U);
    EXPECT_EQ(from.size(), 0U);
    made.push_back(&nodes[5]);
    EXPECT_EQ(ids(std::move(made)), (std::vector{4, 5}));
    from.push_back(&nodes[6]);
    EXPECT_EQ(ids(std::move(from)), std::vector{6});
}

}  // namespace
}  // namespace mpsc_inbox_test
