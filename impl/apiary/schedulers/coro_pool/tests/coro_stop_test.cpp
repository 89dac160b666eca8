// The stop of a coroutine pool: which spawns are accepted, what ends how, what the report says.
#include <apiary/coroutines/channel.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace coro_stop_test {
namespace {

using apiary::co_stop;
using apiary::co_task;
using apiary::coro_pool;
using namespace std::chrono_literals;

co_task<> counts(std::atomic<unsigned>& n) {
    ++n;
    co_return;
}

// Suspends until somebody opens it, or its stop token asks for an end.
class gate {
public:
    class waiting {
    public:
        using comes_home = void;
        explicit waiting(gate& g) : gate_(g) {}
        bool await_ready() const { return false; }
        template <class P>
        void await_suspend(std::coroutine_handle<P> h) {
            waiter_ = h.promise().suspended_here();
            token_ = h.promise().stop_token();
            const std::lock_guard held(gate_.mutex_);
            if (gate_.waiting_ != nullptr) std::abort();
            gate_.waiting_ = this;
        }
        void await_resume() const {
            if (token_.stop_requested()) throw apiary::wait_cancelled();
        }

    private:
        friend gate;
        gate& gate_;
        apiary::suspended<> waiter_;
        std::stop_token token_;
    };
    waiting wait() { return waiting(*this); }
    void open() {
        waiting* w = nullptr;
        while (w == nullptr) {
            const std::lock_guard held(mutex_);
            w = std::exchange(waiting_, nullptr);
        }
        w->waiter_.resume();
    }
    bool somebody_waits() {
        const std::lock_guard held(mutex_);
        return waiting_ != nullptr;
    }

private:
    std::mutex mutex_;
    waiting* waiting_ = nullptr;
};
void until_somebody_waits(gate& g) {
    while (!g.somebody_waits()) std::this_thread::yield();
}

co_task<> waits(gate& g, std::atomic<unsigned>& n) {
    co_await g.wait();
    ++n;
}
co_task<> waits_below(gate& g, std::atomic<unsigned>& n) { co_await waits(g, n); }

TEST(coro_stop, spawn_is_refused_before_start_and_behind_a_stop_and_the_task_stays_the_callers) {
    std::atomic<unsigned> n = 0;
    coro_pool pool({.workers = 1});
    co_task<> t = counts(n);
    EXPECT_FALSE(pool.spawn(std::move(t)));
    EXPECT_FALSE(t.empty());
    EXPECT_TRUE(pool.start());
    EXPECT_FALSE(pool.start());
    EXPECT_TRUE(pool.spawn(std::move(t)));
    EXPECT_TRUE(t.empty());
    pool.stop();
    co_task<> late = counts(n);
    EXPECT_FALSE(pool.spawn(std::move(late)));
    EXPECT_FALSE(late.empty());
    EXPECT_FALSE(pool.start());
    EXPECT_EQ(n, 1U);
    EXPECT_EQ(pool.report().refused, 2U);
}

TEST(coro_stop, a_pool_that_never_started_can_be_stopped_and_destroyed) {
    coro_pool pool({.workers = 2});
    pool.stop();
    EXPECT_FALSE(pool.start());
}

co_task<> stops(coro_pool& pool, std::atomic<bool>& threw) {
    try {
        pool.stop();
    } catch (const std::logic_error&) {
        threw = true;
    }
    co_return;
}
co_task<> asks_for_a_stop(coro_pool& pool, std::atomic<unsigned>& n) {
    pool.request_stop();
    EXPECT_TRUE(pool.spawn(counts(n)));  // it lives, so what it spawns is accepted
    co_return;
}

TEST(coro_stop, from_inside_request_stop_works_and_stop_throws) {
    std::atomic<unsigned> n = 0;
    std::atomic<bool> threw = false;
    coro_pool pool({.workers = 2});
    pool.start();
    ASSERT_TRUE(pool.spawn(stops(pool, threw)));
    while (pool.report().living != 0) std::this_thread::yield();
    EXPECT_TRUE(threw);
    ASSERT_TRUE(pool.spawn(asks_for_a_stop(pool, n)));
    pool.stop();
    EXPECT_EQ(n, 1U);
}

TEST(coro_stop, a_drain_waits_for_what_is_suspended) {
    std::atomic<unsigned> n = 0;
    gate g;
    coro_pool pool({.workers = 2});
    pool.start();
    ASSERT_TRUE(pool.spawn(waits_below(g, n), {.name = "the waiter"}));
    ASSERT_TRUE(pool.spawn(counts(n), {.name = "another"}));
    until_somebody_waits(g);
    pool.request_stop();
    while (pool.report().living != 1) std::this_thread::yield();
    EXPECT_FALSE(pool.wait_for_end(1ms));
    auto report = pool.report();
    EXPECT_EQ(report.living, 1U);
    EXPECT_EQ(report.names, std::vector<std::string>{"the waiter"});
    g.open();
    pool.stop();
    EXPECT_TRUE(pool.wait_for_end(0ms));
    report = pool.report();
    EXPECT_EQ(n, 2U);
    EXPECT_EQ(report.run, 2U);
    EXPECT_TRUE(report.names.empty());
}

TEST(coro_stop, a_wait_for_the_end_may_be_for_longer_than_the_clock_goes) {
    std::atomic<unsigned> n = 0;
    gate g;
    coro_pool pool({.workers = 1});
    pool.start();
    ASSERT_TRUE(pool.spawn(waits(g, n)));
    until_somebody_waits(g);
    pool.request_stop();
    EXPECT_FALSE(pool.wait_for_end(std::chrono::nanoseconds::min()));
    std::thread opener([&] {
        std::this_thread::sleep_for(5ms);
        g.open();
    });
    EXPECT_TRUE(pool.wait_for_end(std::chrono::nanoseconds::max()));
    opener.join();
    EXPECT_EQ(n, 1U);
}

TEST(coro_stop, the_report_names_those_that_live_whichever_ends_first) {
    using names = std::vector<std::string>;
    std::atomic<unsigned> n = 0;
    gate one, two, three;
    coro_pool pool({.workers = 1});
    pool.start();
    ASSERT_TRUE(pool.spawn(waits(one, n), {.name = "one"}));
    ASSERT_TRUE(pool.spawn(waits(two, n), {.name = "two"}));
    ASSERT_TRUE(pool.spawn(waits(three, n), {.name = "three"}));
    for (gate* g : {&one, &two, &three}) until_somebody_waits(*g);
    EXPECT_EQ(pool.report().names, (names{"three", "two", "one"}));
    two.open();
    while (pool.report().living != 2) std::this_thread::yield();
    EXPECT_EQ(pool.report().names, (names{"three", "one"}));
    one.open();
    while (pool.report().living != 1) std::this_thread::yield();
    EXPECT_EQ(pool.report().names, names{"three"});
    three.open();
    pool.stop();
    EXPECT_TRUE(pool.report().names.empty());
}

// Thrown: it goes with what the pool keeps of its coroutine.
struct notes_what_lives {
    coro_pool& pool;
    std::uint64_t& living;
    ~notes_what_lives() { living = pool.report().living; }
};
co_task<> throws_it(coro_pool& pool, std::uint64_t& living) {
    throw notes_what_lives{pool, living};
    co_return;
}

TEST(coro_stop, what_a_coroutine_has_thrown_goes_while_it_lives) {
    std::uint64_t living = 0;
    coro_pool pool({.workers = 1});
    pool.start();
    ASSERT_TRUE(pool.spawn(throws_it(pool, living)));
    pool.stop();
    EXPECT_EQ(living, 1U);
    EXPECT_EQ(pool.report().living, 0U);
}

TEST(coro_stop, a_cancel_asks_by_the_stop_token_and_is_counted) {
    std::atomic<unsigned> n = 0;
    gate g;
    coro_pool pool({.workers = 1});
    pool.start();
    ASSERT_TRUE(pool.spawn(waits_below(g, n)));
    until_somebody_waits(g);
    pool.request_stop(co_stop::cancel);
    g.open();
    pool.stop();
    const auto report = pool.report();
    EXPECT_EQ(n, 0U);
    EXPECT_EQ(report.cancelled, 1U);
    EXPECT_EQ(report.run, 0U);
    EXPECT_EQ(report.exceptions, 0U);
}

co_task<> starts_when_told(coro_pool& pool, const std::atomic<bool>& told, std::atomic<int>& started) {
    while (!told) co_await apiary::yield_turn();
    started = pool.start() ? 1 : 0;
}

TEST(coro_stop, a_start_by_a_coroutine_while_a_stop_waits_for_it_is_refused) {
    std::atomic<unsigned> n = 0;
    std::atomic<bool> told = false;
    std::atomic<int> started = -1;
    coro_pool pool({.workers = 1});
    pool.start();
    ASSERT_TRUE(pool.spawn(starts_when_told(pool, told, started)));
    std::thread stopper([&] { pool.stop(); });
    while (pool.spawn(counts(n))) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);  // the stopper waits for the workers by now, as a rule
    told = true;
    stopper.join();
    EXPECT_EQ(started, 0);
}

