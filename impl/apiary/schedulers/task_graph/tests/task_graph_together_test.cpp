// A task's slot, whose threads meet: the one that runs the task, a consumer, and the submitter, which uses the slot
// again.
#include <apiary/schedulers/task_graph/fan_out.hpp>
#include <apiary/schedulers/task_graph/join_counter.hpp>
#include <apiary/schedulers/task_graph/ready_desk.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include <apiary/parking/parker.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/testing/run_together.hpp>

namespace task_graph_together_test {
namespace {

using apiary::basic_parker;
using apiary::fan_out;
using apiary::link_result;
using apiary::run_together;

struct slot {
    fan_out<> shown;
    int output = 0, reads = 0;
    std::array<std::uint32_t, 2> next{};  // after each edge
    basic_parker<>* submitter = nullptr;  // written before it watches
};

// `waits(slot)`: the submitter's way to wait until the task is spent.
template <class Waits>
void a_task_is_consumed_and_its_slot_used_again(Waits waits) {
    for (int round = 0; round != 6; ++round) {
        slot s;
        basic_parker<> consumer;
        s.shown.open(1, false);
        run_together(
            [&] {
                const link_result how = s.shown.link(1, 1, true, [&](std::uint32_t after) { s.next[1] = after; });
                if (how == link_result::ended) consumer.unpark();
                EXPECT_NE(how, link_result::failed);
                waits(s);
                EXPECT_EQ(s.reads, how == link_result::gone ? 0 : 1);
                EXPECT_EQ(s.output, 5);
                s.output = s.reads = 0;
                s.shown.open(2, false);
                if (how == link_result::gone) consumer.unpark();
            },
            [&] {
                s.output = 5;
                const auto end = s.shown.close(false);
                if (end.notify) s.submitter->unpark();
                if (end.newest_edge == 0) return;
                EXPECT_EQ(s.next[1], 0U);
                consumer.unpark();
            },
            [&] {
                consumer.park();
                if (s.shown.snapshot().lap() != 1) return;  // the task had ended unseen
                EXPECT_EQ(s.output, 5);
                ++s.reads;
                if (s.shown.release()) s.submitter->unpark();
            });
    }
}

TEST(task_graph_together, a_submitter_is_told_when_the_task_is_spent) {
    basic_parker<> parker;
    a_task_is_consumed_and_its_slot_used_again([&](slot& s) {
        s.submitter = &parker;
        if (!s.shown.watch()) parker.park();
    });
}

TEST(task_graph_together, a_submitter_sees_that_the_task_is_spent) {
    a_task_is_consumed_and_its_slot_used_again([](slot& s) {
        while (!s.shown.spent()) std::this_thread::yield();
    });
}

TEST(task_graph_together, a_submitter_sees_that_the_slot_is_free) {
    a_task_is_consumed_and_its_slot_used_again([](slot& s) {
        while (!s.shown.consumed()) std::this_thread::yield();
    });
}

TEST(task_graph_together, the_last_producer_sees_what_all_have_made) {
    for (int round = 0; round != 6; ++round) {
        apiary::join_counter<> left;
        left.expect(3);
        std::array<int, 3> made{};
        std::atomic<int> ready{0};
        const auto produces = [&](std::size_t me) {
            return [&, me] {
                made[me] = 1;
                if (!left.arrive()) return;
                ++ready;
                EXPECT_EQ(made[0] + made[1] + made[2], 3);
            };
        };
        run_together(produces(0), produces(1), produces(2));
        EXPECT_EQ(ready, 1);
    }
}

struct task : apiary::job<> {
    task() : job([](job&, apiary::job_end, apiary::any_worker*) { return true; }) {}
    std::int64_t ahead() const { return 0; }
    int made = 0;
};

// As the graph does: a worker says that it sleeps, and looks at its hand; a giver fills the hand, and looks for a
// sleeper.
TEST(task_graph_together, a_worker_that_falls_asleep_sees_what_is_in_its_hand_or_is_woken) {
    for (int round = 0; round != 6; ++round) {
        apiary::ready_desk<apiary::real_sync, task, 4> desk(apiary::ready_policy::fifo, 2);
        basic_parker<> parker;
        std::atomic<bool> sleeps = false;
        task one;
        run_together(
            [&] {
                task* mine = nullptr;
                while ((mine = desk.take(0, 0)) == nullptr) {
                    sleeps.store(true);
                    if (!desk.visible(0)) parker.park();
                    sleeps.store(false);
                }
                EXPECT_EQ(mine, &one);
                EXPECT_EQ(mine->made, 7);
            },
            [&] {
                one.made = 7;
                if (desk.push(one) != 0 && sleeps.load()) parker.unpark();
            });
    }
}

}  // namespace
}  // namespace task_graph_together_test
