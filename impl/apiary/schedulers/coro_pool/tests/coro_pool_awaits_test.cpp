// Coroutines of a coro_pool that await a channel, a mutex, a semaphore, times and descriptors; and a stop that cancels them.
#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/readable.hpp>
#include <apiary/coroutines/sleeping.hpp>
#include <apiary/coroutines/timer_thread.hpp>
#include <apiary/events/epoll_driver.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

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

}  // namespace
}  // namespace coro_pool_awaits_test
