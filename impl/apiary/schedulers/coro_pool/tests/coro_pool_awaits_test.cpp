// Coroutines of a coro_pool that await a channel, a mutex, a semaphore, times and descriptors; and a stop that cancels
// them.
#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/readable.hpp>
#include <apiary/coroutines/select.hpp>
#include <apiary/coroutines/sleeping.hpp>
#include <apiary/coroutines/timer_thread.hpp>
#include <apiary/events/epoll_driver.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <variant>

namespace coro_pool_awaits_test {
namespace {

using namespace std::chrono_literals;
using namespace apiary;

struct running_world {
    ~running_world() {
        w.stop();
        t.join();
    }
    timer_thread<real_sync, epoll_driver> w;
    std::thread t{[this] { w.run(); }};
};

co_task<> sends(channel<int>& c, int from, int to) {
    for (int i = from; i != to; ++i) (void)co_await c.send(i);
}
co_task<std::int64_t> adds(channel<int>& c) {
    std::int64_t sum = 0;
    while (auto r = co_await c.receive()) sum += *r.value;
    co_return sum;
}

TEST(coro_pool_awaits, a_channel) {
    for (const std::size_t capacity : {0U, 1U, 16U}) {
        coro_pool pool({.workers = 2});
        pool.start();
        channel<int> c(capacity);
        for (int i = 0; i != 4; ++i) EXPECT_TRUE(pool.spawn(sends(c, i * 1000, (i + 1) * 1000)));
        std::atomic<std::int64_t> sum = 0;
        std::thread other([&] { sum += sync_wait(pool, adds(c)); });
        std::thread third([&] { sum += sync_wait(pool, adds(c)); });
        while (pool.report().run < 4) std::this_thread::yield();
        c.close();
        other.join();
        third.join();
        EXPECT_EQ(sum, 3999 * 4000 / 2);
        pool.stop();
    }
}

co_task<> counts(async_mutex<>& m, async_semaphore<>& s, int& n, std::atomic<int>& ended) {
    for (int i = 0; i != 200; ++i) {
        (void)co_await s.acquire();
        {
            auto held = co_await m.lock();
            ++n;
        }
        s.release();
    }
    ++ended;
}

TEST(coro_pool_awaits, a_mutex_and_a_semaphore) {
    coro_pool pool({.workers = 3});
    pool.start();
    async_mutex<> m;
    async_semaphore<> s(2);
    int n = 0;
    std::atomic<int> ended = 0;
    for (int i = 0; i != 20; ++i) EXPECT_TRUE(pool.spawn(counts(m, s, n, ended)));
    while (ended != 20) std::this_thread::yield();
    pool.stop();
    EXPECT_EQ(n, 4000);
}

co_task<int> echo(running_world& r, int fd) {
    (void)co_await sleep_for(r.w, 200us);
    const awaited how = co_await readable(r.w, fd);
    char c = 0;
    EXPECT_EQ(::read(fd, &c, 1), 1);
    co_return how == awaited::done ? c : -1;
}

TEST(coro_pool_awaits, times_and_descriptors) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    coro_pool pool({.workers = 2});
    pool.start();
    {
        running_world r;
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
        EXPECT_EQ(sync_wait(pool, echo(r, ends[0])), 'x');
    }
    for (const int fd : ends) ::close(fd);
}

co_task<> waits(running_world& r, channel<int>& c, async_mutex<>& m, int which, int fd, std::atomic<int>& begun,
                std::atomic<int>& cancelled) {
    ++begun;
    awaited how = awaited::done;
    if (which == 0) how = (co_await c.receive()).how;
    if (which == 1) how = co_await sleep_for(r.w, 1h);
    if (which == 2) how = co_await readable(r.w, fd);
    if (which == 3) {
        auto held = co_await m.lock();
        how = held ? awaited::done : awaited::cancelled;
    }
    if (how == awaited::cancelled) ++cancelled;
}

TEST(coro_pool_awaits, a_stop_that_cancels) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    running_world r;
    channel<int> c(1);
    async_mutex<> m;
    std::atomic<int> begun = 0, cancelled = 0;
    auto held = m.try_lock();
    coro_pool pool({.workers = 2});
    pool.start();
    for (int i = 0; i != 4; ++i) EXPECT_TRUE(pool.spawn(waits(r, c, m, i, ends[0], begun, cancelled)));
    while (begun != 4) std::this_thread::yield();
    pool.stop(co_stop::cancel);
    EXPECT_EQ(cancelled, 4);
    for (const int fd : ends) ::close(fd);
}

