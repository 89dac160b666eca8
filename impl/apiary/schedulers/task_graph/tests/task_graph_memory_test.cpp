// What a graph does while there is no memory. A program of its own: it replaces operator new.
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include <apiary/testing/replaced_new.hpp>

#include "empty_heap.hpp"

namespace task_graph_memory_test {
namespace {

using apiary::ready_policy;
using apiary::task_graph;

using apiary::testing::heap_is_empty;
using apiary::testing::without_memory;

}  // namespace
}  // namespace task_graph_memory_test

void apiary::before_allocation(std::size_t, std::size_t) {
    if (apiary::testing::heap_is_empty) throw std::bad_alloc();
}

namespace task_graph_memory_test {
namespace {

TEST(task_graph_memory, tasks_that_become_ready_need_none_however_many) {
    for (const ready_policy policy :
         {ready_policy::fifo, ready_policy::min_clock, ready_policy::critical_path, ready_policy::locality}) {
        task_graph g({.workers = {0}, .window = 4096, .policy = policy});
        std::vector<int> ran(4000);  // more than a deque has room for at first
        const auto root = g.submit([&ran] { ++ran[0]; });
        for (std::size_t i = 1; i != ran.size(); ++i) g.submit({root}, [&ran, i] { ++ran[i]; });
        {
            const without_memory here;
            g.wait();
        }
        EXPECT_EQ(ran, std::vector<int>(ran.size(), 1)) << name_of(policy);
    }
}

TEST(task_graph_memory, workers_of_another_type_need_none_to_take_what_is_posted_to_them) {
    for (const std::size_t window_most : {0U, 4096U}) {
        task_graph g({.workers = {0, 1}, .window = window_most == 0 ? 4096U : 4U, .window_most = window_most});
        while (g.window() != 4096) g.submit([] {});
        g.wait();
        std::atomic<int> ran = 0;
        std::atomic<bool> all_there = false;
        g.submit(
            [&all_there] {
                heap_is_empty = true;  // for its worker, until the graph ends
                while (!all_there) std::this_thread::yield();
            },
            {.type = 1});
        while (g.progress().begun != g.submitted()) std::this_thread::yield();
        for (int i = 0; i != 1000; ++i) g.submit([&ran] { ++ran; }, {.type = 1});
        all_there = true;
        g.wait();
        EXPECT_EQ(ran, 1000);
    }
}

// A worker of that type is at work meanwhile, and takes none of them.
TEST(task_graph_memory, tasks_of_another_type_that_become_ready_in_a_window_that_has_grown_need_none) {
    for (const ready_policy policy : {ready_policy::locality, ready_policy::fifo}) {
        task_graph g({.workers = {0, 1}, .window = 4, .policy = policy, .window_most = 2048});
        while (g.window() != 2048) g.submit([] {});
        g.wait();
        std::atomic<int> ran = 0;
        std::atomic<bool> all_there = false;
        g.submit(
            [&all_there] {
                while (!all_there) std::this_thread::yield();
            },
            {.type = 1});
        const auto root = g.submit([] {});
        for (int i = 0; i != 1000; ++i) g.submit({root}, [&ran] { ++ran; }, {.type = 1});
        g.submit({root}, [&all_there] { all_there = true; });  // by the submitter, after it has made the others ready
        {
            const without_memory here;
            g.wait();
        }
        EXPECT_EQ(ran, 1000);
    }
}

TEST(task_graph_memory, tasks_of_a_window_that_has_grown_need_none) {
    task_graph g({.workers = {0}, .window = 4, .policy = ready_policy::fifo, .window_most = 128});
    int ran = 0;
    while (g.window() != 128) g.submit([] {});
    g.wait();
    const auto root = g.submit([&ran] { ++ran; });
    for (int i = 0; i != 100; ++i) g.submit({root}, [&ran] { ++ran; });
    {
        const without_memory here;
        g.wait();
    }
    EXPECT_EQ(ran, 101);
}

TEST(task_graph_memory, a_failure_that_cannot_be_noted_ends_the_program) {
    EXPECT_DEATH(
        {
            task_graph g({.workers = {0}});
            g.submit([] { throw 1; });
            const without_memory here;
            g.wait();
        },
        "no memory for a failure");
}

int alive = 0;

// The heap is empty when the fourth has been made.
struct last_that_fits {
    last_that_fits() { heap_is_empty = ++alive == 4; }
    ~last_that_fits() { --alive; }
    last_that_fits(const last_that_fits&) = delete;
    last_that_fits& operator=(const last_that_fits&) = delete;
};

TEST(task_graph_memory, a_window_without_memory_for_its_edges_gives_its_slots_back) {
    using window = apiary::task_window<apiary::real_sync, apiary::task_graph_limits, last_that_fits>;
    EXPECT_THROW(window({.slots = 4, .dependencies = 4}), std::bad_alloc);
    heap_is_empty = false;
    EXPECT_EQ(alive, 0);
}

TEST(task_graph_memory, a_window_that_cannot_grow_stays) {
    for (const ready_policy policy : {ready_policy::locality, ready_policy::fifo}) {
        task_graph g({.workers = {0}, .window = 4, .policy = policy, .window_most = 64});
        int ran = 0;
        {
            const without_memory here;
            for (int i = 0; i != 100; ++i) g.submit([&ran] { ++ran; });
        }
        for (int i = 0; i != 100; ++i) g.submit([&ran] { ++ran; });
        g.wait();
        EXPECT_EQ(ran, 200);
        EXPECT_EQ(g.window(), 4U) << "it does not try again";
    }
}

}  // namespace
}  // namespace task_graph_memory_test
