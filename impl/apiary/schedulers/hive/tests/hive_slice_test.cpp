// A long task that asks whether others wait, and posts its rest to the pool: work_waits and post_to_pool.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include <apiary/testing/running_hive.hpp>

namespace hive_slice_test {
namespace {

using apiary::hive;
using apiary::running_hive;
using apiary::stop_mode;

template <class Hive>
class slices : public testing::Test {};
using both = testing::Types<hive, apiary::half_stealing_hive>;
TYPED_TEST_SUITE(slices, both);

// Notes each of its three parts, and offers its slice after each.
template <class Hive>
void go_on(Hive& h, std::string& log, int part) {
    for (; part <= 3; ++part) {
        log += std::to_string(part);
        if (part < 3 && h.work_waits() && h.post_to_pool([&h, &log, part] { go_on(h, log, part + 1); })) return;
    }
    h.request_stop();
}

TYPED_TEST(slices, of_a_long_task_let_those_that_wait_go_first) {
    TypeParam h({});
    std::string log;
    ASSERT_TRUE(h.post_micro([&] { go_on(h, log, 1); }));
    ASSERT_TRUE(h.post_micro([&] {
        log += 'a';
        ASSERT_TRUE(h.post_to_pool([&] { log += 'c'; }));  // after the rest of the long one
    }));
    ASSERT_TRUE(h.post_micro([&] { log += 'b'; }));
    h.run();
    EXPECT_EQ(log, "1ab2c3");
}

TYPED_TEST(slices, of_two_long_tasks_take_turns) {
    TypeParam h({});
    std::string log;
    int over = 0;
    const std::function<void(char, int)> part = [&](char name, int n) {
        log += name;
        if (n == 3) {
            if (++over == 2) h.request_stop();
        } else if (!h.work_waits() || !h.post_to_pool([&part, name, n] { part(name, n + 1); })) {
            part(name, n + 1);
        }
    };
    ASSERT_TRUE(h.post_micro([&] { part('x', 1); }));
    ASSERT_TRUE(h.post_micro([&] { part('y', 1); }));
    h.run();
    EXPECT_EQ(log, "xyxyxy");
}

// In a task on the only worker of a hive: each source by itself.
TEST(slice, is_over_when_any_source_of_the_worker_has_a_task) {
    const auto from_outside = [](auto post) { std::thread(post).join(); };
    const std::function<void(hive&)> sources[] = {
        [](hive& h) { ASSERT_TRUE(h.post_micro([] {})); },  // slot
        [](hive& h) { ASSERT_TRUE(h.post_to_pool([] {})); },
        [](hive& h) { ASSERT_TRUE(h.post_to_worker(0, [] {})); },
        [](hive& h) { ASSERT_TRUE(h.post_delayed([] {}, std::chrono::nanoseconds(0))); },
        [&](hive& h) { from_outside([&] { ASSERT_TRUE(h.post_micro([] {})); }); },
        [&](hive& h) { from_outside([&] { ASSERT_TRUE(h.post_to_worker(0, [] {})); }); },
    };
    for (const auto& post : sources) {
        hive h({});
        bool before = true, after = false, elsewhere = true;
        ASSERT_TRUE(h.post_micro([&] {
            before = h.work_waits();
            post(h);
            after = h.work_waits();
            from_outside([&] { elsewhere = h.work_waits(); });
            h.request_stop();
        }));
        h.run();
        const auto number = &post - sources;
        EXPECT_FALSE(before) << number;
        EXPECT_TRUE(after) << number;
        EXPECT_FALSE(elsewhere) << number << ": a thread that is no worker";
    }
}

TEST(slice, is_not_over_for_a_timer_that_is_not_due) {
    hive h({});
    bool waits = true;
    ASSERT_TRUE(h.post_micro([&] {
        ASSERT_TRUE(h.post_delayed([] {}, std::chrono::hours(1)));
        waits = h.work_waits();
        h.request_stop();
    }));
    h.run();
    EXPECT_FALSE(waits);
}

TEST(slice, has_no_end_on_a_worker_of_another_kind_or_hive_and_after_a_stop) {
    running_hive other({}), r({.io_workers = 1, .compute_workers = 1});
    std::atomic<int> ran{0};
    std::atomic<bool> elsewhere{true}, compute{true}, stopped{true}, accepted{true};
    ASSERT_TRUE(r.h.post_micro([&] {
        ASSERT_TRUE(r.h.post_to_pool([] {}));  // waits until this task ends
        ASSERT_TRUE(other.h.post_micro([&] {
            elsewhere = r.h.work_waits();
            ++ran;
        }));
        ASSERT_TRUE(r.h.post_compute([&] {
            compute = r.h.work_waits();
            ++ran;
        }));
        apiary::wait_for(ran, 2);
        ASSERT_TRUE(r.h.work_waits());
        r.h.request_stop();
        stopped = r.h.work_waits();
        accepted = r.h.post_to_pool([] {});
        ++ran;
    }));
    apiary::wait_for(ran, 3);
    EXPECT_FALSE(elsewhere);
    EXPECT_FALSE(compute);
    EXPECT_FALSE(stopped);
    EXPECT_FALSE(accepted);
    const auto report = r.stop();
    EXPECT_EQ(report.run, 3U);
    EXPECT_EQ(report.refused, 1U);
}

TEST(slice, is_over_when_the_worker_has_been_detached) {
    running_hive r({.io_workers = 2});
    std::atomic<int> ran{0};
    std::atomic<bool> before{true}, after{false};
    ASSERT_TRUE(r.h.post_to_worker(1, [&] {
        before = r.h.work_waits();
        ASSERT_EQ(r.h.detach_io_worker(1), apiary::detach_result::detached);
        after = r.h.work_waits();
        ASSERT_TRUE(r.h.post_to_pool([&] { ++ran; }));
        ++ran;
    }));
    apiary::wait_for(ran, 2);
    EXPECT_FALSE(before);
    EXPECT_TRUE(after);
}

TEST(slice, refuses_an_empty_rest) {
    hive h({});
    EXPECT_THROW((void)h.post_to_pool(std::function<void()>()), std::invalid_argument);
    EXPECT_THROW((void)h.post_to_pool(static_cast<void (*)()>(nullptr)), std::invalid_argument);
    EXPECT_TRUE(h.post_to_pool([&] { h.request_stop(); }));
    h.run();
    EXPECT_EQ(h.report().run, 1U);
}

TEST(slice, loses_no_rest_and_runs_none_twice_on_several_workers) {
    constexpr int tasks = 40, parts = 50;
    running_hive r({.io_workers = 3});
    std::array<std::atomic<int>, tasks> next{};
    std::atomic<int> over{0}, out_of_turn{0};
    const std::function<void(int, int)> part = [&](int task, int n) {
        for (; n < parts; ++n) {
            if (next[static_cast<std::size_t>(task)].fetch_add(1) != n) ++out_of_turn;
            if (n + 1 < parts && r.h.work_waits() && r.h.post_to_pool([&part, task, n] { part(task, n + 1); })) return;
        }
        ++over;
    };
    for (int t = 0; t < tasks; ++t) ASSERT_TRUE(r.h.post_micro([&part, t] { part(t, 0); }));
    apiary::wait_for(over, tasks);
    r.stop();
    EXPECT_EQ(out_of_turn, 0);
    for (const auto& n : next) EXPECT_EQ(n, parts);
}

}  // namespace
}  // namespace hive_slice_test
