// Idle set, sleeper and the cores, from one or two threads: the states and who owes whom a wake.
#include <apiary/parking/epoll_core.hpp>
#include <apiary/parking/event_count.hpp>
#include <apiary/parking/event_loop_core.hpp>
#include <apiary/parking/fake_core.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/parker.hpp>
#include <apiary/parking/parker_core.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/parking/time_slice.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

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

TEST(idle_set, a_search_that_is_overdue_does_not_count) {
    idle_set<> idle;
    for (unsigned w : {0U, 1U}) idle.announce_sleep(w, false);
    bool asked = false, late = false;
    const auto overdue = [&] {
        asked = true;
        return late;
    };
    EXPECT_EQ(idle.claim_any(false, overdue), 0U);
    EXPECT_FALSE(asked) << "nobody searched";
    EXPECT_EQ(idle.claim_any(false, overdue), std::nullopt);
    EXPECT_TRUE(asked);
    late = true;
    EXPECT_EQ(idle.claim_any(false, overdue), 1U);
    asked = false;
    EXPECT_EQ(idle.claim_any(false, overdue), std::nullopt);
    EXPECT_FALSE(asked) << "there is no sleeper";
}

TEST(idle_set, what_can_wait_is_left_to_a_napper_and_the_rest_wakes_it) {
    idle_set<> idle;
    idle.announce_sleep(5, false);
    idle.announce_nap(3, false);
    EXPECT_TRUE(idle.snapshot().napping());
    EXPECT_EQ(idle.claim_any(true), std::nullopt);
    EXPECT_EQ(idle.claim_any(), 3U);
    EXPECT_EQ(idle.claim_any(true), std::nullopt) << "it comes";
    EXPECT_FALSE(idle.end_nap(3)) << "it was claimed";
    EXPECT_EQ(idle.snapshot().searching(), 1U);
    idle.announce_nap(3, true);
    EXPECT_TRUE(idle.end_nap(3)) << "it woke by itself";
    EXPECT_FALSE(idle.snapshot().napping());
    EXPECT_EQ(idle.snapshot().searching(), 1U) << "posts have counted on it";
    EXPECT_EQ(idle.claim_any(true), std::nullopt);
    idle.stop_searching();
    EXPECT_EQ(idle.claim_any(true), 5U);
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

TEST(time_slice, is_as_asked_for_while_it_lives_and_as_before_afterwards) {
    std::thread([] {
        const std::int64_t before = apiary::time_slice::of_this_thread();
        {
            const apiary::time_slice none(0);
            EXPECT_EQ(apiary::time_slice::of_this_thread(), before);
            const apiary::time_slice outer(200'000);
            if (apiary::time_slice::of_this_thread() != 200'000) GTEST_SKIP() << "none can be had here (Linux 6.12)";
            const apiary::time_slice inner(100'000);
            EXPECT_EQ(apiary::time_slice::of_this_thread(), 100'000);
        }
        EXPECT_EQ(apiary::time_slice::of_this_thread(), before);
    }).join();
}

TEST(parker, a_token_stays_and_two_are_one) {
    apiary::basic_parker<> p;
    p.unpark();
    p.unpark();
    p.park();
    EXPECT_FALSE(p.park_until(0)) << "a deadline in the past does not block";
    EXPECT_FALSE(p.park_until(-5));
    p.unpark();
    EXPECT_TRUE(p.park_until(0)) << "a token that is there counts whatever the deadline";
}

TEST(parker, an_unpark_ends_a_park_that_has_begun) {
    apiary::basic_parker<> p;
    std::atomic<bool> begun{false};
    std::thread owner([&] {
        begun = true;
        p.park();
    });
    while (!begun) std::this_thread::yield();
    p.unpark();
    owner.join();
}

TEST(event_count, costs_nothing_while_nobody_waits_and_a_cancel_leaves_nothing) {
    apiary::event_count<> events(2);
    events.notify_one();
    events.notify_all();
    EXPECT_EQ(events.snapshot().value, 0U);
    events.prepare_wait();
    EXPECT_EQ(events.snapshot().before(), 1U);
    events.cancel_wait();
    EXPECT_EQ(events.snapshot().value, 0U);
}

TEST(event_count, a_notify_between_prepare_and_commit_ends_the_wait_before_it_blocks) {
    apiary::event_count<> events(1);
    events.prepare_wait();
    events.notify_one();
    EXPECT_EQ(events.snapshot().signals(), 1U);
    events.notify_one();
    EXPECT_EQ(events.snapshot().signals(), 1U) << "no more signals than threads they could be for";
    events.commit_wait(0);
    EXPECT_EQ(events.snapshot().value, 0U);
}

TEST(event_count, a_cancel_takes_a_signal_only_when_it_is_certainly_its_own) {
    apiary::event_count<> events(2);
    events.prepare_wait();
    events.prepare_wait();
    events.notify(1);
    events.cancel_wait();
    EXPECT_EQ(events.snapshot().signals(), 1U) << "the other one may be meant";
    events.cancel_wait();
    EXPECT_EQ(events.snapshot().value, 0U);
}

TEST(event_count, who_has_committed_is_woken_before_who_has_not_is_signalled) {
    apiary::event_count<> events(1);
    std::thread sleeper([&] {
        events.prepare_wait();
        events.commit_wait(0);
    });
    while (events.snapshot().top() == 0) std::this_thread::yield();
    events.prepare_wait();
    events.notify_one();
    EXPECT_EQ(events.snapshot().signals(), 0U);
    sleeper.join();
    events.cancel_wait();
}

TEST(event_count, more_notifies_than_waits_are_worth_no_more_than_the_waits) {
    apiary::event_count<> events(2);
    events.notify(3);
    EXPECT_EQ(events.snapshot().value, 0U) << "nobody waits";
    events.prepare_wait();
    events.prepare_wait();
    events.notify(3);
    EXPECT_EQ(events.snapshot().signals(), 2U);
    events.commit_wait(0);
    events.commit_wait(1);
    EXPECT_EQ(events.snapshot().before(), 0U);
    EXPECT_EQ(events.snapshot().signals(), 0U);
}

// Parks nobody: what the woken thread would do at once, the test does inside the unpark.
struct scripted_parker {
    static inline std::vector<const scripted_parker*> unparked;
    static inline std::function<void()> on_unpark;
    void park() {}
    void unpark() {
        unparked.push_back(this);
        if (const auto act = std::exchange(on_unpark, {})) act();
    }
};

TEST(event_count, notify_all_reaches_everybody_below_one_that_waits_again_at_once) {
    apiary::event_count<real_sync, apiary::event_count_limits, scripted_parker> events(3);
    for (std::size_t waiter : {0U, 1U, 2U}) {
        events.prepare_wait();
        events.commit_wait(waiter);
    }
    scripted_parker::on_unpark = [&events] {  // of waiter 2, which lies on top
        events.prepare_wait();
        events.commit_wait(2);
    };
    events.notify_all();
    const auto& woken = scripted_parker::unparked;
    ASSERT_EQ(woken.size(), 3U);
    EXPECT_EQ(std::set(woken.begin(), woken.end()).size(), 3U) << "each once";
    EXPECT_EQ(events.snapshot().top(), 3U) << "who came again sleeps again";
}

TEST(event_count, refuses_more_waiters_than_the_word_can_name) {
    using counted = apiary::event_count<>;
    EXPECT_THROW(counted(counted::max_waiters + 1), std::length_error);
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
