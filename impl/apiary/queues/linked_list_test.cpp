#include <apiary/queues/linked_list.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include <apiary/sync/real_sync.hpp>

namespace linked_list_test {
namespace {

struct node {
    apiary::real_sync::cell<node*> before, behind;
};
using list = apiary::linked_list<node>;

// From the front to the back, and held against the way from the back to the front.
std::vector<const node*> nodes_of(const list& l) {
    std::vector<const node*> all;
    const node* last = nullptr;
    for (const node* n = l.front(); n != nullptr; n = n->behind.read()) {
        EXPECT_EQ(n->before.read(), last);
        all.push_back(n);
        last = n;
    }
    EXPECT_EQ(l.empty(), all.empty());
    return all;
}

TEST(linked_list, loses_the_node_that_is_removed_and_no_other) {
    for (std::size_t gone = 0; gone < 3; ++gone) {
        std::array<node, 4> n;
        list l;
        for (std::size_t i = 0; i < 3; ++i) l.append(&n[i]);
        l.remove(&n[gone]);
        l.append(&n[3]);  // after the last that is left
        std::vector<const node*> expected;
        for (std::size_t i = 0; i < 4; ++i)
            if (i != gone) expected.push_back(&n[i]);
        EXPECT_EQ(nodes_of(l), expected) << gone;
    }
}

TEST(linked_list, is_empty_when_its_only_node_is_removed_and_takes_it_again) {
    node n;
    list l;
    EXPECT_TRUE(l.empty());
    for (int i = 0; i < 2; ++i) {
        l.append(&n);
        EXPECT_EQ(nodes_of(l), std::vector<const node*>{&n});
        l.remove(&n);
        EXPECT_TRUE(nodes_of(l).empty());
    }
}

}  // namespace
}  // namespace linked_list_test