TEST(coro_stop, a_pool_that_is_destroyed_cancels_and_waits) {
    std::atomic<unsigned> n = 0;
    std::atomic<bool> gone = false;
    gate g;
    std::stop_token token;
    std::thread opener;
    {
        coro_pool pool({.workers = 1});
        pool.start();
        token = pool.stop_token();
        ASSERT_TRUE(pool.spawn(waits_below(g, n)));
        until_somebody_waits(g);
        opener = std::thread([&] {
            while (!token.stop_requested()) std::this_thread::yield();
            EXPECT_FALSE(gone);
            g.open();
        });
    }
    gone = true;
    opener.join();
    EXPECT_FALSE(g.somebody_waits()) << "it was brought back before the pool was gone";
    EXPECT_EQ(n, 0U) << "cancelled";
}

co_task<> owns(std::shared_ptr<coro_pool>, const std::atomic<bool>& go) {
    while (!go) co_await apiary::yield_turn();
}
co_task<> lets_go(std::shared_ptr<coro_pool> pool, const std::atomic<bool>& go, std::atomic<unsigned>& n) {
    while (!go) co_await apiary::yield_turn();
    const std::stop_token token = pool->stop_token();
    pool.reset();
    EXPECT_TRUE(token.stop_requested());
    co_await counts(n);
}
co_task<> receives_nothing(apiary::channel<int>& from, std::atomic<unsigned>& begun, std::atomic<unsigned>& n) {
    ++begun;
    const auto got = co_await from.receive();
    if (got.how == apiary::awaited::cancelled) ++n;
}

