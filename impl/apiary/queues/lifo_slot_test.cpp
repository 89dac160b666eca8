// The slot from one thread; what two threads do to it is lifo_slot_check's and stress_lifo_slot's.
#include <apiary/queues/lifo_slot.hpp>

#include <gtest/gtest.h>

namespace lifo_slot_test {
namespace {

using apiary::lifo_slot;

TEST(lifo_slot, holds_one_and_gives_it_back_once) {
    lifo_slot<int> slot;
    int element = 1;
    EXPECT_EQ(slot.take(), nullptr);
    slot.put(&element);
    EXPECT_FALSE(slot.looks_empty());
    EXPECT_EQ(slot.take(), &element);
    EXPECT_TRUE(slot.looks_empty());
    EXPECT_EQ(slot.take(), nullptr);
}

TEST(lifo_slot, a_thief_gets_it_once) {
    lifo_slot<int> slot;
    int element = 1;
    EXPECT_EQ(slot.steal(), nullptr);
    slot.put(&element);
    EXPECT_EQ(slot.steal(), &element);
    EXPECT_EQ(slot.steal(), nullptr);
    EXPECT_EQ(slot.take(), nullptr);
}

TEST(lifo_slot, a_thief_comes_again) {
    lifo_slot<int> slot;
    int element = 1;
    for (int i = 0; i != 2; ++i) {
        slot.put(&element);
        EXPECT_EQ(slot.steal(), &element) << "the first thief has given up its claim";
    }
}

TEST(lifo_slot, tells_one_stay_from_the_next) {
    lifo_slot<int> slot;
    int element = 1;
    EXPECT_EQ(slot.met(), std::nullopt);
    slot.put(&element);
    const auto first = slot.met();
    ASSERT_TRUE(first);
    EXPECT_EQ(slot.met(), first);
    EXPECT_EQ(slot.take(), &element);
    EXPECT_EQ(slot.met(), std::nullopt);
    slot.put(&element);
    EXPECT_NE(slot.met(), first);
    EXPECT_EQ(slot.take(), &element);
}

}  // namespace
}  // namespace lifo_slot_test
