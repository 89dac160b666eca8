// The examples in the cards of the headers of schedulers and coroutines, each compiled and run next to the names that
// it uses. The build takes them out of the cards (scripts/cmake/card_examples.py), and fails if one is not included
// here.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/delayed_posts.hpp>
#include <apiary/coroutines/limited.hpp>
#include <apiary/coroutines/on_compute.hpp>
#include <apiary/coroutines/one_worker.hpp>
#include <apiary/coroutines/readable.hpp>
#include <apiary/coroutines/select.hpp>
#include <apiary/coroutines/sleeping.hpp>
#include <apiary/coroutines/timer_thread.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/scan.hpp>
#include <apiary/schedulers/fork_join/sort.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>
#include <apiary/schedulers/global_queue/global_queue.hpp>
#include <apiary/schedulers/global_queue/parallel_for.hpp>
#include <apiary/schedulers/hive/hive.hpp>
#include <apiary/schedulers/processes/offload.hpp>
#include <apiary/schedulers/processes/processes.hpp>
#include <apiary/schedulers/processes/routine.hpp>
#include <apiary/schedulers/processes/supervisor.hpp>
#include <apiary/schedulers/task_graph/task_graph.hpp>
#include <apiary/testing/fake_driver.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace card_examples_test {
namespace {

std::atomic<int> used{0};
void use(int n) { used = n; }

// ---- coro_pool

namespace coroutines {
using namespace apiary;

#include "coro_pool/co_task.1.inc"

TEST(card, co_task) {
#include "coro_pool/co_task.2.inc"
    EXPECT_EQ(n, 6765U);
}

std::atomic<int> worked{0};
co_task<> work(int = 0) {
    ++worked;
    co_return;
}
co_task<int> count() { co_return 7; }

TEST(card, coro_pool) {
    worked = 0;
#include "coro_pool/coro_pool.1.inc"
    EXPECT_EQ(n, 7);
    EXPECT_EQ(worked, 100);
}

co_task<int> left() { co_return 1; }
co_task<std::string> right() { co_return "right"; }

co_task<> all_of_when_all() {
    using T = int;
    std::vector<co_task<T>> tasks;
    for (int i = 0; i != 3; ++i) tasks.push_back(count());
#include "coro_pool/when_all.1.inc"
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, "right");
    EXPECT_EQ(all, (std::vector{7, 7, 7}));
    {
        worked = 0;
#include "coro_pool/when_all.2.inc"
        EXPECT_EQ(worked, 1);
        EXPECT_EQ(n.take(), 7);
    }
#include "coro_pool/when_all.3.inc"
}

co_task<int> ask(int mirror) { co_return mirror; }

co_task<> all_of_when_any() {
    const int mirror_1 = 1, mirror_2 = 2;
#include "coro_pool/when_any.1.inc"
    EXPECT_EQ(answer, static_cast<int>(which) + 1);
}

TEST(card, when_all_and_when_any) {
    coro_pool pool({.workers = 1});
    pool.start();
    sync_wait(pool, all_of_when_all());
    sync_wait(pool, all_of_when_any());
    pool.stop();
}
}  // namespace coroutines

// ---- coroutines

