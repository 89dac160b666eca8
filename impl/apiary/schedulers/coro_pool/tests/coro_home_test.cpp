// Where a coroutine runs: it comes back to its own pool from whatever it awaited, also beside other pools.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace coro_home_test {
namespace {

using apiary::co_context;
using apiary::co_task;
using apiary::coro_pool;
using apiary::resume_on;
using apiary::sync_wait;
using apiary::when_all;
using apiary::yield_turn;

struct running_pool : coro_pool {
    explicit running_pool(unsigned workers) : coro_pool({.workers = workers}) { start(); }
    bool is_here() {
        const auto* here = co_context<apiary::real_sync>::here();
        return here != nullptr && here->host() == &host();
    }
};

// Knows nothing of pools: it resumes whatever handle it is given.
class other_thread {
public:
    ~other_thread() {
        hand(std::noop_coroutine());
        thread_.join();
    }
    // After that the caller touches nothing of the coroutine.
    void hand(std::coroutine_handle<> h) {
        const std::lock_guard held(mutex_);
        handed_ = h;
    }

private:
    void run() {
        for (std::coroutine_handle<> h; h != std::noop_coroutine();) {
            {
                const std::lock_guard held(mutex_);
                h = std::exchange(handed_, nullptr);
            }
            if (h) h.resume();
            std::this_thread::yield();
        }
    }
    std::mutex mutex_;
    std::coroutine_handle<> handed_;
    std::thread thread_{[this] { run(); }};
};
struct on_another_thread {
    other_thread& t;
    bool fails = false;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> h) { t.hand(h); }
    int await_resume() const {
        EXPECT_EQ(co_context<apiary::real_sync>::here(), nullptr);
        if (fails) throw std::runtime_error("foreign");
        return 5;
    }
};
struct behind_an_operator {
    other_thread& t;
    on_another_thread operator co_await() && { return {t}; }
};

co_task<int> awaits_another_thread(running_pool& pool, other_thread& t) {
    EXPECT_TRUE(pool.is_here());
    const int n = co_await on_another_thread{t};
    EXPECT_TRUE(pool.is_here());
    co_return n;
}

TEST(coro_home, a_coroutine_comes_back_from_another_thread) {
    running_pool pool(2);
    other_thread t;
    for (int i = 0; i != 50; ++i) EXPECT_EQ(sync_wait(pool, awaits_another_thread(pool, t)), 5);
}

co_task<> foreign_exception(running_pool& pool, other_thread& t, bool& caught) {
    try {
        co_await on_another_thread{t, true};
    } catch (const std::runtime_error&) {
        caught = true;
    }
    EXPECT_TRUE(pool.is_here());
    EXPECT_EQ(co_await behind_an_operator{t}, 5);
    EXPECT_TRUE(pool.is_here());
}

TEST(coro_home, exceptions_of_other_threads_come_home_too) {
    running_pool pool(1);
    other_thread t;
    bool caught = false;
    sync_wait(pool, foreign_exception(pool, t, caught));
    EXPECT_TRUE(caught);
}

struct ready_at_once {
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    std::string await_resume() const { return "at once"; }
};
co_task<std::string> awaits_what_is_ready() { co_return co_await ready_at_once(); }

TEST(coro_home, what_is_ready_at_once_gives_its_result) {
    running_pool pool(1);
    EXPECT_EQ(sync_wait(pool, awaits_what_is_ready()), "at once");
}

co_task<> child_moves(running_pool& a, running_pool& b, int n) {
    EXPECT_TRUE(a.is_here());
    co_await resume_on(b);
    EXPECT_TRUE(b.is_here());
    co_await yield_turn();
    EXPECT_TRUE(b.is_here());
    if (n % 2 == 0) {
        co_await resume_on(a);
        EXPECT_TRUE(a.is_here());
    }
    if (n % 4 == 1) co_await child_moves(b, a, 0);
}
co_task<> parent_stays(running_pool& a, running_pool& b) {
    for (int i = 0; i != 8; ++i) {
        co_await child_moves(a, b, i);
        EXPECT_TRUE(a.is_here());
    }
    co_await when_all(child_moves(a, b, 0), child_moves(a, b, 1), child_moves(a, b, 2));
    EXPECT_TRUE(a.is_here());
}

TEST(coro_home, a_child_that_moves_leaves_its_parent_where_it_was) {
    running_pool a(2), b(2);
    for (int i = 0; i != 20; ++i) sync_wait(a, parent_stays(a, b));
    a.stop();
    b.stop();
    EXPECT_EQ(a.report().living + b.report().living, 0U);
}

