// What the hive's workers do while there is nothing to do: they sleep, or they watch the clock for a timer. Real
// threads.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <thread>

#include <apiary/testing/running_hive.hpp>

namespace hive_idle_test {
namespace {

using namespace std::chrono_literals;
using apiary::hive;
using apiary::wait_for;
using apiary::worker_counters;

TEST(hive_idle, a_worker_that_watches_the_clock_for_a_timer_does_not_park_and_is_not_early) {
    apiary::hive_config config{.io_workers = 1};
    config.parameters.timer_spin_ns = 3'600'000'000'000;
    hive h(config);
    std::thread running([&h] { h.run(); });
    std::uint64_t before = 0, after = 0;
    std::atomic<int> fired{0}, early{0};
    const auto parked = [&] { return h.total(&worker_counters::parked); };
    ASSERT_TRUE(h.post_micro([&] {
        before = parked();
        for (int i = 1; i <= 5; ++i) {
            const auto due = std::chrono::steady_clock::now() + 1ms * i;
            const auto fire = [&, due] {
                if (std::chrono::steady_clock::now() < due) ++early;
                after = parked();
                ++fired;
            };
            ASSERT_TRUE(h.post_delayed(fire, 1ms * i));
        }
    }));
    wait_for(fired, 5);
    EXPECT_EQ(early, 0);
    EXPECT_EQ(after, before);
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_delayed([&] { ++fired; }, 1h));
    ASSERT_TRUE(h.post_micro([&] { ++ran; }));  // is seen while the clock is watched
    wait_for(ran, 1);
    h.request_stop(apiary::stop_mode::discard);
    running.join();
}

// Workers of both kinds, and a timer that is far away. A worker that polls parks again and again, and no such half
// second comes. The naps and wakes that the posts leave behind come to an end; a machine that stands still may spread
// them over many tries.
TEST(hive_idle, an_idle_hive_does_not_wake) {
    hive h({.io_workers = 2, .compute_workers = 2});
    std::thread running([&h] { h.run(); });
    std::atomic<int> ran{0};
    for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(h.post_micro([&] { ++ran; }));
        ASSERT_TRUE(h.post_compute([&] { ++ran; }));
    }
    ASSERT_TRUE(h.post_delayed([] {}, 1h));
    wait_for(ran, 16);
    const auto moves = [&] { return h.total(&worker_counters::parked) + h.total(&worker_counters::woken); };
    bool still = false;
    for (int tries = 0; tries < 100 && !still; ++tries) {
        const auto before = moves();
        std::this_thread::sleep_for(500ms);
        still = moves() == before;
    }
    EXPECT_TRUE(still);
    h.request_stop(apiary::stop_mode::discard);
    running.join();
}

// A burst of posts on one processor: the first post wakes a worker, which takes the processor from the poster. It
// must let the poster go on, and not run task by task with a wake for each few. (Long yields count for nothing here:
// on a machine with other work they say that the processor is contended, and then each sleep costs a wake.)
TEST(hive_idle, a_burst_on_one_processor_costs_few_wakes) {
    constexpr std::uint64_t bursts = 40, tasks = 2048;
    std::uint64_t woken = 0, parked = 0;
    std::thread([&] {
        cpu_set_t allowed, one;
        ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
        CPU_ZERO(&one);
        unsigned first = 0;
        while (!CPU_ISSET(first, &allowed)) ++first;
        CPU_SET(first, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // this thread, and those that it starts
        apiary::hive_config config{.io_workers = 2};
        config.parameters.sleeps_after_long_yield = 0;
        apiary::running_hive running(config);
        for (std::uint64_t b = 0; b != bursts; ++b) {
            std::this_thread::sleep_for(2ms);  // the workers fall asleep, so the first post wakes one
            std::atomic<std::uint64_t> left{tasks};
            std::promise<void> done;
            for (std::uint64_t i = 0; i != tasks; ++i)
                ASSERT_TRUE(running.h.post_micro([&] {
                    if (--left == 0) done.set_value();
                }));
            done.get_future().wait();
        }
        woken = running.h.total(&worker_counters::woken);
        parked = running.h.total(&worker_counters::parked);
    }).join();
    EXPECT_LE(woken, bursts * tasks / 64);
    EXPECT_LE(parked, bursts * tasks / 64);
}

}  // namespace
}  // namespace hive_idle_test
