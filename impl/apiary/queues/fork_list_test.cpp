// fork_list: what its owner, a thief and a joiner are told, one step after the other.
#include <apiary/queues/fork_list.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace fork_list_test {
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

struct two_bits {
    static constexpr unsigned tag_bits = 2;
};

// A joiner knows an offer of its job by it; 0 is a worker's own work.
TEST(fork_list_tags, of_one_visit_is_not_that_of_the_next_and_never_0) {
    apiary::fork_list<apiary::real_sync, two_bits> visitor;
    std::vector<std::uint64_t> tags;
    for (int i = 0; i != 7; ++i) {
        job stolen, own;
        stolen.begin_progress();
        const auto before_it = visitor.begin(stolen, 1, 0);
        visitor.push(own);
        ASSERT_TRUE(visitor.hand_out());
        tags.push_back(visitor.tag(visitor.look()));
        EXPECT_EQ(list::held_or_over(stolen).tag(), tags.back());
        ASSERT_TRUE(visitor.take_back(own));
        EXPECT_FALSE(visitor.end(stolen, false, before_it));
    }
    EXPECT_EQ(tags, (std::vector<std::uint64_t>{1, 2, 3, 1, 2, 3, 1}));
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

TEST(fork_list_of_three, a_job_that_a_hand_out_has_passed_over_is_private_until_its_turn) {
    list owner;
    job first, second, third;
    for (job* j : {&first, &second, &third}) owner.push(*j);
    ASSERT_TRUE(owner.hand_out());
    EXPECT_FALSE(owner.is_private(first));
    EXPECT_TRUE(owner.is_private(second));
    EXPECT_TRUE(owner.is_private(third));
    EXPECT_TRUE(owner.pop(third));
    EXPECT_TRUE(owner.is_private(second)) << "it is the newest now, and the oldest";
    EXPECT_TRUE(owner.pop(second));
    EXPECT_TRUE(owner.empty());
    EXPECT_FALSE(owner.pop(first)) << "it is on offer";
}

TEST(fork_list_of_three, what_was_forked_behind_a_hand_out_has_the_next_turn_but_one) {
    list owner;
    job first, second, third;
    for (job* j : {&first, &second}) owner.push(*j);
    EXPECT_EQ(owner.pop_oldest(), &first);
    owner.push(third);
    EXPECT_EQ(owner.pop_oldest(), &second) << "it was passed over before, and the third was not";
    EXPECT_TRUE(owner.pop(third));
    EXPECT_TRUE(owner.empty());
}

TEST(fork_list_of_four, the_join_of_a_newer_one_stays_short_while_a_hand_out_has_two_that_are_linked) {
    list owner;
    job first, second, third, fourth;
    for (job* j : {&first, &second, &third}) owner.push(*j);
    EXPECT_EQ(owner.pop_oldest(), &first);
    owner.push(fourth);
    EXPECT_EQ(owner.pop_oldest(), &second);
    EXPECT_TRUE(owner.pop_unlinked(fourth));
    EXPECT_FALSE(owner.pop_unlinked(third));
    EXPECT_TRUE(owner.pop_linked(third));
    EXPECT_TRUE(owner.empty());
}

// Against a deque that tells the same story: long lists, of which either end is taken, and places that come back.
TEST(fork_list_against_a_deque, each_end_is_that_of_the_deque_whatever_was_taken_before) {
    std::array<job, 32> jobs;
    std::deque<job*> told;
    std::vector<job*> free;
    for (job& j : jobs) free.push_back(&j);
    list owner;
    std::mt19937 random(1);
    for (unsigned turn = 0; turn != 200'000; ++turn) {
        // Now more forks than joins, now fewer: the list grows and runs empty again and again.
        const bool grows = turn / 64 % 2 == 0;
        const auto kind = random() % 8;
        if (kind < (grows ? 5 : 2)) {
            if (free.empty()) continue;
            std::swap(free[random() % free.size()], free.back());
            owner.push(*free.back());
            told.push_back(free.back());
            free.pop_back();
        } else if (!told.empty() && kind == 7) {
            job* const oldest = told.front();
            ASSERT_EQ(owner.oldest(), oldest);
            if (random() % 2 == 0) continue;
            told.pop_front();
            ASSERT_EQ(owner.pop_oldest(), oldest);
            ASSERT_FALSE(owner.is_private(*oldest));
            ASSERT_FALSE(owner.pop(*oldest));
            free.push_back(oldest);
        } else if (!told.empty()) {
            job* const newest = told.back();
            told.pop_back();
            if (random() % 2 == 0)
                ASSERT_TRUE(owner.pop(*newest));
            else
                owner.pop_newest();
            free.push_back(newest);
        }
        ASSERT_EQ(owner.empty(), told.empty());
        if (!told.empty()) {
            ASSERT_EQ(owner.newest(), told.back());
        }
        for (job* j : told) ASSERT_TRUE(owner.is_private(*j));
    }
}

// As real_sync, but each look at a job's links is counted.
struct counting_sync : apiary::real_sync {
    static inline std::size_t looks;
    template <class T>
    class cell {
    public:
        T read() const { return ++looks, value_; }
        void write(T value) { value_ = value; }

    private:
        T value_;
    };
};

TEST(fork_list_of_many, is_walked_over_once_though_a_thief_asks_at_every_fork_of_a_recursion_that_leans_to_one_side) {
    apiary::fork_list<counting_sync> owner;
    std::vector<apiary::fork_job<counting_sync>> jobs(10'000);
    const std::size_t half = jobs.size() / 2;
    counting_sync::looks = 0;
    for (std::size_t i = 0; i != jobs.size(); ++i) {
        owner.push(jobs[i]);
        if (i >= half) {
            ASSERT_EQ(owner.pop_oldest(), &jobs[i - half]);
        }
    }
    for (std::size_t i = jobs.size(); i-- != half;) ASSERT_TRUE(owner.pop(jobs[i]));
    EXPECT_TRUE(owner.empty());
    EXPECT_LE(counting_sync::looks, 10 * jobs.size());
}

TEST(fork_list_of_many, is_walked_over_once_though_the_newest_is_joined_and_forked_anew_between_the_hand_outs) {
    apiary::fork_list<counting_sync> owner;
    std::vector<apiary::fork_job<counting_sync>> jobs(10'000);
    const std::size_t half = jobs.size() / 2;
    counting_sync::looks = 0;
    for (auto& j : jobs) owner.push(j);
    for (std::size_t i = 0; i != half; ++i) {
        ASSERT_EQ(owner.pop_oldest(), &jobs[i]);
        ASSERT_TRUE(owner.pop(jobs.back()));
        owner.push(jobs.back());
    }
    for (std::size_t i = jobs.size(); i-- != half;) ASSERT_TRUE(owner.pop(jobs[i]));
    EXPECT_TRUE(owner.empty());
    EXPECT_LE(counting_sync::looks, 10 * jobs.size());
}

}  // namespace
}  // namespace fork_list_test
