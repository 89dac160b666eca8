// Semaphore and mutex, step by step on one thread: order, hand-over, cancels, frames that go early;
// and on real threads.
#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/coroutines/async_semaphore.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>

namespace async_semaphore_test {
namespace {

using apiary::async_mutex;
using apiary::async_semaphore;
using apiary::awaited;
using apiary::coroutine_place;
using apiary::plain_coroutine;
using apiary::resume_here;
using apiary::resume_later;

using lines = std::vector<std::string>;

plain_coroutine<> takes(coroutine_place<>, async_semaphore<>& s, lines& l, std::string name) {
    const awaited how = co_await s.acquire();
    l.push_back(name + (how == awaited::done ? " has it" : " was cancelled"));
}

TEST(async_semaphore, hands_out_what_is_free_and_then_makes_wait) {
    resume_later home;
    async_semaphore<> s(2);
    lines l;
    takes({home}, s, l, "a");
    takes({home}, s, l, "b");
    EXPECT_EQ(l, (lines{"a has it", "b has it"})) << "at once";
    EXPECT_FALSE(s.try_acquire());
    takes({home}, s, l, "c");
    EXPECT_EQ(l.size(), 2U);
    s.release();
    EXPECT_EQ(s.available(), 0U) << "handed over, not given back";
    EXPECT_EQ(home.run_all(), 1U);
    EXPECT_EQ(l.back(), "c has it");
}

TEST(async_semaphore, serves_those_that_wait_in_the_order_of_their_arrival) {
    resume_later home;
    async_semaphore<> s(0);
    lines l;
    for (const char* name : {"a", "b", "c"}) takes({home}, s, l, name);
    s.release(2);
    EXPECT_FALSE(s.try_acquire()) << "no newcomer overtakes c";
    s.release();
    home.run_all();
    EXPECT_EQ(l, (lines{"a has it", "b has it", "c has it"}));
    EXPECT_EQ(s.available(), 0U);
}

TEST(async_semaphore, keeps_the_permits_for_which_nobody_waits) {
    resume_later home;
    async_semaphore<> s(0);
    lines l;
    takes({home}, s, l, "a");
    s.release(3);
    home.run_all();
    EXPECT_EQ(s.available(), 2U);
    EXPECT_TRUE(s.try_acquire());
}

TEST(async_semaphore, a_cancelled_wait_says_so_once_and_takes_no_permit) {
    resume_later home;
    async_semaphore<> s(0);
    lines l;
    apiary::stop_hooks<> stop;
    takes({home}, s, l, "a");
    takes({home, &stop}, s, l, "b");
    takes({home}, s, l, "c");
    stop.ask();
    home.run_all();
    EXPECT_EQ(l, (lines{"b was cancelled"}));
    s.release(2);
    home.run_all();
    EXPECT_EQ(l, (lines{"b was cancelled", "a has it", "c has it"}));
}

TEST(async_semaphore, the_last_waiter_cancelled_leaves_it_as_if_nobody_had_waited) {
    resume_later home;
    async_semaphore<> s(0);
    lines l;
    apiary::stop_hooks<> stop;
    takes({home, &stop}, s, l, "a");
    stop.ask();
    home.run_all();
    s.release();
    EXPECT_EQ(s.available(), 1U);
}

TEST(async_semaphore, a_stop_asked_for_before_cancels_only_what_must_wait) {
    resume_later home;
    async_semaphore<> s(1);
    lines l;
    apiary::stop_hooks<> stop;
    stop.ask();
    takes({home, &stop}, s, l, "a");
    takes({home, &stop}, s, l, "b");
    EXPECT_EQ(l, (lines{"a has it", "b was cancelled"})) << "at once";
    EXPECT_TRUE(home.waiting.empty());
}

TEST(async_semaphore, a_cancel_behind_the_hand_over_is_too_late) {
    resume_later home;
    async_semaphore<> s(0);
    lines l;
    apiary::stop_hooks<> stop;
    takes({home, &stop}, s, l, "a");
    s.release();
    stop.ask();
    EXPECT_EQ(home.run_all(), 1U);
    EXPECT_EQ(l, (lines{"a has it"}));
}

TEST(async_semaphore, a_frame_destroyed_behind_the_hand_over_gives_the_permit_back) {
    resume_later home;
    async_semaphore<> s(0);
    lines l;
    takes({home}, s, l, "a");
    takes({home}, s, l, "b");
    s.release();
    (void)home.next()->drop();
    EXPECT_EQ(home.run_all(), 1U);
    EXPECT_EQ(l, (lines{"b has it"}));
}

TEST(async_semaphore, a_frame_destroyed_behind_its_cancel_holds_no_permit) {
    resume_later home;
    async_semaphore<> s(0);
    lines l;
    apiary::stop_hooks<> stop;
    takes({home, &stop}, s, l, "a");
    stop.ask();
    (void)home.next()->drop();
    EXPECT_EQ(s.available(), 0U);
    EXPECT_TRUE(l.empty());
}

TEST(async_semaphore, a_frame_destroyed_while_it_waits_leaves_the_list) {
    resume_later home;
    async_semaphore<> s(0);
    lines l;
    takes({home}, s, l, "a").frame.destroy();
    s.release();
    EXPECT_EQ(s.available(), 1U);
    EXPECT_TRUE(l.empty());
}

TEST(async_semaphore, that_goes_while_a_coroutine_waits_ends_the_program) {
    resume_later home;
    lines l;
    EXPECT_DEATH(
        {
            async_semaphore<> s(0);
            takes({home}, s, l, "a");
        },
        "destroyed while a coroutine waits");
}

plain_coroutine<> locks(coroutine_place<>, async_mutex<>& m, lines& l, std::string name) {
    if (auto held = co_await m.lock())
        l.push_back(name + " has it");
    else
        l.push_back(name + " was cancelled");
}

TEST(async_mutex, goes_from_holder_to_holder) {
    resume_later home;
    async_mutex<> m;
    lines l;
    apiary::stop_hooks<> stop;
    auto held = m.try_lock();
    EXPECT_TRUE(held);
    EXPECT_FALSE(m.try_lock());
    locks({home}, m, l, "a");
    locks({home, &stop}, m, l, "b");
    locks({home}, m, l, "c");
    stop.ask();
    held.unlock();
    EXPECT_FALSE(held);
    home.run_all();
    EXPECT_EQ(l, (lines{"b was cancelled", "a has it", "c has it"}));
    EXPECT_TRUE(m.try_lock());
}

TEST(async_mutex, unlocked_though_not_locked_ends_the_program) {
    async_mutex<> m;
    EXPECT_DEATH(m.unlock(), "that was not locked");
}

plain_coroutine<> counts(coroutine_place<>, async_mutex<>& m, int& n, int times) {
    for (int i = 0; i != times; ++i) {
        const auto held = co_await m.lock();
        ++n;
    }
}

// The last to unlock goes on with all that wait: the stack grows with the number of coroutines, and
// no further.
TEST(async_mutex, excludes_coroutines_on_real_threads) {
    resume_here<> home;
    async_mutex<> m;
    int n = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i != 3; ++i) threads.emplace_back([&] { counts({home}, m, n, 200); });
    }
    EXPECT_EQ(n, 600);
}

}  // namespace
}  // namespace async_semaphore_test