// What a when_any of raw waits does, as its card says, and what to write instead. One worker: the sender ends first,
// and the receiver was served by then.
struct served_and_lost {
    channel<int> c{1};
    async_semaphore<> s{0};
};
co_task<int> receives_one(served_and_lost& x) {
    const auto r = co_await x.c.receive();
    co_return r ? *r.value : 0;
}
co_task<int> acquires_one(served_and_lost& x) {
    const awaited how = co_await x.s.acquire();
    co_return how == awaited::done ? 2 : 0;
}
co_task<int> holds_one(served_and_lost& x) {
    auto p = co_await x.s.acquire_permit();
    co_return p ? 2 : 0;
}
co_task<int> sends_one(served_and_lost& x) {
    co_await yield_turn();  // the other waits by then
    (void)x.c.try_send(7);
    co_return 1;
}
co_task<int> releases_one(served_and_lost& x) {
    co_await yield_turn();
    x.s.release();
    co_return 1;
}
co_task<> races(served_and_lost& x, std::array<std::size_t, 3>& first) {
    first[0] = (co_await when_any(receives_one(x), sends_one(x))).index;
    first[1] = (co_await when_any(acquires_one(x), releases_one(x))).index;
    first[2] = (co_await when_any(holds_one(x), releases_one(x))).index;
}
TEST(coro_pool_awaits, a_when_any_of_raw_waits_loses_what_its_loser_was_given) {
    coro_pool pool({.workers = 1});
    pool.start();
    served_and_lost x;
    std::array<std::size_t, 3> first{};
    sync_wait(pool, races(x, first));
    pool.stop();
    EXPECT_EQ(first[0], 1U);
    EXPECT_EQ(x.c.size(), 0U) << "sent, and received by nobody";
    EXPECT_EQ(first[1], 1U);
    EXPECT_EQ(first[2], 1U);
    EXPECT_EQ(x.s.available(), 1U) << "of two permits: the one that a guard held is back";
}

constexpr int rounds = 300;
co_task<> sends_each(channel<int>& c, running_world& r, int& sent) {
    for (int i = 0; i != rounds; ++i) {
        const awaited how = co_await c.send_for(r.w, i, std::chrono::microseconds(i % 3));
        if (how == awaited::done) ++sent;
    }
    c.close();
}
co_task<> takes_each(channel<int>& c, async_semaphore<>& s, running_world& r, int& received) {
    for (int i = 0;; ++i) {
        auto p = co_await s.acquire_for(r.w, std::chrono::microseconds(i % 4));
        if (!p) continue;
        if (i % 2 == 0) {
            const auto v = co_await c.receive_for(r.w, std::chrono::microseconds(i % 3));
            if (v) ++received;
            if (v.how == awaited::closed) co_return;
        } else {
            const auto v = co_await select(c.receive(), after(r.w, std::chrono::microseconds(i % 3)));
            if (v.index() != 0) continue;
            if (std::get<0>(v)) ++received;
            if (std::get<0>(v).how == awaited::closed) co_return;
        }
    }
}
TEST(coro_pool_awaits, waits_with_limits_and_selects_lose_nothing) {
    for (const std::size_t capacity : {0U, 2U}) {
        coro_pool pool({.workers = 2});
        pool.start();
        running_world r;
        channel<int> c(capacity);
        async_semaphore<> s(1);
        int sent = 0;
        std::array<int, 2> received{};
        EXPECT_TRUE(pool.spawn(takes_each(c, s, r, received[0])));
        EXPECT_TRUE(pool.spawn(takes_each(c, s, r, received[1])));
        EXPECT_TRUE(pool.spawn(sends_each(c, r, sent)));
        pool.stop();
        EXPECT_EQ(received[0] + received[1], sent);
        EXPECT_EQ(s.available(), 1U);
    }
}
co_task<awaited> waits_long(channel<int>& c, running_world& r) {
    const auto v = co_await c.receive_for(r.w, 1h);
    co_return v.how;
}
co_task<std::size_t> selects_long(channel<int>& c, running_world& r) {
    const auto v = co_await select(c.receive(), after(r.w, 1h));
    co_return v.index();
}
co_task<> waits_both(channel<int>& c, running_world& r, std::atomic<int>& begun, std::atomic<int>& cancelled) {
    ++begun;
    const auto [how, arm] = co_await when_all(waits_long(c, r), selects_long(c, r));
    if (how == awaited::cancelled && arm == 2) ++cancelled;
}
TEST(coro_pool_awaits, a_stop_ends_waits_with_limits_and_selects) {
    running_world r;
    channel<int> c(1);
    std::atomic<int> begun = 0, cancelled = 0;
    coro_pool pool({.workers = 2});
    pool.start();
    for (int i = 0; i != 4; ++i) EXPECT_TRUE(pool.spawn(waits_both(c, r, begun, cancelled)));
    while (begun != 4) std::this_thread::yield();
    pool.stop(co_stop::cancel);
    EXPECT_EQ(cancelled, 4);
}

}  // namespace
}  // namespace coro_pool_awaits_test
