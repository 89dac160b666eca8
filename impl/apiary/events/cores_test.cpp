// The cores, and the sleeper that blocks in them, from one or two threads: which wait ends, and what is known then.
#include <apiary/events/epoll_core.hpp>
#include <apiary/events/event_loop_core.hpp>
#include <apiary/events/parker_core.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/testing/fake_core.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using apiary::idle_set;
using apiary::real_sync;

TEST(sleeper, does_not_block_when_work_is_visible) {
    idle_set<> idle;
    apiary::parker_core<> core;
    apiary::sleeper<real_sync, apiary::parker_core<>> s(0, idle, core);
    s.sleep(core.forever, [] { return true; });
    EXPECT_FALSE(s.found_work()) << "nobody counted on it";
    EXPECT_EQ(idle.snapshot().value, 0U);
}

TEST(sleeper, who_gives_up_its_search_and_then_sees_work_must_look_for_more) {
    idle_set<> idle;
    apiary::parker_core<> core;
    apiary::sleeper<real_sync, apiary::parker_core<>> s(0, idle, core);
    s.sleep(core.forever, [&] {
        EXPECT_TRUE(idle.claim(0));
        core.wake();
        return false;
    });
    ASSERT_TRUE(s.searching());
    s.sleep(core.forever, [] { return true; });
    EXPECT_FALSE(s.searching());
    EXPECT_TRUE(s.found_work()) << "posts had counted on its search";
    EXPECT_FALSE(s.found_work());
    EXPECT_EQ(idle.snapshot().value, 0U);
}

struct still_clock {
    std::int64_t now = 0;
    std::int64_t now_ns() const { return now; }
    void set(std::int64_t to) { now = to; }
};
using fake = apiary::fake_core<still_clock>;

static_assert(apiary::event_loop_core<apiary::parker_core<>> && apiary::event_loop_core<apiary::epoll_core> &&
              apiary::event_loop_core<fake>);
struct cannot_be_woken {
    static constexpr std::int64_t forever = INT64_MAX;
    void wait(std::int64_t) {}
    void poll() {}
};
static_assert(!apiary::event_loop_core<cannot_be_woken>);

TEST(fake_core, a_wake_ends_one_wait_and_without_one_the_clock_moves_to_the_deadline) {
    still_clock clock;
    fake core(clock);
    core.wake();
    core.wake();
    core.wait(50);
    EXPECT_EQ(clock.now, 0) << "the token was there; two wakes are one";
    core.wait(50);
    EXPECT_EQ(clock.now, 50);
    core.wait(20);
    EXPECT_EQ(clock.now, 50) << "a deadline in the past does not block";
    EXPECT_EQ(core.stuck(), 0U);
    core.wait(fake::forever);
    EXPECT_EQ(core.stuck(), 1U);
    EXPECT_EQ(core.waits(), (std::vector<std::int64_t>{50, 50, 20, fake::forever}));
}

TEST(fake_core, a_sleeper_sleeps_until_its_timer_and_is_then_running) {
    still_clock clock;
    fake core(clock);
    idle_set<> idle;
    apiary::sleeper<real_sync, fake> s(2, idle, core);
    s.sleep(700, [&] { return !idle.snapshot().sleeps(2); });
    EXPECT_EQ(clock.now, 700);
    EXPECT_FALSE(s.found_work());
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
