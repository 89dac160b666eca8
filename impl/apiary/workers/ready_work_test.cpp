// Ready work on one thread: which task its owner and a thief get, and what an empty one answers.
#include <apiary/workers/ready_work.hpp>

#include <gtest/gtest.h>

#include <array>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace {

using apiary::real_sync;
using apiary::steal_status;
using storage = apiary::heap_storage<real_sync>;
using task_type = apiary::task<real_sync>;

struct two_slots {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 2;
};

class ready_work : public testing::Test {
protected:
    ready_work() {
        for (auto& t : tasks) t = storage::make([] {});
    }
    ~ready_work() override {
        for (auto* t : tasks) t->drop();
    }
    // What a thief gets that takes only what nobody is about to run.
    task_type* stolen() {
        const auto [status, t] = ready.steal(false);
        EXPECT_EQ(status == steal_status::taken, t != nullptr);
        return t;
    }
    apiary::ready_work<real_sync, apiary::chase_lev_deque<task_type*, real_sync, two_slots>> ready;
    std::array<task_type*, 3> tasks{};
};

TEST_F(ready_work, an_empty_one_says_so_to_owner_and_thief) {
    EXPECT_TRUE(ready.slot_is_vacant());
    EXPECT_TRUE(ready.slot_looks_empty());
    EXPECT_TRUE(ready.deque_looks_empty());
    EXPECT_FALSE(ready.waits());
    EXPECT_EQ(ready.in_deque(), 0U);
    EXPECT_EQ(ready.take_slot(), nullptr);
    EXPECT_EQ(ready.steal(false).status, steal_status::empty) << "no race was lost: a thief need not come again";
    EXPECT_EQ(ready.steal(true).status, steal_status::empty);
    EXPECT_EQ(ready.steal_oldest().status, steal_status::empty);
}

TEST_F(ready_work, a_thief_takes_the_oldest_and_the_slot_last) {
    ASSERT_TRUE(ready.push(tasks[0]));
    ASSERT_TRUE(ready.push(tasks[1]));
    ready.put(tasks[2]);
    EXPECT_TRUE(ready.waits());
    EXPECT_EQ(ready.in_deque(), 2U);
    for (task_type* t : tasks) EXPECT_EQ(stolen(), t);
    EXPECT_EQ(stolen(), nullptr);
    EXPECT_FALSE(ready.waits());
}

TEST_F(ready_work, the_owner_takes_the_newest_and_reaches_the_old_end) {
    ASSERT_TRUE(ready.push_all(std::array{tasks[1], tasks[0]})) << "the first of them is then the newest";
    EXPECT_FALSE(ready.push(tasks[2])) << "full";
    EXPECT_TRUE(ready.waits()) << "the slot is empty, the deque is not";
    task_type* t = nullptr;
    ASSERT_TRUE(ready.pop(t));
    EXPECT_EQ(t, tasks[1]);
    EXPECT_EQ(ready.steal_oldest().value, tasks[0]);
    EXPECT_FALSE(ready.pop(t));
    ready.put(tasks[2]);
    EXPECT_TRUE(ready.waits()) << "the deque is empty, the slot is not";
    EXPECT_EQ(ready.take_slot(), tasks[2]);
}

}  // namespace
