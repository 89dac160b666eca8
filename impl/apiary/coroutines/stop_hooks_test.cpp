// Stop hooks on one thread: which are called, in which order, and what a second ask and a late add are told.
#include <apiary/coroutines/stop_hooks.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace stop_hooks_test {
namespace {

using apiary::stop_hook;
using apiary::stop_hooks;

struct named : stop_hook<> {
    named(std::string n, std::string& c, stop_hooks<>* again = nullptr) : name(std::move(n)), calls(c), asks(again) {}
    static void call(stop_hook<>& h) noexcept {
        auto& me = static_cast<named&>(h);
        me.calls += me.name;
        if (me.asks != nullptr && me.asks->ask()) me.calls += "!";
    }
    const std::string name;
    std::string& calls;
    stop_hooks<>* const asks;
};

TEST(stop_hooks, calls_those_that_were_added_in_that_order_but_not_what_was_removed) {
    stop_hooks<> hooks;
    std::string calls;
    named a("a", calls), b("b", calls), c("c", calls);
    for (named* h : {&a, &b, &c}) ASSERT_TRUE(hooks.add(*h, &named::call));
    stop_hooks<>::remove(b);
    EXPECT_TRUE(hooks.ask());
    EXPECT_EQ(calls, "ac");
    stop_hooks<>::remove(a);
    stop_hooks<>::remove(c);
}

TEST(stop_hooks, asked_twice_says_so_and_calls_nobody_again) {
    stop_hooks<> hooks;
    std::string calls;
    named a("a", calls, &hooks), b("b", calls);
    ASSERT_TRUE(hooks.add(a, &named::call));
    ASSERT_TRUE(hooks.add(b, &named::call));
    EXPECT_TRUE(hooks.ask());
    EXPECT_EQ(calls, "ab") << "the ask inside the call was the second";
    EXPECT_FALSE(hooks.ask());
    EXPECT_EQ(calls, "ab");
}

TEST(stop_hooks, behind_the_ask_nothing_is_added) {
    stop_hooks<> hooks;
    std::string calls;
    named a("a", calls);
    EXPECT_TRUE(hooks.ask());
    EXPECT_FALSE(hooks.add(a, &named::call));
    EXPECT_EQ(calls, "");
}

}  // namespace
}  // namespace stop_hooks_test