co_task<> forks_and_moves(running_pool& a, running_pool& b, std::atomic<int>& ran) {
    apiary::co_scope<> branches(co_await apiary::this_frame());
    for (int i = 0; i != 4; ++i)
        branches.fork([](running_pool& at, std::atomic<int>& n) -> co_task<> {
            co_await yield_turn();
            EXPECT_TRUE(at.is_here());
            ++n;
        }(a, ran));
    co_await resume_on(b);
    co_await branches.join();
    EXPECT_TRUE(b.is_here());
}

TEST(coro_home, a_parent_that_moves_joins_where_it_is) {
    running_pool a(2), b(1);
    for (int i = 0; i != 50; ++i) {
        std::atomic<int> ran = 0;
        sync_wait(a, forks_and_moves(a, b, ran));
        EXPECT_EQ(ran, 4);
    }
}

co_task<> waits_at(running_pool& at, apiary::async_event<>& open) {
    (void)co_await open.wait();
    EXPECT_TRUE(at.is_here());
}
co_task<> forks_as_a_guest(running_pool& home, running_pool& host, apiary::async_event<>& open,
                           std::atomic<bool>& joins) {
    apiary::co_scope<> branches(co_await apiary::this_frame());
    co_await resume_on(host);
    branches.fork(waits_at(host, open));
    co_await resume_on(home);
    joins = true;
    co_await branches.join();
    EXPECT_TRUE(home.is_here());
}
co_task<> joins_below(running_pool& host, apiary::co_scope<>& branches) {
    co_await branches.join();
    EXPECT_TRUE(host.is_here());
}
co_task<> forks_in_a_body_that_moves(running_pool& home, running_pool& host, apiary::async_event<>& open,
                                     std::atomic<bool>& joins) {
    co_await apiary::with_scope([&](apiary::co_scope<>& branches) -> co_task<> {
        branches.fork(waits_at(home, open));
        co_await resume_on(host);
        branches.fork(waits_at(host, open));
        joins = true;
        co_await joins_below(host, branches);
        open.reset();
        branches.fork(waits_at(host, open));
    });
    EXPECT_TRUE(home.is_here());
}

TEST(coro_home, a_branch_lives_where_it_was_forked_and_its_parent_goes_on_where_it_joined) {
    const std::pair<decltype(&forks_as_a_guest), std::uint64_t> cases[] = {
        {&forks_as_a_guest, 1},            // the branch
        {&forks_in_a_body_that_moves, 2},  // and the body
    };
    for (const auto& [forks, stay] : cases) {
        apiary::async_event<> open;
        std::atomic<bool> joins = false;
        running_pool home(1), host(2);
        ASSERT_TRUE(home.spawn(forks(home, host, open, joins)));
        EXPECT_TRUE(apiary::comes_true([&, &there = stay] { return joins && host.report().living == there; }))
            << "a stop waits for the branch";
        while (home.report().living + host.report().living != 0) {
            open.set();
            std::this_thread::yield();
        }
        host.stop();
        home.stop();
    }
}

co_task<> rests() { co_await yield_turn(); }
co_task<> forks_one_as_a_guest(running_pool& host) {
    apiary::co_scope<> branches(co_await apiary::this_frame());
    co_await resume_on(host);
    branches.fork(rests());
    co_await branches.join();
}
// Each of the two ends a chain, for its sibling is suspended then.
co_task<> two_rest() { co_await when_all(rests(), rests()); }

TEST(coro_home, behind_a_guests_branch_the_branches_of_a_worker_are_not_counted) {
    running_pool home(1), host(1);
    sync_wait(home, forks_one_as_a_guest(host));
    sync_wait(host, two_rest());
    EXPECT_TRUE(apiary::comes_true([&] { return host.report().living == 0; }));
}

co_task<bool> moves_to_what_is_stopped(running_pool& a, coro_pool& b) {
    try {
        co_await resume_on(b);
    } catch (const apiary::pool_stopped&) {
        co_return a.is_here();
    }
    co_return false;
}

TEST(coro_home, a_pool_that_is_stopped_takes_nobody_in) {
    running_pool a(1), b(1);
    b.stop();
    EXPECT_TRUE(sync_wait(a, moves_to_what_is_stopped(a, b)));
}

TEST(coro_home, a_pool_that_was_not_started_takes_nobody_in) {
    running_pool a(1);
    coro_pool b({.workers = 1});
    EXPECT_TRUE(sync_wait(a, moves_to_what_is_stopped(a, b)));
}

}  // namespace
}  // namespace coro_home_test
