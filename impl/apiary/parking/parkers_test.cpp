// Tokens, signals and slices from one thread: what each call leaves for the next.
#include <apiary/parking/event_count.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/poll_parker.hpp>
#include <apiary/parking/time_slice.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

namespace parkers_test {
namespace {

using apiary::idle_word;
using apiary::real_sync;

TEST(poll_parker, interrupts_only_who_polls) {
    apiary::poll_parker<> parker;
    int interrupts = 0;
    const auto interrupt = [&] { ++interrupts; };
    parker.unpark(interrupt);
    EXPECT_EQ(interrupts, 0) << "nobody has polled yet";
    EXPECT_TRUE(parker.park_until(0)) << "the token is there for a park as well";
    parker.poll_until_woken([&] { parker.unpark(interrupt); });
    EXPECT_EQ(interrupts, 1);
    parker.unpark(interrupt);
    EXPECT_EQ(interrupts, 1) << "the poll is over";
    bool polled = false;
    parker.poll_until_woken([&] { polled = true; });
    EXPECT_FALSE(polled) << "the token was there";
}

TEST(poll_parker, a_poll_takes_the_token_that_came_meanwhile) {
    apiary::poll_parker<> parker;
    parker.poll_until_woken([&] { parker.unpark([] {}); });
    EXPECT_FALSE(parker.park_until(0));
    parker.poll_until_woken([] {});
    EXPECT_FALSE(parker.park_until(0)) << "none is made up";
}

// Does not block, so that the test can look at the words between the calls.
struct open_parker {
    void park() { ++parks; }
    void unpark() { ++unparks; }
    static inline int parks = 0, unparks = 0;
};
struct two_bits {
    static constexpr unsigned index_bits = 2;
    static constexpr unsigned epoch_bits = 8;
};
using events = apiary::event_count<real_sync, two_bits, open_parker>;

TEST(event_count, counts_each_commit_that_sleeps_and_no_other) {
    events e(3);
    open_parker::parks = open_parker::unparks = 0;
    for (std::uint64_t round = 1; round <= 3; ++round) {
        e.prepare_wait();
        e.commit_wait(round - 1);
        EXPECT_EQ(e.snapshot().epoch(), round);
        EXPECT_EQ(e.snapshot().top(), round);
        EXPECT_EQ(e.snapshot().before(), 0U);
    }
    EXPECT_EQ(open_parker::parks, 3);
    e.notify(2);
    EXPECT_EQ(e.snapshot().top(), 1U) << "the last two to come are the first to go";
    EXPECT_EQ(open_parker::unparks, 2);
    e.notify(5);
    EXPECT_EQ(open_parker::unparks, 3);
    EXPECT_EQ(e.snapshot().signals(), 0U) << "nobody is left who could take one";
    EXPECT_EQ(e.snapshot().epoch(), 3U);
}

TEST(event_count, has_room_for_as_many_waiters_as_it_says_and_for_no_more) {
    EXPECT_EQ(events::max_waiters, 3U);
    events most(3);
    EXPECT_THROW(events{4}, std::length_error);
}

TEST(idle_word, calls_for_a_wake_whoever_sleeps_unless_somebody_searches_or_naps) {
    for (const std::uint64_t sleepers :
         {std::uint64_t{1}, idle_word::bit(55), idle_word::one_of_several, idle_word::one_searcher - 1}) {
        const idle_word asleep{sleepers}, searched{sleepers + idle_word::one_searcher},
            napping{sleepers | idle_word::nap};
        for (const bool can_wait : {false, true}) {
            EXPECT_TRUE(asleep.calls_for_a_wake(can_wait)) << sleepers;
            EXPECT_FALSE(searched.calls_for_a_wake(can_wait)) << sleepers;
            EXPECT_EQ(napping.calls_for_a_wake(can_wait), !can_wait) << sleepers;
        }
    }
    EXPECT_FALSE(idle_word{}.calls_for_a_wake(false));
}

// A kernel that knows slices, or does not, and records what it is asked for.
struct noted_slices {
    static std::optional<std::uint64_t> get() { return slice; }
    static void set(std::uint64_t ns) { asked.push_back(ns), slice = ns; }
    static inline std::optional<std::uint64_t> slice;
    static inline std::vector<std::uint64_t> asked;
};
using noted_slice = apiary::basic_time_slice<noted_slices>;

TEST(time_slice, is_asked_for_and_given_back) {
    noted_slices::slice = 3'000'000;
    noted_slices::asked.clear();
    EXPECT_EQ(noted_slice::of_this_thread(), 3'000'000);
    {
        const noted_slice shorter(100'000);
        EXPECT_EQ(noted_slices::asked, std::vector<std::uint64_t>{100'000});
    }
    EXPECT_EQ(noted_slices::asked, (std::vector<std::uint64_t>{100'000, 3'000'000}));
    {
        const noted_slice as_it_is(0);
    }
    EXPECT_EQ(noted_slices::asked.size(), 2U);
}

TEST(time_slice, of_a_kernel_that_tells_none_is_left_alone) {
    noted_slices::slice.reset();
    noted_slices::asked.clear();
    EXPECT_EQ(noted_slice::of_this_thread(), 0);
    {
        const noted_slice shorter(100'000);
    }
    EXPECT_TRUE(noted_slices::asked.empty());
}

}  // namespace
}  // namespace parkers_test
