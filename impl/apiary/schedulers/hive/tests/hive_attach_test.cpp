// Workers that come and go while the hive runs, and before.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <apiary/testing/running_hive.hpp>

namespace hive_attach_test {
namespace {

using namespace std::chrono_literals;
using apiary::detach_result;
using apiary::hive;
using apiary::running_hive;
using apiary::wait_for;

TEST(hive, an_attached_worker_runs_what_is_posted_to_it) {
    running_hive r({});
    const auto id = r.h.attach_io_worker();
    ASSERT_TRUE(id);
    EXPECT_EQ(r.h.io_workers(), 2U);
    std::atomic<int> ran{0};
    std::thread::id main_thread, other_thread;
    ASSERT_TRUE(r.h.post_to_worker(0, [&] { main_thread = std::this_thread::get_id(), ++ran; }));
    ASSERT_TRUE(r.h.post_to_worker(*id, [&] { other_thread = std::this_thread::get_id(), ++ran; }));
    wait_for(ran, 2);
    EXPECT_NE(main_thread, other_thread);
}

TEST(hive, workers_attached_before_run_start_with_it) {
    hive h({});
    const auto io = h.attach_io_worker();
    const auto compute = h.attach_compute_worker();
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_to_worker(*io, [&ran] { ++ran; }));
    ASSERT_TRUE(h.post_compute([&] {
        ++ran;
        h.request_stop();
    }));
    EXPECT_EQ(*compute, 0U);
    h.run();
    EXPECT_EQ(ran, 2);
}

// worker_table I2. Nothing runs here, so no worker can leave.
TEST(hive, a_slot_is_not_given_again_before_its_worker_has_left) {
    hive h({.io_workers = 2});
    EXPECT_EQ(h.detach_io_worker(1), apiary::detach_result::detached);
    EXPECT_EQ(h.attach_io_worker(), 2U);
    h.request_stop();
    h.run();
}

TEST(hive, every_attach_makes_a_worker_of_its_own) {
    running_hive r({});
    const auto first = r.h.attach_io_worker(), second = r.h.attach_io_worker();
    EXPECT_NE(*first, *second);
    EXPECT_EQ(r.h.io_workers(), 3U);
    EXPECT_EQ(r.h.detach_io_worker(*first), detach_result::detached);
    EXPECT_EQ(r.h.detach_io_worker(*first), detach_result::unknown_worker) << "it is no worker any more";
    EXPECT_EQ(r.h.io_workers(), 2U);
}

TEST(hive, the_main_worker_an_unknown_one_and_the_last_compute_worker_are_not_detached) {
    running_hive r({.io_workers = 2, .compute_workers = 1});
    EXPECT_EQ(r.h.detach_io_worker(0), detach_result::main_worker);
    EXPECT_EQ(r.h.detach_io_worker(7), detach_result::unknown_worker);
    EXPECT_EQ(r.h.detach_io_worker(512), detach_result::unknown_worker) << "another life of the main worker's slot";
    EXPECT_EQ(r.h.detach_compute_worker(0), detach_result::last_worker);
    EXPECT_EQ(r.h.detach_compute_worker(1), detach_result::unknown_worker);
    r.stop();
    EXPECT_EQ(r.h.detach_io_worker(1), detach_result::stopped);
    EXPECT_FALSE(r.h.attach_io_worker());
    EXPECT_FALSE(r.h.attach_compute_worker());
}

// A slot is free when its worker has handed over, which takes a moment.
unsigned attach_when_one_has_left(hive& h) {
    for (;;) {
        try {
            return *h.attach_io_worker();
        } catch (const std::length_error&) {
            std::this_thread::yield();
        }
    }
}

TEST(hive, a_detached_worker_is_refused_posts_and_its_id_is_not_given_again) {
    running_hive r({});
    const unsigned gone = *r.h.attach_io_worker();
    ASSERT_EQ(r.h.detach_io_worker(gone), detach_result::detached);
    EXPECT_FALSE(r.h.post_to_worker(gone, [] { FAIL() << "refused tasks do not run"; }));
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i) {
        const unsigned id = attach_when_one_has_left(r.h);
        EXPECT_NE(id, gone);
        ASSERT_TRUE(r.h.post_to_worker(id, [&ran] { ++ran; }));
        ASSERT_EQ(r.h.detach_io_worker(id), detach_result::detached);
    }
    wait_for(ran, 100);
    EXPECT_FALSE(r.h.post_to_worker(gone, [] { FAIL() << "refused tasks do not run"; }));
}

// Attaches when its thread ends, which has left its worker by then: the only slot that is free may be the thread's own.
struct attaches_at_the_end {
    hive* h = nullptr;
    std::atomic<int>* attached = nullptr;
    ~attaches_at_the_end() {
        if (h != nullptr && h->attach_io_worker().has_value()) ++*attached;
    }
};
thread_local attaches_at_the_end at_the_end;

