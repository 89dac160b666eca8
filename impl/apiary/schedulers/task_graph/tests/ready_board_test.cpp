#include <apiary/schedulers/task_graph/ready_board.hpp>

#include <gtest/gtest.h>

#include <apiary/schedulers/task_graph/ready_desk.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <apiary/tasks/job.hpp>

namespace ready_board_test {
namespace {

using apiary::policy_of;
using apiary::ready_board;
using apiary::ready_policy;

struct task {
    char name;
    std::int64_t ahead_ns = 0;
    std::int64_t ahead() const { return ahead_ns; }
};

// Which worker gets which task: "a2 " is task a by worker 2.
std::string matches(ready_board<task>& board) {
    std::string all;
    while (const auto m = board.next()) all += m->task->name + std::to_string(m->worker) + ' ';
    return all;
}

TEST(ready_board, gives_tasks_in_order_to_the_worker_of_the_lowest_number) {
    for (const ready_policy policy : {ready_policy::fifo, ready_policy::locality}) {
        ready_board<task> board(policy);
        std::vector<task> tasks{{'a', 1}, {'b', 3}, {'c', 2}};
        for (task& t : tasks) board.ready(t);
        EXPECT_EQ(matches(board), "") << "nobody is idle";
        board.idle(2, 0), board.idle(1, 9), board.idle(3, 0);
        EXPECT_EQ(matches(board), "a1 b2 c3 ");
        EXPECT_EQ(board.waiting(), 0U);
    }
}

TEST(ready_board, of_min_clock_takes_the_worker_that_has_worked_least) {
    ready_board<task> board(ready_policy::min_clock);
    std::vector<task> tasks{{'a'}, {'b'}, {'c'}};
    board.idle(0, 30), board.idle(1, 10), board.idle(2, 20);
    for (task& t : tasks) board.ready(t);
    EXPECT_EQ(matches(board), "a1 b2 c0 ");
}

TEST(ready_board, of_critical_path_takes_the_longest_way_first_and_then_the_older) {
    ready_board<task> board(ready_policy::critical_path);
    std::vector<task> tasks{{'a', 5}, {'b', 50}, {'c', 5}, {'d', 500}};
    for (task& t : tasks) board.ready(t);
    for (unsigned w = 0; w != 4; ++w) board.idle(w, 0);
    EXPECT_EQ(matches(board), "d0 b1 a2 c3 ");
}

TEST(ready_board, of_critical_path_takes_the_largest_and_the_smallest_estimate) {
    ready_board<task> board(ready_policy::critical_path);
    std::vector<task> tasks{{'a', INT64_MIN}, {'b', 5}, {'c', INT64_MAX}};
    for (task& t : tasks) board.ready(t);
    for (unsigned w = 0; w != 3; ++w) board.idle(w, 0);
    EXPECT_EQ(matches(board), "c0 b1 a2 ");
}

TEST(ready_board, gives_nothing_to_a_worker_that_has_withdrawn) {
    ready_board<task> board(ready_policy::min_clock);
    task a{'a'};
    board.idle(0, 1), board.idle(1, 2), board.idle(2, 3);
    EXPECT_TRUE(board.withdraw(0));
    EXPECT_FALSE(board.withdraw(0));
    board.ready(a);
    EXPECT_EQ(matches(board), "a1 ");
    EXPECT_FALSE(board.withdraw(1)) << "it was matched";
}

TEST(ready_board, keeps_the_order_of_the_others_when_one_withdraws) {
    // in the order in which they become idle; each has worked its number
    std::vector<unsigned> workers{0, 1, 2, 3, 4, 5};
    do {
        for (const unsigned leaves : workers) {
            ready_board<task> board(ready_policy::min_clock);
            for (const unsigned w : workers) board.idle(w, w);
            ASSERT_TRUE(board.withdraw(leaves));
            std::vector<task> tasks(5, task{'t'});
            for (task& t : tasks) board.ready(t);
            for (unsigned w = 0; w != 6; ++w)
                if (w != leaves) {
                    ASSERT_EQ(board.next()->worker, w) << leaves << " has withdrawn";
                }
        }
    } while (std::next_permutation(workers.begin(), workers.end()));
}

TEST(ready_board, is_never_full) {  // defects A29, B33 of the museum's catalogue
    ready_board<task> board(ready_policy::fifo);
    std::vector<task> tasks(100'000, task{'t'});
    for (task& t : tasks) board.ready(t);
    EXPECT_EQ(board.waiting(), tasks.size());
    for (std::size_t i = 0; i != tasks.size(); ++i) {
        board.idle(0, 0);
        ASSERT_EQ(board.next()->task, &tasks[i]);
    }
}

TEST(ready_board, policies_have_names) {
    for (const ready_policy p :
         {ready_policy::fifo, ready_policy::min_clock, ready_policy::critical_path, ready_policy::locality})
        EXPECT_EQ(policy_of(name_of(p)), p);
    EXPECT_THROW((void)policy_of("best"), std::invalid_argument);
}

struct place : apiary::job<> {
    place() : job([](job&, apiary::job_end, apiary::any_worker*) { return true; }) {}
    std::int64_t ahead() const { return 0; }
};
using desk_type = apiary::ready_desk<apiary::real_sync, place, 4>;

TEST(ready_desk, hands_a_task_to_an_idle_worker_and_says_which) {
    desk_type desk(ready_policy::min_clock);
    place a, b;
    EXPECT_EQ(desk.take(0, 9), nullptr);
    EXPECT_EQ(desk.take(1, 3), nullptr);
    EXPECT_EQ(desk.push(a), 2U) << "worker 1, a bit";
    EXPECT_FALSE(desk.visible(0));
    EXPECT_TRUE(desk.visible(1));
    EXPECT_EQ(desk.take(1, 3), &a);
    EXPECT_EQ(desk.push(b), 1U);
    EXPECT_EQ(desk.take(0, 9), &b);
}

TEST(ready_desk, an_end_gives_its_worker_one_and_others_the_rest) {
    desk_type desk(ready_policy::fifo);
    place a, b, c;
    EXPECT_EQ(desk.take(3, 0), nullptr);
    apiary::fifo_list<place> made_ready;
    made_ready.push_front(&c), made_ready.push_front(&b), made_ready.push_front(&a);
    const auto [next, handed] = desk.ended(2, 0, made_ready);
    EXPECT_EQ(next, &a);
    EXPECT_EQ(handed, 8U);
    EXPECT_EQ(desk.take(3, 0), &b);
    EXPECT_EQ(desk.take(0, 0), &c) << "waited for anybody";
}

TEST(ready_desk, a_worker_that_leaves_gives_back_what_it_was_handed) {
    desk_type desk(ready_policy::fifo);
    place a, b;
    EXPECT_EQ(desk.leave(0), 0U) << "it was not idle";
    EXPECT_EQ(desk.take(0, 0), nullptr);
    EXPECT_EQ(desk.leave(0), 0U);
    EXPECT_EQ(desk.push(a), 0U) << "nobody is idle";
    EXPECT_EQ(desk.take(0, 0), &a);
    desk.keep(0, b);
    EXPECT_EQ(desk.take(1, 0), nullptr);
    EXPECT_EQ(desk.leave(0), 2U);
    EXPECT_EQ(desk.take(1, 0), &b);
}

}  // namespace
}  // namespace ready_board_test
