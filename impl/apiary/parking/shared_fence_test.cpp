// The shared fence, with threads that stand where the test puts them: how many fences there are for how many callers.
#include <apiary/parking/shared_fence.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace shared_fence_test {
namespace {

// Tells the test of each fence and of each look that saw no end of one: how many there were so far.
struct told_sync : apiary::real_sync {
    static inline std::atomic<int> fences, looks;
    static inline std::function<void(int)> on_fence, on_look;
    static void fence_heavy(site = {}) noexcept {
        if (const int n = ++fences; on_fence) on_fence(n);
        real_sync::fence_heavy();
    }
    static void relax(site = {}) noexcept {
        if (const int n = ++looks; on_look) on_look(n);
    }
};

struct shared_fence : testing::Test {
    apiary::shared_fence<told_sync> fence;
    std::vector<std::thread> others;

    shared_fence() {
        told_sync::fences = told_sync::looks = 0;
        told_sync::on_fence = told_sync::on_look = nullptr;
    }
};

// For two minutes at most: then the test fails, and does not hang.
void wait_for(const std::atomic<int>& count, int n) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (count < n && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_GE(count, n);
}

TEST_F(shared_fence, of_one_thread_is_a_fence_each_time) {
    for (int n = 1; n != 4; ++n) {
        fence.pass();
        EXPECT_EQ(told_sync::fences, n);
    }
    EXPECT_EQ(told_sync::looks, 0);
}

TEST_F(shared_fence, those_that_ask_while_one_is_under_way_share_the_next) {
    std::atomic<int> returned = 0;
    const auto ask = [&] {
        fence.pass();
        ++returned;
    };
    told_sync::on_fence = [&](int n) {
        if (n == 1)
            for (int i = 0; i != 2; ++i) others.emplace_back(ask);
        // Both have asked; then the one that issues no fence looks again.
        if (n <= 2) wait_for(told_sync::looks, n + 1);
        if (n == 2) {
            EXPECT_EQ(returned, 1) << "the one that shares this fence returns after it";
        }
    };
    told_sync::on_look = [&](int n) { wait_for(returned, n <= 2 ? 1 : 2); };
    ask();
    for (auto& t : others) t.join();
    EXPECT_EQ(told_sync::fences, 2);
    EXPECT_EQ(returned, 3);
}

TEST_F(shared_fence, does_not_wait_for_a_thread_that_does_not_go_on) {
    told_sync::on_fence = [&](int n) {
        if (n == 1) std::thread([&] { fence.pass(); }).join();
    };
    fence.pass();
    EXPECT_EQ(told_sync::fences, 2);
    EXPECT_GT(told_sync::looks, 0);
    fence.pass();
    EXPECT_EQ(told_sync::fences, 3) << "the rounds go on";
}

}  // namespace
}  // namespace shared_fence_test
