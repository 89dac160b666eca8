// Idle set, sleeper and the cores, from one or two threads: the states and who owes whom a wake.
#include <apiary/parking/epoll_core.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/parker_core.hpp>
#include <apiary/parking/sleeper.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using apiary::idle_set;
using apiary::real_sync;

TEST(idle_set, a_sleeper_is_claimed_once_and_then_counts_as_searching) {
    idle_set<> idle;
    idle.announce_sleep(3, false);
    EXPECT_TRUE(idle.snapshot().sleeps(3));
    EXPECT_EQ(idle.claim_any(), 3U);
    EXPECT_EQ(idle.snapshot().sleepers(), 0U);
    EXPECT_EQ(idle.snapshot().searching(), 1U);
    EXPECT_FALSE(idle.claim(3));
    EXPECT_FALSE(idle.withdraw(3)) << "it was claimed";
    idle.stop_searching();
    EXPECT_EQ(idle.snapshot().value, 0U);
}

TEST(idle_set, claims_nobody_while_somebody_searches) {
    idle_set<> idle;
    for (unsigned w : {0U, 1U, 55U}) idle.announce_sleep(w, false);
    EXPECT_EQ(idle.claim_any(), 0U);
    EXPECT_EQ(idle.claim_any(), std::nullopt);
    EXPECT_TRUE(idle.claim(55)) << "a targeted post does not care who else searches";
    EXPECT_EQ(idle.snapshot().searching(), 2U);
    idle.stop_searching();
    EXPECT_EQ(idle.claim_any(), std::nullopt);
    idle.stop_searching();
    EXPECT_EQ(idle.claim_any(), 1U);
}

TEST(idle_set, a_searcher_that_found_nothing_goes_back_to_sleep_in_one_step) {
    idle_set<> idle;
    idle.announce_sleep(0, false);
    EXPECT_EQ(idle.claim_any(), 0U);
    idle.announce_sleep(0, true);
    EXPECT_EQ(idle.snapshot().searching(), 0U);
    EXPECT_TRUE(idle.snapshot().sleeps(0));
    EXPECT_TRUE(idle.withdraw(0)) << "it woke by itself";
    EXPECT_EQ(idle.snapshot().value, 0U);
}

TEST(sleeper, does_not_block_when_work_is_visible) {
    idle_set<> idle;
    apiary::parker_core<> core;
    apiary::sleeper<real_sync, apiary::parker_core<>> s(0, idle, core);
    s.sleep(core.forever, [] { return true; });
    EXPECT_FALSE(s.found_work()) << "nobody counted on it";
    EXPECT_EQ(idle.snapshot().value, 0U);
}

template <class Core>
class cores : public testing::Test {};
using core_types = testing::Types<apiary::parker_core<>, apiary::epoll_core>;
TYPED_TEST_SUITE(cores, core_types);

TYPED_TEST(cores, a_wake_before_the_wait_is_kept) {
    TypeParam core;
    core.wake();
    core.wait(TypeParam::forever);
}

TYPED_TEST(cores, returns_at_the_deadline_and_not_before) {
    TypeParam core;
    const std::int64_t deadline = real_sync::now_ns() + 3'000'000;
    while (real_sync::now_ns() < deadline) core.wait(deadline);
    core.wait(deadline);  // a deadline in the past does not block
}

TYPED_TEST(cores, one_claimed_sleeper_is_woken_and_knows_that_it_searches) {
    idle_set<> idle;
    TypeParam core;
    std::atomic<int> phase{0};
    std::thread worker([&] {
        apiary::sleeper<real_sync, TypeParam> s(1, idle, core);
        s.sleep(TypeParam::forever, [&] {
            phase = 1;
            return false;
        });
        EXPECT_TRUE(s.found_work());
        EXPECT_FALSE(s.found_work());
    });
    while (phase != 1) std::this_thread::yield();
    ASSERT_EQ(idle.claim_any(), 1U);
    core.wake();
    worker.join();
    EXPECT_EQ(idle.snapshot().value, 0U);
}

}  // namespace
