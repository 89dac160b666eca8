// A pool of coroutines and threads outside that meet: one lets a coroutine of high priority go on, which ends the
// pool while that thread is still on its way out of it.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>

#include <gtest/gtest.h>

#include <utility>

#include <apiary/testing/run_together.hpp>

namespace coro_together_test {
namespace {

using apiary::async_event;
using apiary::awaited;
using apiary::co_task;
using apiary::coro_pool;
using apiary::run_together;

co_task<> waits_for(async_event<>& event, int& written) {
    const awaited how = co_await event.wait();
    EXPECT_EQ(how, awaited::done);
    EXPECT_EQ(written, 1);
}

TEST(coro_together, a_pool_ends_after_the_thread_that_let_its_last_coroutine_go_on) {
    for (int round = 0; round != 4; ++round) {
        async_event<> event;
        int written = 0;
        run_together(
            [&] {
                coro_pool pool({.workers = 1, .priorities = true});
                pool.start();
                EXPECT_TRUE(pool.spawn(waits_for(event, written), {.priority = apiary::co_priority::high}));
                pool.stop();
            },
            [&] {
                written = 1;
                event.set();
            });
    }
}

co_task<int> first_or_second(async_event<>& event, int value) {
    const awaited how = co_await event.wait();
    co_return how == awaited::done ? value : 0;
}
co_task<> either(async_event<>& one, async_event<>& other, int& sum) {
    const auto [which, value] = co_await apiary::when_any(first_or_second(one, 1), first_or_second(other, 2));
    sum += value;
    EXPECT_EQ(value, which == 0 ? 1 : 2);
}

TEST(coro_together, contenders_that_end_at_once_let_go_of_their_record_in_any_order) {
    for (int round = 0; round != 4; ++round) {
        async_event<> one, other;
        int sum = 0;
        coro_pool pool({.workers = 2});
        pool.start();
        EXPECT_TRUE(pool.spawn(either(one, other, sum)));
        run_together([&] { one.set(); }, [&] { other.set(); });
        pool.stop();
        EXPECT_NE(sum, 0);
    }
}

}  // namespace
}  // namespace coro_together_test