namespace awaits {
using namespace apiary;
using namespace std::chrono_literals;

// On a pool of one worker, where the coroutine of `f` runs to its end.
void run(auto f) {
    coro_pool pool({.workers = 1});
    pool.start();
    sync_wait(pool, f());
    pool.stop();
}

// The same, with a service of times.
void with_timers(auto f) {
    timer_thread<> timers;
    std::thread t([&] { timers.run(); });
    run([&]() -> co_task<> { co_await f(timers); });
    timers.stop();
    t.join();
}

TEST(card, waits_for_each_other) {
    run([]() -> co_task<> {
        async_event<> e;
        e.set();
#include "coroutines/async_event.1.inc"
        EXPECT_EQ(how, awaited::done);
    });
    run([]() -> co_task<> {
        async_mutex<> m;
#include "coroutines/async_mutex.1.inc"
        EXPECT_TRUE(m.try_lock());
    });
    run([]() -> co_task<> {
        async_semaphore<> s(1);
#include "coroutines/async_semaphore.1.inc"
        EXPECT_TRUE(s.try_acquire());
        s.release();
    });
    int worked = 0;
    const auto work = [&] { ++worked; };
    with_timers([&](auto& timers) -> co_task<> {
        async_semaphore<> s(1);
#include "coroutines/async_semaphore.2.inc"
        EXPECT_EQ(worked, 2);
        EXPECT_TRUE(s.try_acquire());
    });
}

TEST(card, waits_with_a_limit) {
    int worked = 0;
    const auto work = [&] { ++worked; };
    with_timers([&](auto& timers) -> co_task<> {
        channel<int> c(1);
        async_semaphore<> s(1);
        async_mutex<> m;
        EXPECT_EQ(co_await c.send(8), awaited::done);
#include "coroutines/limited.1.inc"
        EXPECT_EQ(used, 8);
        EXPECT_EQ(worked, 2);
    });
}

TEST(card, select) {
    int tired_times = 0;
    const auto tired = [&] { ++tired_times; };
    channel<int> a(1), b(1);
    async_event<> stopped;
    for (int round = 0; round != 2; ++round) {
        if (round == 0) {
            EXPECT_EQ(a.try_send(9), awaited::done);
        }
        with_timers([&](auto& timers) -> co_task<> {
#include "coroutines/select.1.inc"
        });
    }
    EXPECT_EQ(used, 9);
    EXPECT_EQ(tired_times, 1);
}

using job = int;
co_task<> sends(channel<job>& c, job j) {
#include "coroutines/channel.2.inc"
    EXPECT_EQ(how, awaited::done);
}
co_task<> uses(channel<job>& c) {
#include "coroutines/channel.3.inc"
}

TEST(card, channel) {
#include "coroutines/channel.1.inc"
    run([&]() -> co_task<> { co_await when_all(sends(c, 5), uses(c)); });
    EXPECT_EQ(used, 5);
}

TEST(card, times) {
    run([]() -> co_task<> {
#include "coroutines/timer_thread.1.inc"
    });
    hive my_hive({});
    std::thread runs([&] { my_hive.run(); });
    run([&]() -> co_task<> {
#include "coroutines/delayed_posts.1.inc"
#include "coroutines/sleeping.1.inc"
        EXPECT_EQ(how, awaited::done);
    });
    my_hive.request_stop();
    runs.join();
}

TEST(card, readable) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    run([socket = pipe[0]]() -> co_task<> {
#include "coroutines/readable.1.inc"
        EXPECT_EQ(how, awaited::done);
    });
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST(card, streams) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ASSERT_EQ(::write(ends[1], "four", 4), 4);
    timer_thread<real_sync, epoll_driver> world;
    run([&world, accepted = ends[0]]() -> co_task<> {
        std::array<std::byte, 64> buffer;
#include "coroutines/byte_stream.1.inc"
        EXPECT_EQ(put.bytes, 4U);
    });
    hive my_hive({});
    const int accepted = ends[1];
#include "coroutines/one_worker.1.inc"
    EXPECT_EQ(s.descriptor(), accepted);
}

TEST(card, on_compute) {
    hive h({.compute_workers = 1});
    std::thread runs([&] { h.run(); });
    const auto sha256 = [](int) { return std::string("digest"); };
    run([&]() -> co_task<> {
        const int file = 3;
#include "coroutines/on_compute.1.inc"
        EXPECT_EQ(digest, "digest");
    });
    h.request_stop();
    runs.join();
}
}  // namespace awaits

// ---- fork_join

