// Idle set, parker and event count, from one or two threads: the states, and which thread owes which a wake.
#include <apiary/parking/event_count.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/idle_sets.hpp>
#include <apiary/parking/parker.hpp>
#include <apiary/parking/push_mark.hpp>
#include <apiary/parking/time_slice.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace parking_test {
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

TEST(idle_set, asks_whether_others_may_push_only_if_one_is_awake) {
    unsigned asked = 0;
    const auto may_push = [&asked](bool answer) {
        return [&asked, answer] { return ++asked, answer; };
    };
    const apiary::idle_word one_sleeps{apiary::idle_word::bit(1)};
    idle_set<>::fence_against_pushers(one_sleeps, 0, [] { return 2U; }, may_push(true));
    EXPECT_EQ(asked, 0U) << "all others sleep";
    idle_set<>::fence_against_pushers(one_sleeps, 0, [] { return 3U; }, may_push(false));
    EXPECT_EQ(asked, 1U);
}

TEST(push_mark, is_set_from_a_push_until_the_next_rest) {
    apiary::push_mark<> mark;
    EXPECT_FALSE(mark.may_push());
    for (int n = 0; n != 2; ++n) {
        mark.before_push();
        mark.before_push();
        EXPECT_TRUE(mark.may_push());
        mark.rest();
        EXPECT_FALSE(mark.may_push());
        mark.rest();
        EXPECT_FALSE(mark.may_push());
    }
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

// Two workers to a set.
using pairs = apiary::idle_sets<real_sync, 2, 3>;
constexpr auto never = [] { return false; };

TEST(idle_sets, name_as_many_workers_as_they_say) {
    EXPECT_EQ(apiary::idle_sets<>::max_workers, 280U);
    EXPECT_EQ(pairs::max_workers, 6U);
    pairs sets;
    EXPECT_EQ(&sets.of(0), &sets.of(1));
    EXPECT_NE(&sets.of(1), &sets.of(2));
    EXPECT_EQ(pairs::within(3), 1U);
}

TEST(idle_sets, call_for_no_wake_while_all_workers_run) {
    pairs sets;
    for (unsigned w = 0; w != pairs::max_workers; ++w) (void)sets.join(w);
    EXPECT_FALSE(sets.calls_for_a_wake());
    sets.of(3).announce_sleep(pairs::within(3), false);
    EXPECT_TRUE(sets.calls_for_a_wake());
    pairs one_word;
    (void)one_word.join(0);
    one_word.of(0).announce_nap(0, false);
    EXPECT_TRUE(one_word.calls_for_a_wake()) << "a napper is no searcher to what cannot wait";
}

TEST(idle_sets, of_few_workers_use_one_word) {
    pairs sets;
    for (unsigned w : {0U, 1U}) sets.join(w);
    sets.of(1).announce_sleep(1, false);
    EXPECT_FALSE(sets.look().several());
    sets.of(3).announce_sleep(1, false);  // it has not joined
    EXPECT_EQ(sets.asleep(), 1U);
    EXPECT_EQ(sets.claim_any(), 1U);
    EXPECT_FALSE(sets.calls_for_a_wake());
    sets.of(1).stop_searching();
    EXPECT_EQ(sets.claim_any(), std::nullopt);
}

TEST(idle_sets, claim_one_after_another_while_nobody_searches) {
    pairs sets;
    for (unsigned w = 0; w != 6; ++w) {
        sets.join(w).announce_sleep(pairs::within(w), false);
        EXPECT_EQ(sets.asleep(), w + 1);
        EXPECT_TRUE(sets.calls_for_a_wake());
    }
    for (unsigned w = 0; w != 6; ++w) {
        EXPECT_EQ(sets.claim_any(), w);
        EXPECT_EQ(sets.asleep(), 5 - w);
        EXPECT_FALSE(sets.calls_for_a_wake()) << "it searches";
        EXPECT_EQ(sets.claim_any(), std::nullopt) << "it searches";
        sets.of(w).stop_searching();
        EXPECT_EQ(sets.calls_for_a_wake(), w != 5);
    }
    EXPECT_EQ(sets.claim_any(), std::nullopt);
}

TEST(idle_sets, a_searcher_of_an_earlier_set_counts_for_those_behind_it_unless_it_is_overdue) {
    pairs sets;
    for (unsigned w = 0; w != 4; ++w) sets.join(w);
    sets.of(0).announce_sleep(0, false);
    sets.of(3).announce_sleep(1, false);
    EXPECT_EQ(sets.claim_any(), 0U);
    EXPECT_EQ(sets.claim_any(sets.look(), false, never), std::nullopt);
    EXPECT_EQ(sets.claim_any(sets.look(), false, [] { return true; }), 3U);
    sets.of(0).stop_searching();
    EXPECT_EQ(sets.claim_any(), std::nullopt) << "the one of the second set searches";
    sets.of(1).announce_sleep(1, false);
    EXPECT_EQ(sets.claim_any(), 1U) << "it stands before the searcher";
}

TEST(idle_sets, what_can_wait_is_left_to_a_napper_of_whichever_set) {
    pairs sets;
    for (unsigned w = 0; w != 6; ++w) sets.join(w);
    sets.of(5).announce_sleep(1, false);
    sets.of(2).announce_nap(0, false);
    EXPECT_EQ(sets.claim_any(true), std::nullopt);
    EXPECT_TRUE(sets.of(2).end_nap(0));
    sets.of(2).stop_searching();
    EXPECT_EQ(sets.claim_any(true), 5U);
    sets.of(5).stop_searching();
    sets.of(2).announce_nap(0, false);
    EXPECT_EQ(sets.claim_any(), 2U) << "what cannot wake it";
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

// Does not park: inside the unpark the test does what the woken thread would do at once.
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
    scripted_parker::on_unpark = [&events] {  // of waiter 2, which is on top
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

}  // namespace
}  // namespace parking_test