TEST(hive, a_thread_that_has_left_its_worker_may_attach_at_its_end) {
    running_hive r({.io_workers = 2});
    std::atomic<int> attached{0}, ran{0};
    ASSERT_TRUE(r.h.post_to_worker(1, [&] {
        at_the_end.h = &r.h, at_the_end.attached = &attached;
        EXPECT_EQ(r.h.detach_io_worker(1), detach_result::detached);
    }));
    wait_for(attached, 1);
    EXPECT_EQ(r.h.io_workers(), 2U);
    for (unsigned id = 0; id < 1024; ++id) (void)r.h.post_to_worker(id, [&ran] { ++ran; });
    wait_for(ran, 2);
}

TEST(hive, what_a_detached_worker_held_is_handed_over) {
    running_hive r({.io_workers = 2});
    std::atomic<int> ran{0}, begun{0};
    std::atomic<bool> go{false};
    const auto count = [&ran] { ++ran; };
    // It is kept busy with tasks in its inbox, its deque and its timers, and detached by its own task.
    ASSERT_TRUE(r.h.post_to_worker(1, [&] {
        for (int i = 0; i < 20; ++i) ASSERT_TRUE(r.h.post_micro(count));
        ++begun;
        while (!go) std::this_thread::yield();
        EXPECT_EQ(r.h.detach_io_worker(1), detach_result::detached);
        EXPECT_FALSE(r.h.post_to_worker(1, count));
        ASSERT_TRUE(r.h.post_micro(count)) << "its own deque still takes tasks";
    }));
    wait_for(begun, 1);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(r.h.post_to_worker(1, count));
    int timers = 0;
    for (int i = 0; i < 40; ++i, ++timers) ASSERT_TRUE(r.h.post_delayed(count, 2ms));
    go = true;
    wait_for(ran, 20 + 20 + timers + 1);
    const auto report = r.stop();
    EXPECT_EQ(report.discarded, 0U);
    EXPECT_EQ(report.refused, 1U);
}

TEST(hive, a_worker_detached_before_run_hands_over_when_it_starts) {
    hive h({.io_workers = 2});
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_to_worker(1, [&] {
        ++ran;
        h.request_stop();
    }));
    EXPECT_EQ(h.detach_io_worker(1), detach_result::detached);
    EXPECT_FALSE(h.post_to_worker(1, [] {}));
    h.run();
    EXPECT_EQ(ran, 1);
}

TEST(hive, compute_workers_come_and_go) {
    running_hive r({.io_workers = 1});
    EXPECT_FALSE(r.h.post_compute([] {})) << "there is none";
    std::vector<unsigned> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(*r.h.attach_compute_worker());
    std::atomic<int> ran{0};
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(r.h.post_compute([&ran] { ++ran; }));
        if (i == 50 || i == 100) {
            EXPECT_EQ(r.h.detach_compute_worker(ids[static_cast<std::size_t>(i / 100)]), detach_result::detached);
        }
    }
    wait_for(ran, 200);
    EXPECT_EQ(r.h.detach_compute_worker(ids[2]), detach_result::last_worker);
    EXPECT_EQ(r.h.compute_workers(), 1U);
}

TEST(hive, a_compute_worker_detached_by_its_own_task_leaves_the_rest_to_the_other) {
    running_hive r({.io_workers = 1, .compute_workers = 2});
    std::atomic<int> ran{0}, answered{0};
    std::atomic<bool> go{false};
    std::array<std::atomic<int>, 2> answers{-1, -1};
    for (auto& answer : answers)  // one on each worker
        ASSERT_TRUE(r.h.post_compute([&] {
            ++ran;
            while (!go) std::this_thread::yield();
            const unsigned id = static_cast<unsigned>(&answer - answers.data());
            answer = static_cast<int>(r.h.detach_compute_worker(id));
            ++answered;
        }));
    wait_for(ran, 2);
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(r.h.post_compute([&ran] { ++ran; }));
    go = true;
    wait_for(ran, 52);
    wait_for(answered, 2);
    const auto report = r.stop();
    EXPECT_EQ(std::min(answers[0].load(), answers[1].load()), static_cast<int>(detach_result::detached));
    EXPECT_EQ(std::max(answers[0].load(), answers[1].load()), static_cast<int>(detach_result::last_worker));
    EXPECT_EQ(report.run, 52U);
}

TEST(hive, says_when_no_slot_is_left) {
    hive h({.io_workers = 280, .compute_workers = 280});
    EXPECT_THROW((void)h.attach_io_worker(), std::length_error);
    EXPECT_THROW((void)h.attach_compute_worker(), std::length_error);
}

}  // namespace
}  // namespace hive_attach_test
