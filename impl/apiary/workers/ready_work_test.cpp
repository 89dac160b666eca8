// Ready work on one thread: which task its owner and a thief get, and what an empty one answers. On a deque and on a
// steal-half queue; what differs between the two is in local_queue_test.cpp.
#include <apiary/workers/ready_work.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/fifo_list.hpp>
#include <apiary/queues/steal_half_queue.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace ready_work_test {
namespace {

using apiary::real_sync;
using apiary::steal_status;
using storage = apiary::heap_storage<real_sync>;
using task_type = apiary::task<real_sync>;

struct two_slots {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 2;
};
struct two_of_which_one_is_stolen {
    static constexpr unsigned index_bits = 16, version_bits = 32;
    static constexpr std::size_t capacity = 2;
};

template <class Queue>
class ready_work : public testing::Test {
protected:
    ready_work() {
        for (auto& t : tasks) t = storage::make([] {});
    }
    ~ready_work() override {
        for (auto* t : tasks) t->drop();
    }
    // The task that a thief gets if it takes none that its owner may be about to run.
    task_type* stolen() {
        const auto [status, t, moved] = thief.steal_from(ready, false);
        EXPECT_EQ(status == steal_status::taken, t != nullptr);
        EXPECT_EQ(moved, 0U) << "half of two is one";
        return t;
    }
    [[nodiscard]] bool push(task_type* t) {
        return ready.push(t, [](apiary::fifo_list<task_type>&) { return false; });
    }
    using ready_type = apiary::ready_work<real_sync, Queue>;
    ready_type ready, thief;
    std::array<task_type*, 3> tasks{};
};
using both = testing::Types<apiary::chase_lev_deque<task_type*, real_sync, two_slots>,
                            apiary::steal_half_queue<task_type*, real_sync, two_of_which_one_is_stolen>>;
TYPED_TEST_SUITE(ready_work, both);

TYPED_TEST(ready_work, an_empty_one_says_so_to_owner_and_thief) {
    auto& mine = this->ready;
    EXPECT_TRUE(mine.slot_is_vacant());
    EXPECT_TRUE(mine.slot_looks_empty());
    EXPECT_TRUE(mine.deque_looks_empty());
    EXPECT_FALSE(mine.waits());
    EXPECT_EQ(mine.in_deque(), 0U);
    EXPECT_EQ(mine.take_slot(), nullptr);
    EXPECT_EQ(this->thief.steal_from(mine, false).status, steal_status::empty)
        << "no race was lost: a thief need not come again";
    EXPECT_EQ(this->thief.steal_from(mine, true).status, steal_status::empty);
    EXPECT_NE(mine.steal_oldest().status, steal_status::taken);
}

TYPED_TEST(ready_work, a_thief_takes_the_oldest_and_the_slot_last) {
    auto& mine = this->ready;
    ASSERT_TRUE(this->push(this->tasks[0]));
    ASSERT_TRUE(this->push(this->tasks[1]));
    mine.put(this->tasks[2]);
    EXPECT_TRUE(mine.waits());
    EXPECT_EQ(mine.in_deque(), 2U);
    for (task_type* t : this->tasks) EXPECT_EQ(this->stolen(), t);
    EXPECT_EQ(this->stolen(), nullptr);
    EXPECT_FALSE(mine.waits());
}

TYPED_TEST(ready_work, the_owner_takes_the_newest_and_reaches_the_old_end) {
    auto& mine = this->ready;
    const auto& three = this->tasks;
    ASSERT_TRUE(mine.push_all(std::array{three[1], three[0]})) << "the first of them is then the newest";
    EXPECT_TRUE(mine.waits()) << "the slot is empty, the deque is not";
    task_type* t = nullptr;
    ASSERT_TRUE(mine.pop(t));
    EXPECT_EQ(t, three[1]);
    EXPECT_EQ(mine.steal_oldest().value, three[0]);
    EXPECT_FALSE(mine.pop(t));
    mine.put(three[2]);
    EXPECT_TRUE(mine.waits()) << "the deque is empty, the slot is not";
    EXPECT_EQ(mine.take_slot(), three[2]);
}

// The owner goes on while a thief waits before it takes from the slot.
struct owner_goes_on : real_sync {
    static inline thread_local std::function<void()> what_it_does;
    static void yield(site = {}) noexcept { what_it_does(); }
};
TEST(ready_work_in_a_chain, is_left_to_its_owner_by_a_thief_that_can_wait) {
    using ready_type =
        apiary::ready_work<owner_goes_on, apiary::chase_lev_deque<task_type*, real_sync, two_slots>, task_type>;
    ready_type mine, thief;
    task_type* const former = storage::make([] {});
    task_type* const next = storage::make([] {});
    mine.put(former);
    owner_goes_on::what_it_does = [&] {
        EXPECT_EQ(mine.take_slot(), former);
        mine.put(next);
    };
    const auto [status, stolen, moved] = thief.steal_from(mine, false);
    EXPECT_EQ(status, steal_status::lost_race) << "it may come again";
    EXPECT_EQ(stolen, nullptr);
    EXPECT_EQ(thief.steal_from(mine, true).value, next) << "one that takes any does not wait";
    former->drop();
    next->drop();
}

}  // namespace
}  // namespace ready_work_test