// It cannot wait for the end of the coroutine that it is called by, so it waits for none; what lives is told to end.
TEST(coro_stop, a_pool_whose_last_owner_is_its_own_coroutine_cancels_and_ends_behind_it) {
    for (const unsigned workers : {1U, 3U})
        for (const bool by_its_end : {true, false}) {
            std::atomic<bool> go = false;
            std::atomic<unsigned> begun = 0, n = 0;
            apiary::channel<int> nothing_comes{1};
            // It goes with what the pool consists of.
            auto kept = std::make_shared<int>();
            const std::weak_ptr<int> lives = kept;
            auto pool = std::make_shared<coro_pool>(
                apiary::co_config{.workers = workers, .on_exception = [kept](const std::exception_ptr&) {}});
            kept.reset();
            pool->start();
            for (int i = 0; i != 2; ++i) ASSERT_TRUE(pool->spawn(receives_nothing(nothing_comes, begun, n)));
            while (begun != 2) std::this_thread::yield();  // what has not begun never does
            ASSERT_TRUE(pool->spawn(by_its_end ? owns(pool, go) : lets_go(pool, go, n)));
            pool.reset();
            go = true;
            EXPECT_TRUE(apiary::comes_true([&] { return lives.expired(); }));
            EXPECT_EQ(n, by_its_end ? 2U : 3U);
        }
}

co_task<> keeps_the_worker(std::atomic<bool>& began, const std::atomic<bool>& over) {
    began = true;
    while (!over) std::this_thread::yield();
    co_return;
}

TEST(coro_stop, what_has_not_begun_never_does_behind_a_cancel) {
    std::atomic<unsigned> n = 0;
    std::atomic<bool> began = false, over = false;
    coro_pool pool({.workers = 1});
    pool.start();
    ASSERT_TRUE(pool.spawn(keeps_the_worker(began, over)));
    while (!began) std::this_thread::yield();
    for (int i = 0; i != 5; ++i) EXPECT_TRUE(pool.spawn(counts(n)));
    pool.request_stop(co_stop::cancel);
    over = true;
    pool.stop();
    EXPECT_EQ(n, 0U);
    EXPECT_EQ(pool.report().cancelled, 5U);
    EXPECT_EQ(pool.report().run, 1U);
}

struct receivers {
    apiary::channel<int> from{1};
    std::atomic<unsigned> begun = 0, cancelled = 0;
};
co_task<> receives(receivers& all, coro_pool* elsewhere = nullptr) {
    if (elsewhere != nullptr) co_await apiary::resume_on(*elsewhere);
    ++all.begun;
    const auto got = co_await all.from.receive();
    if (got.how == apiary::awaited::cancelled) ++all.cancelled;
}
co_task<> two_receive(receivers& all) { co_await apiary::when_all(receives(all), receives(all)); }

