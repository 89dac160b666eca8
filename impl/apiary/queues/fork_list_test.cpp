// fork_list: what its owner, a thief and a joiner are told, one step after the other.
#include <apiary/queues/fork_list.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace {

using list = apiary::fork_list<>;
using job = list::job;
using progress = apiary::fork_progress;

// Worker 0 has handed out its job, and worker 1 runs it.
class fork_list : public testing::Test {
protected:
    void SetUp() override {
        joiner.push(stolen);
        ASSERT_TRUE(joiner.hand_out());
        ASSERT_EQ(thief.take(joiner.look()), nullptr) << "it is not the thief's own offer";
        ASSERT_EQ(joiner.take(joiner.look()), &stolen);
        before = thief.begin(stolen, 1, 0);
        seen = list::held_or_over(stolen);
        ASSERT_EQ(seen.thief(), 1U);
    }
    list joiner, thief;
    job stolen;
    list::visit before;
    progress seen;
};

TEST_F(fork_list, the_end_of_a_job_says_whether_its_joiner_sleeps) {
    ASSERT_TRUE(list::wait_begins(stolen, seen));
    EXPECT_TRUE(thief.end(stolen, false, before));
    EXPECT_TRUE(list::over(stolen).over());
}

TEST_F(fork_list, a_joiner_that_woke_by_itself_is_woken_no_more) {
    ASSERT_TRUE(list::wait_begins(stolen, seen));
    list::wait_ended(stolen, seen);
    EXPECT_EQ(thief.joiner_slept(), std::nullopt);
    EXPECT_FALSE(thief.end(stolen, false, before));
}

TEST_F(fork_list, a_joiner_that_sleeps_is_told_of_an_offer_once) {
    ASSERT_TRUE(list::wait_begins(stolen, seen));
    EXPECT_EQ(thief.joiner_slept(), 0U);
    EXPECT_EQ(thief.joiner_slept(), std::nullopt);
    list::wait_ended(stolen, seen);
    EXPECT_FALSE(thief.end(stolen, true, before));
    EXPECT_EQ(list::over(stolen).is(), progress::failed);
}

TEST_F(fork_list, behind_the_end_no_wait_begins) {
    EXPECT_FALSE(thief.end(stolen, false, before));
    EXPECT_FALSE(list::wait_begins(stolen, seen));
}

TEST(fork_list_of_three, hands_out_each_job_once_the_oldest_first) {
    list owner;
    job first, second, third;
    for (job* j : {&first, &second, &third}) owner.push(*j);
    for (job* j : {&first, &second}) {
        ASSERT_TRUE(owner.hand_out());
        EXPECT_FALSE(owner.hand_out()) << "an offer stands";
        EXPECT_EQ(owner.take(owner.look()), j);
    }
    EXPECT_TRUE(owner.pop(third));
    EXPECT_TRUE(owner.empty());
    EXPECT_FALSE(owner.hand_out());
}

TEST(fork_list_of_three, gives_its_owner_the_oldest_and_keeps_the_order_of_the_others) {
    list owner;
    job first, second, third;
    for (job* j : {&first, &second, &third}) owner.push(*j);
    EXPECT_EQ(owner.pop_oldest(), &first);
    EXPECT_FALSE(owner.pop(first)) << "it is no longer private";
    EXPECT_TRUE(owner.pop(third));
    EXPECT_EQ(owner.pop_oldest(), &second);
    EXPECT_TRUE(owner.empty());
    owner.push(third);
    EXPECT_EQ(owner.pop_oldest(), &third);
    EXPECT_TRUE(owner.empty());
}

}  // namespace
