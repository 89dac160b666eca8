// Events, step by step on one thread.
#include <apiary/coroutines/async_event.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>

namespace async_event_test {
namespace {

using apiary::async_event;
using apiary::awaited;
using apiary::coroutine_place;
using apiary::plain_coroutine;
using apiary::resume_later;

using lines = std::vector<std::string>;

plain_coroutine<> waits(coroutine_place<>, async_event<>& e, lines& l, std::string name) {
    const awaited how = co_await e.wait();
    l.push_back(name + (how == awaited::done ? " went on" : " was cancelled"));
}

TEST(async_event, lets_all_go_on_that_wait_and_all_that_come_until_a_reset) {
    resume_later home;
    async_event<> e;
    lines l;
    waits({home}, e, l, "a");
    waits({home}, e, l, "b");
    EXPECT_FALSE(e.is_set());
    e.set();
    e.set();
    EXPECT_TRUE(e.is_set());
    EXPECT_EQ(home.run_all(), 2U);
    waits({home}, e, l, "c");
    EXPECT_EQ(l, (lines{"a went on", "b went on", "c went on"}));
    e.reset();
    e.reset();
    waits({home}, e, l, "d");
    EXPECT_EQ(l.size(), 3U);
    e.set();
    home.run_all();
    EXPECT_EQ(l.back(), "d went on");
}

TEST(async_event, a_cancelled_wait_says_so_and_a_frame_that_goes_leaves_the_list) {
    resume_later home;
    async_event<> e;
    lines l;
    apiary::stop_hooks<> stop;
    waits({home, &stop}, e, l, "a");
    waits({home}, e, l, "b").frame.destroy();
    waits({home}, e, l, "c");
    stop.ask();
    e.set();
    EXPECT_EQ(home.run_all(), 2U);
    EXPECT_EQ(l, (lines{"a was cancelled", "c went on"}));
}

TEST(async_event, that_goes_while_a_coroutine_waits_ends_the_program) {
    resume_later home;
    lines l;
    EXPECT_DEATH(
        {
            async_event<> e;
            waits({home}, e, l, "a");
        },
        "destroyed while a coroutine waits");
}

}  // namespace
}  // namespace async_event_test