namespace forks {
#include "fork_join/fork_join.2.inc"

TEST(card, fork_join) {
#include "fork_join/fork_join.1.inc"
    EXPECT_EQ(n, 75025U);
}

TEST(card, parallel) {
    apiary::fork_join_pool pool({.workers = 1});
    constexpr std::size_t n = 100;
    std::vector<double> a(n);
    const auto f = [](auto i) { return static_cast<double>(i); };
    pool.run([&](auto& w) {
#include "fork_join/parallel.1.inc"
        EXPECT_EQ(sum, 4950);
    });
}

TEST(card, scan) {
    apiary::fork_join_pool pool({.workers = 1});
    std::vector<long> a(100, 1), sums(100);
    pool.run([&](auto& w) {
#include "fork_join/scan.1.inc"
    });
    EXPECT_EQ(sums.back(), 100);
    EXPECT_EQ(a.front(), 0);
    EXPECT_EQ(a.back(), 99);
}

TEST(card, sort) {
    apiary::fork_join_pool pool({.workers = 1});
    std::vector<int> v{2, 3, 1};
    pool.run([&](auto& w) {
#include "fork_join/sort.1.inc"
    });
    EXPECT_EQ(v, (std::vector<int>{3, 2, 1}));
}

struct node {};
struct {
    std::vector<node> nodes{3};
    const auto& children() const { return nodes; }
} const tree;
std::atomic<int> visited{0};
void visit(auto&, const node&) { ++visited; }
void visit_last(auto&) { ++visited; }

TEST(card, task_scope) {
    visited = 0;
    apiary::fork_join_pool pool({.workers = 1});
    pool.run([&](auto& w) {
#include "fork_join/task_scope.1.inc"
    });
    EXPECT_EQ(visited, 4);
}
}  // namespace forks

// ---- global_queue

TEST(card, parallel_for_of_a_global_queue) {
    apiary::global_queue queue({.workers = 1});
    queue.start();
    constexpr std::size_t n = 2000;
    std::vector<double> a(n);
    const auto f = [](auto i) { return static_cast<double>(i); };
    std::size_t moved = 0;
    const auto move = [&](double*, std::size_t count) { moved += count; };
    bool whole = false;
#include "global_queue/parallel_for.1.inc"
    EXPECT_TRUE(whole);
    EXPECT_EQ(a.back(), 1999);
    EXPECT_EQ(moved, n);
}

// ---- hive

TEST(card, hive) {
#include "hive/hive.1.inc"
    EXPECT_EQ(h.report().run, 1U);
}

TEST(card, hive_parts) {
    using my_driver = apiary::fake_driver<apiary::manual_clock<>>;
#include "hive/parts.1.inc"
    EXPECT_EQ(h.io_workers(), 1U);
}

// ---- processes

namespace process_cards {
#include "processes/process.1.inc"

TEST(card, process_and_processes) {
#include "processes/processes.1.inc"
    EXPECT_TRUE(made);
    EXPECT_TRUE(report.over);
    EXPECT_EQ(report.ended, 1U);
}

int factor(int) { return 7; }

TEST(card, offload) {
    constexpr std::uint32_t crunch = 1;
#include "processes/offload.1.inc"
    EXPECT_EQ(used, 7);
}

#include "processes/routine.1.inc"

TEST(card, routine) {
    apiary::processes all({.workers = 1});
#include "processes/routine.2.inc"
    EXPECT_TRUE(made);
}

TEST(card, supervisor) {
    struct session : apiary::process {
        apiary::init_answer init(context&, std::string_view, apiary::payload) override {
            return apiary::init_answer::ready;
        }
        void step(events& batch, output& out) override {
            while (batch.next() != nullptr) out.finish();
        }
    };
    apiary::processes all({.workers = 1});
#include "processes/supervisor.1.inc"
    EXPECT_EQ(all.stop().forced.size(), 0U);
}
}  // namespace process_cards

// ---- task_graph

TEST(card, task_graph) {
#include "task_graph/task_graph.1.inc"
    EXPECT_EQ(used, 20);
}

}  // namespace
}  // namespace card_examples_test