// Whatever a coroutine's token is, and wherever it is when it begins to wait.
TEST(coro_stop, a_cancel_ends_every_wait) {
    receivers all;
    coro_pool host({.workers = 1}), pool({.workers = 1});
    host.start();
    pool.start();
    std::stop_source own;
    ASSERT_TRUE(pool.spawn(receives(all)));
    ASSERT_TRUE(pool.spawn(receives(all), {.stop = own}));
    ASSERT_TRUE(pool.spawn(receives(all, &host)));
    ASSERT_TRUE(pool.spawn(receives(all, &host), {.stop = own}));
    ASSERT_TRUE(pool.spawn(two_receive(all)));
    std::thread waits([&] { apiary::sync_wait(pool, receives(all)); });
    while (all.begun != 7) std::this_thread::yield();
    pool.stop(co_stop::cancel);
    waits.join();
    host.stop();
    EXPECT_EQ(all.cancelled, 7U);
    EXPECT_EQ(host.report().living, 0U);
}

TEST(coro_stop, a_stop_of_the_pool_where_it_is_a_guest_leaves_it_alone) {
    receivers all;
    coro_pool host({.workers = 1}), pool({.workers = 1});
    host.start();
    pool.start();
    ASSERT_TRUE(pool.spawn(receives(all, &host)));
    while (all.begun != 1) std::this_thread::yield();
    host.request_stop(co_stop::cancel);
    EXPECT_EQ(all.from.try_send(1), apiary::awaited::done);
    host.stop();
    pool.stop();
    EXPECT_EQ(all.cancelled, 0U);
}

TEST(coro_stop, a_coroutine_with_a_stop_source_of_its_own_is_asked_by_either) {
    std::atomic<unsigned> n = 0;
    gate mine, pools;
    coro_pool pool({.workers = 2});
    pool.start();
    std::stop_source one, two;
    ASSERT_TRUE(pool.spawn(waits(mine, n), {.stop = one}));
    ASSERT_TRUE(pool.spawn(waits(pools, n), {.stop = two}));
    until_somebody_waits(mine);
    until_somebody_waits(pools);
    one.request_stop();
    mine.open();
    while (pool.report().cancelled != 1) std::this_thread::yield();
    EXPECT_FALSE(two.stop_requested());
    pool.request_stop(co_stop::cancel);
    EXPECT_TRUE(two.stop_requested());
    pools.open();
    pool.stop();
    EXPECT_EQ(pool.report().cancelled, 2U);
    EXPECT_EQ(n, 0U);
}

// One that was moved from, as another is: it can ask for nothing.
TEST(coro_stop, a_coroutine_with_a_stop_source_that_has_no_state_is_asked_by_the_pool) {
    std::atomic<unsigned> n = 0;
    gate made_so, moved_from;
    coro_pool pool({.workers = 1});
    pool.start();
    std::stop_source source;
    const std::stop_source taken = std::move(source);
    ASSERT_TRUE(pool.spawn(waits(made_so, n), {.stop = std::stop_source(std::nostopstate)}));
    ASSERT_TRUE(pool.spawn(waits(moved_from, n), {.stop = source}));
    until_somebody_waits(made_so);
    until_somebody_waits(moved_from);
    pool.request_stop(co_stop::cancel);
    made_so.open();
    moved_from.open();
    pool.stop();
    EXPECT_EQ(n, 0U);
    EXPECT_EQ(pool.report().cancelled, 2U);
    EXPECT_FALSE(taken.stop_requested());
}

TEST(coro_stop, a_spawn_that_is_refused_does_not_ask_its_callers_stop_source) {
    std::atomic<unsigned> n = 0;
    coro_pool pool({.workers = 1});
    pool.start();
    pool.request_stop(co_stop::cancel);
    std::stop_source own;
    EXPECT_FALSE(pool.spawn(counts(n), {.stop = own}));
    EXPECT_FALSE(own.stop_requested());
}

TEST(coro_stop, pools_come_and_go_while_others_bring_coroutines_back) {
    for (int i = 0; i != 200; ++i) {
        std::atomic<unsigned> n = 0;
        gate g;
        std::thread opener;
        {
            coro_pool pool({.workers = 1 + static_cast<unsigned>(i) % 2, .linger_ns = 0});
            pool.start();
            ASSERT_TRUE(pool.spawn(waits(g, n)));
            opener = std::thread([&] { g.open(); });
            pool.stop();
        }
        opener.join();
        EXPECT_EQ(n, 1U);
    }
}

}  // namespace
}  // namespace coro_stop_test
