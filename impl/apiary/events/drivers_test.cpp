// The drivers, and the sleeper that blocks in them, from one or two threads: which wait ends, and what is known then.
#include <apiary/events/driver.hpp>
#include <apiary/events/epoll_driver.hpp>
#include <apiary/events/parker_driver.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/testing/fake_driver.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace drivers_test {
namespace {

using apiary::idle_set;
using apiary::real_sync;

class sleeper : public testing::Test {
protected:
    // A post claims the worker between its announcement and its block.
    void claim_it_asleep() {
        s.sleep(driver.forever, [this] {
            EXPECT_TRUE(idle.claim(0));
            driver.wake();
            return false;
        });
    }
    idle_set<> idle;
    apiary::parker_driver<> driver;
    apiary::sleeper<real_sync, apiary::parker_driver<>> s{0, idle, driver};
};

TEST_F(sleeper, does_not_block_when_work_is_visible) {
    s.sleep(driver.forever, [] { return true; });
    EXPECT_FALSE(s.found_work()) << "nobody counted on it";
    EXPECT_EQ(idle.snapshot().value, 0U);
}

TEST_F(sleeper, who_gives_up_its_search_and_then_sees_work_must_look_for_more) {
    claim_it_asleep();
    ASSERT_TRUE(s.searching());
    (void)idle.announce_sleep(1, false);
    s.sleep(driver.forever, [] { return true; });
    EXPECT_FALSE(s.searching());
    EXPECT_TRUE(s.found_work()) << "posts had counted on its search";
    EXPECT_FALSE(s.found_work());
    EXPECT_TRUE(idle.withdraw(1));
    EXPECT_EQ(idle.snapshot().value, 0U);
}

TEST_F(sleeper, where_nobody_sleeps_a_search_ends_without_a_look) {
    claim_it_asleep();
    ASSERT_TRUE(s.searching());
    EXPECT_FALSE(s.found_work()) << "one that falls asleep behind this looks for itself";
    EXPECT_FALSE(s.searching());
    EXPECT_EQ(idle.snapshot().value, 0U);
}

struct still_clock {
    std::int64_t now = 0;
    std::int64_t now_ns() const { return now; }
    void set(std::int64_t to) { now = to; }
};
using fake = apiary::fake_driver<still_clock>;

static_assert(apiary::worker_driver<apiary::parker_driver<>> && apiary::worker_driver<apiary::epoll_driver> &&
              apiary::worker_driver<fake>);
struct cannot_be_woken {
    static constexpr std::int64_t forever = INT64_MAX;
    void wait(std::int64_t) {}
    void poll() {}
};
static_assert(!apiary::worker_driver<cannot_be_woken>);

TEST(fake_driver, a_wake_ends_one_wait_and_without_one_the_clock_moves_to_the_deadline) {
    still_clock clock;
    fake driver(clock);
    driver.wake();
    driver.wake();
    driver.wait(50);
    EXPECT_EQ(clock.now, 0) << "the token was there; two wakes are one";
    driver.wait(50);
    EXPECT_EQ(clock.now, 50);
    driver.wait(20);
    EXPECT_EQ(clock.now, 50) << "a deadline in the past does not block";
    EXPECT_EQ(driver.stuck(), 0U);
    driver.wait(fake::forever);
    EXPECT_EQ(driver.stuck(), 1U);
    EXPECT_EQ(driver.waits(), (std::vector<std::int64_t>{50, 50, 20, fake::forever}));
}

TEST(fake_driver, a_sleeper_sleeps_until_its_timer_and_is_then_running) {
    still_clock clock;
    fake driver(clock);
    idle_set<> idle;
    apiary::sleeper<real_sync, fake> s(2, idle, driver);
    s.sleep(700, [&] { return !idle.snapshot().sleeps(2); });
    EXPECT_EQ(clock.now, 700);
    EXPECT_FALSE(s.found_work());
    EXPECT_EQ(idle.snapshot().value, 0U);
}

template <class Driver>
class drivers : public testing::Test {};
using driver_types = testing::Types<apiary::parker_driver<>, apiary::epoll_driver>;
TYPED_TEST_SUITE(drivers, driver_types);

TYPED_TEST(drivers, a_wake_before_the_wait_is_kept) {
    TypeParam driver;
    driver.wake();
    driver.wait(TypeParam::forever);
}

TYPED_TEST(drivers, returns_at_the_deadline_and_not_before) {
    TypeParam driver;
    const std::int64_t deadline = real_sync::now_ns() + 3'000'000;
    while (real_sync::now_ns() < deadline) driver.wait(deadline);
    driver.wait(deadline);  // a deadline in the past does not block
}

TYPED_TEST(drivers, one_claimed_sleeper_is_woken_and_knows_that_it_searches) {
    idle_set<> idle;
    TypeParam driver;
    std::atomic<int> phase{0};
    std::thread worker([&] {
        apiary::sleeper<real_sync, TypeParam> s(1, idle, driver);
        s.sleep(TypeParam::forever, [&] {
            phase = 1;
            return false;
        });
        EXPECT_TRUE(s.found_work());
        EXPECT_FALSE(s.found_work());
    });
    while (phase != 1) std::this_thread::yield();
    ASSERT_EQ(idle.claim_any(), 1U);
    (void)idle.announce_sleep(2, false);  // another, which the worker might have to wake
    driver.wake();
    worker.join();
    EXPECT_TRUE(idle.withdraw(2));
    EXPECT_EQ(idle.snapshot().value, 0U);
}

}  // namespace
}  // namespace drivers_test
