// Coroutines that sleep on a hive's timers, and come back to the hive: the bridge of
// coroutines/delayed_posts.hpp.
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/delayed_posts.hpp>
#include <apiary/coroutines/select.hpp>
#include <apiary/coroutines/sleeping.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>
#include <variant>

#include <apiary/testing/plain_coroutine.hpp>
#include <apiary/testing/running_hive.hpp>

namespace hive_sleep_test {
namespace {

using namespace std::chrono_literals;
using apiary::awaited;
using apiary::coroutine_place;
using apiary::delayed_posts;
using apiary::hive;
using apiary::plain_coroutine;
using apiary::resume_here;
using apiary::running_hive;
using apiary::sleep_for;
using apiary::stop_mode;
using apiary::wait_for;

// Brings coroutines back to a hive, as jobs of micro tasks; where the hive refuses, on the thread
// that asks.
struct to_a_hive final : apiary::home<apiary::real_sync> {
    explicit to_a_hive(hive& to) : h(to) {}
    void resume(apiary::job<>& j) noexcept override {
        if (!h.post_micro([&j] { (void)j.run(); })) (void)j.run();
    }
    hive& h;
};

plain_coroutine<> sleeps(coroutine_place<>, delayed_posts<hive>& timers, std::chrono::nanoseconds delay, int times,
                         std::atomic<int>& woke, std::atomic<int>& cancelled) {
    for (int i = 0; i != times; ++i) {
        const awaited how = co_await sleep_for(timers, delay);
        ++(how == awaited::done ? woke : cancelled);
    }
}

TEST(sleeping_on_a_hive, wakes_on_its_workers_behind_the_deadline) {
    running_hive r({.io_workers = 2});
    to_a_hive home(r.h);
    delayed_posts<hive> timers(r.h);
    std::atomic<int> woke = 0, cancelled = 0;
    const std::int64_t start = timers.now_ns();
    for (int i = 0; i != 4; ++i) sleeps({home}, timers, 200us, 5, woke, cancelled);
    wait_for(woke, 20);
    EXPECT_GE(timers.now_ns() - start, 1'000'000);
    EXPECT_EQ(cancelled, 0);
    r.stop();
}

TEST(sleeping_on_a_hive, is_cancelled_by_a_stop_token) {
    running_hive r({.io_workers = 1});
    to_a_hive home(r.h);
    delayed_posts<hive> timers(r.h);
    std::atomic<int> woke = 0, cancelled = 0;
    apiary::stop_hooks<> stop;
    sleeps({home, &stop}, timers, 1h, 1, woke, cancelled);
    stop.ask();
    wait_for(cancelled, 1);
    EXPECT_EQ(woke, 0);
    EXPECT_EQ(r.stop().cancelled, 1U);
}

TEST(sleeping_on_a_hive, ends_with_the_hive) {
    resume_here<> home;
    std::atomic<int> woke = 0, cancelled = 0;
    running_hive r({.io_workers = 1});
    delayed_posts<hive> timers(r.h);
    sleeps({home}, timers, 1h, 1, woke, cancelled);
    r.stop(stop_mode::drain);
    EXPECT_EQ(cancelled, 1) << "a timer that is not due when the hive stops is discarded";
    sleeps({home}, timers, 1h, 2, woke, cancelled);
    EXPECT_EQ(cancelled, 3) << "a stopped hive refuses, and the await says so at once";
    EXPECT_EQ(woke, 0);
}

// Stops and deadlines at the same time: each await ends once, or the coroutine would be resumed
// twice.
TEST(sleeping_on_a_hive, deadline_and_cancel_race) {
    running_hive r({.io_workers = 2});
    to_a_hive home(r.h);
    delayed_posts<hive> timers(r.h);
    std::atomic<int> woke = 0, cancelled = 0;
    constexpr int rounds = 200;
    std::deque<apiary::stop_hooks<>> stops;  // until the last coroutine has gone on
    for (int i = 0; i != rounds; ++i) {
        apiary::stop_hooks<>& stop = stops.emplace_back();
        sleeps({home, &stop}, timers, 20us, 1, woke, cancelled);
        std::this_thread::sleep_for(std::chrono::microseconds(i % 60));
        stop.ask();
    }
    while (woke + cancelled < rounds) std::this_thread::yield();
    EXPECT_EQ(woke + cancelled, rounds);
    r.stop();
}

plain_coroutine<> receives(coroutine_place<>, delayed_posts<hive>& timers, apiary::channel<int>& c, std::atomic<int>& received,
                           std::atomic<int>& none, std::atomic<int>& over) {
    for (int i = 0;; ++i) {
        const auto soon = std::chrono::microseconds(i % 3 * 20);
        awaited how;
        if (i % 2 == 0) {
            const auto r = co_await c.receive_for(timers, soon);
            how = r.how;
        } else {
            const auto r = co_await apiary::select(c.receive(), apiary::after(timers, soon));
            how = r.index() == 0 ? std::get<0>(r).how : awaited::timed_out;
        }
        if (how == awaited::done) ++received;
        if (how == awaited::closed) break;
        if (how == awaited::timed_out) ++none;
    }
    ++over;
}

TEST(sleeping_on_a_hive, limits_and_selects_there_lose_nothing) {
    running_hive r({.io_workers = 2});
    to_a_hive home(r.h);
    delayed_posts<hive> timers(r.h);
    apiary::channel<int> c(1);
    std::atomic<int> received = 0, none = 0, over = 0;
    for (int i = 0; i != 3; ++i) receives({home}, timers, c, received, none, over);
    int sent = 0;
    for (int i = 0; i != 1000; ++i)
        if (c.try_send(i) == awaited::done) ++sent;
    while (none < 3) std::this_thread::yield();
    c.close();
    wait_for(over, 3);
    r.stop();
    EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace hive_sleep_test
