// The injector releases everything once, in order, never before its time.
#include <gtest/gtest.h>
#include <sched.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <apiary/bench/injector.hpp>
#include <apiary/bench/open_loop.hpp>

#include "scenarios/beside.hpp"

namespace injector_test {
namespace {

using namespace apiary::bench;

TEST(Injector, ReleasesInOrderAndNeverEarly) {
    std::vector<std::int64_t> plan;
    for (std::int64_t i = 0; i < 50; ++i) plan.push_back(i / 5 * 10'000);
    std::vector<std::int64_t> released;
    const injection done = inject_from_new_thread(plan, [&](std::size_t i) {
        EXPECT_EQ(i, released.size());
        released.push_back(now_ns());
    });
    ASSERT_EQ(released.size(), plan.size());
    for (std::size_t i = 0; i < plan.size(); ++i) EXPECT_GE(released[i], done.zero_ns + plan[i]);
    ASSERT_EQ(done.lateness.size(), plan.size());
    for (const std::int64_t late : done.lateness) EXPECT_GE(late, 0);
    EXPECT_GT(done.cost_ns, 0);
}

// This holds whatever runs beside the injector, and however often it is interrupted.
TEST(Injector, WhatItTookForItselfIsNoPartOfAPost) {
    std::vector<std::int64_t> plan;
    for (std::int64_t i = 0; i < 20; ++i) plan.push_back(i * 3'000'000);
    constexpr std::int64_t post_ns = 1'000'000;
    std::thread([&] {
        const injection done = inject(plan, [&](std::size_t) {
            const std::int64_t end = thread_cpu_ns() + post_ns;
            while (thread_cpu_ns() < end) {
            }
        });
        // The time of its vain looks is at most this, even if it had the processor for little of it.
        const auto posts = static_cast<std::int64_t>(plan.size());
        const std::int64_t looks = posts * (injector_spin_ns + own_cost::longest_interrupt_ns);
        EXPECT_GT(done.cost_ns, 0);
        EXPECT_LT(done.cost_ns, thread_cpu_ns() - posts * post_ns + looks);
    }).join();
}

int policy() { return ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK; }

TEST(Injector, ItRunsBeforeOrdinaryThreadsAndWhatItStartsIsOrdinary) {
    const int before = policy();
    const std::vector<std::int64_t> plan{0};
    int own = -1, child = -1;
    const injection done = inject_from_new_thread(plan, [&](std::size_t) {
        own = policy();
        std::thread([&] { child = policy(); }).join();
    });
    EXPECT_EQ(own, done.undisplaced ? SCHED_FIFO : before);
    EXPECT_EQ(child, done.undisplaced ? SCHED_OTHER : before);
    EXPECT_EQ(policy(), before) << "only the injector's own thread";
}

histogram of(std::uint64_t often, std::uint64_t times, std::uint64_t seldom, std::uint64_t rest) {
    histogram h;
    h.record(often, times);
    h.record(seldom, rest);
    return h;
}

TEST(Injector, APercentileIsLimitedWhenAFifthOfItIsTheInjectors) {
    EXPECT_FALSE(open_loop::injector_limited(of(100, 1, 0, 0), of(80, 1, 0, 0), {500}));
    EXPECT_TRUE(open_loop::injector_limited(of(100, 1, 0, 0), of(79, 1, 0, 0), {500}));
}

TEST(Injector, EachPercentileIsJudgedByItself) {
    const histogram latency = of(100, 9'700, 1000, 300), punctual = of(100, 10'000, 0, 0);
    EXPECT_FALSE(open_loop::injector_limited(latency, punctual, {500}));
    EXPECT_TRUE(open_loop::injector_limited(latency, punctual, {990}));
    EXPECT_FALSE(open_loop::injector_limited(latency, punctual, {999})) << "too few samples to print it";
}

TEST(Injector, ARateNotReachedIsTheRuntimesOwn) {
    EXPECT_TRUE(open_loop::overloaded(1000, 989));
    EXPECT_FALSE(open_loop::overloaded(1000, 990));
}

TEST(MixedLoad, WhatComputeLostIsAShareOfWhatItDidAlone) {
    const auto lost = [](std::uint64_t alone, std::uint64_t beside, std::int64_t injector_ns) {
        return beside::lost_ppm({.ns = 0, .done = 0}, {.ns = 1000, .done = alone},
                                    {.ns = 3000, .done = alone + beside}, 2, injector_ns);
    };
    EXPECT_EQ(lost(100, 200, 0), 0);
    EXPECT_EQ(lost(100, 150, 0), 250'000);
    EXPECT_EQ(lost(100, 150, 1000), 0) << "the injector's own share is nobody's loss";
    EXPECT_EQ(lost(100, 220, 0), -100'000);
    EXPECT_EQ(lost(99, 150, 0), std::nullopt) << "too coarse";
}

TEST(MixedLoad, TheComputeTasksAreInAnAccountOfTheirOwn) {
    for (const bool twice : {false, true}) {
        compute_load load(2, 3, 1);
        std::vector<std::function<void()>> waiting;
        int offered = 0;
        const auto hand_in = [&waiting](auto task) { waiting.emplace_back(task); };
        const auto offer = [&](auto rest) {
            if (++offered % 2 == 0) waiting.emplace_back(rest);
            return offered % 2 == 0;
        };
        for (int k = 0; k < 2; ++k) load.start(hand_in, hand_in, offer);
        for (std::size_t i = 0; i < waiting.size(); ++i) {
            if (load.done() >= 10) load.call_end();
            const std::function<void()> task = waiting[i];
            task();
            if (twice && i == 0) task();
        }
        if (!twice) load.wait();
        EXPECT_GE(load.done(), 10U);
        EXPECT_EQ(load.ran_each_once(), !twice);
        EXPECT_GT(offered, 0);
    }
}

// A client takes answers where the injector would sleep, and must do so between requests that are due at once, too.
struct counting_wait {
    std::vector<char>& seen;
    void sleep_until(std::int64_t due_ns) {
        seen.push_back('s');
        sleep_until_ns(due_ns);
    }
    void look() { seen.push_back('l'); }
    void is_late() { seen.push_back('d'); }
};

TEST(Injector, AWaitOfItsOwnIsCalledBeforeEachRelease) {
    const std::vector<std::int64_t> plan{0, 0, 0};
    std::vector<char> seen;
    injection done;
    std::thread([&] {
        done = inject(
            plan, [&](std::size_t i) { seen.push_back(static_cast<char>('0' + i)); }, counting_wait{seen}, false);
    }).join();
    EXPECT_EQ(std::string(seen.begin(), seen.end()), "s0d1d2") << "asleep, for it may not look; then late";
    EXPECT_EQ(done.lateness.size(), 3U);
}

TEST(Injector, AFailureOnItsThreadReachesTheCaller) {
    const std::vector<std::int64_t> plan{0};
    EXPECT_THROW((void)inject_from_new_thread(plan, [](std::size_t) { throw std::runtime_error("x"); }),
                 std::runtime_error);
}

TEST(Injector, ATenthIsDiscardedRoundedDown) {
    EXPECT_EQ(discarded(9), 0U);
    EXPECT_EQ(discarded(19), 1U);
    EXPECT_EQ(discarded(1000), 100U);
}

}  // namespace
}  // namespace injector_test
