// Schedulers beside each other in one program: a coroutine that goes through a hive comes back to its own pool;
// processes let a hive compute for them; and a hive's task calls a fork_join_pool, whose branches post to that hive.
#include <apiary/coroutines/on_compute.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/hive/hive.hpp>
#include <apiary/schedulers/processes/offload.hpp>
#include <apiary/schedulers/processes/processes.hpp>
#include <apiary/schedulers/processes/routine.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace side_by_side_test {
namespace {

using apiary::co_context;
using apiary::co_task;
using apiary::coro_pool;
using apiary::sync_wait;
using apiary::when_all;

struct running_pool : coro_pool {
    explicit running_pool(unsigned workers) : coro_pool({.workers = workers}) { start(); }
    bool is_here() {
        const auto* here = co_context<apiary::real_sync>::here();
        return here != nullptr && here->host() == &host();
    }
};

// On an IO worker of a hive, which resumes it there.
struct on_hive {
    apiary::hive& h;
    std::thread::id& ran_on;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        const bool posted = h.post_micro([this, handle] {
            ran_on = std::this_thread::get_id();
            handle.resume();
        });
        if (!posted) std::abort();
    }
    void await_resume() const {}
};
co_task<> through_a_hive(running_pool& pool, apiary::hive& h, unsigned times) {
    for (unsigned i = 0; i != times; ++i) {
        std::thread::id ran_on;
        co_await on_hive{h, ran_on};
        EXPECT_TRUE(pool.is_here());
        EXPECT_NE(ran_on, std::this_thread::get_id());
    }
}
co_task<> many_through_a_hive(running_pool& pool, apiary::hive& h) {
    co_await when_all(through_a_hive(pool, h, 30), through_a_hive(pool, h, 30), through_a_hive(pool, h, 30));
    EXPECT_TRUE(pool.is_here());
}

TEST(side_by_side, a_coroutine_comes_back_from_a_hive_to_its_own_pool) {
    apiary::hive h({.io_workers = 2});  // before the pool, whose worker may still be in its post when all is over
    running_pool pool(2);
    std::thread main_worker([&] { h.run(); });
    sync_wait(pool, many_through_a_hive(pool, h));
    h.request_stop(apiary::stop_mode::drain);
    main_worker.join();
}

struct running_hive {
    ~running_hive() {
        h.request_stop(apiary::stop_mode::drain);
        main_worker.join();
    }
    apiary::hive h{{.io_workers = 1, .compute_workers = 1}};
    std::thread main_worker{[this] { h.run(); }};
};

co_task<> computes(running_pool& pool, apiary::hive& h) {
    const auto mine = std::this_thread::get_id();
    std::unique_ptr<std::thread::id> there =
        co_await apiary::on_compute(h, [] { return std::make_unique<std::thread::id>(std::this_thread::get_id()); });
    EXPECT_TRUE(pool.is_here());
    EXPECT_NE(*there, mine);
    int n = 0;
    co_await apiary::on_compute(h, [&n] { n = 7; });
    EXPECT_EQ(n, 7);
    bool threw = false;
    try {
        co_await apiary::on_compute(h, [] { throw std::runtime_error("x"); });
    } catch (const std::runtime_error&) {
        threw = true;
    }
    EXPECT_TRUE(threw);
    EXPECT_TRUE(pool.is_here());
}

TEST(side_by_side, a_coroutine_has_a_hive_compute_for_it) {
    running_hive r;
    running_pool pool(1);
    for (int i = 0; i != 20; ++i) sync_wait(pool, computes(pool, r.h));
}

// Each leaf posts to the hive, from a worker of the pool.
std::uint64_t fib_and_posts(apiary::fork_join_pool::context& w, apiary::hive& h, std::atomic<unsigned>& posted,
                            unsigned n) {
    if (n < 2) {
        EXPECT_TRUE(h.post_micro([&posted] { ++posted; }));
        return n;
    }
    const auto [x, y] = apiary::fork_join(
        w, [&, n](auto& v) { return fib_and_posts(v, h, posted, n - 1); },
        [&, n](auto& v) { return fib_and_posts(v, h, posted, n - 2); });
    return x + y;
}

TEST(side_by_side, a_task_of_a_hive_calls_a_fork_join_pool_whose_branches_post_to_the_hive) {
    constexpr unsigned tasks = 20, leaves = 233;  // of fib(12)
    std::atomic<unsigned> posted = 0, ended = 0, right = 0;
    apiary::fork_join_pool pool({.workers = 2});  // before the hive, whose tasks call it
    {
        running_hive r;
        for (unsigned i = 0; i != tasks; ++i)
            EXPECT_TRUE(r.h.post_compute([&] {
                const auto here = std::this_thread::get_id();
                std::thread::id there;
                const auto n = pool.run([&](auto& w) {
                    there = std::this_thread::get_id();
                    return fib_and_posts(w, r.h, posted, 12);
                });
                if (n == 144 && there != here) ++right;
                ++ended;
            }));
        while (ended != tasks) std::this_thread::yield();
    }
    EXPECT_EQ(right, tasks);
    EXPECT_EQ(posted, tasks * leaves);
    while (pool.counters().roots != tasks) std::this_thread::yield();  // counted after the end of the call
}

co_task<> asks_one_that_is_stopped(apiary::hive& h) {
    co_await apiary::on_compute(h, [] { ADD_FAILURE(); });
}

TEST(side_by_side, a_hive_that_is_stopped_computes_nothing) {
    apiary::hive h({.io_workers = 1, .compute_workers = 1});
    running_pool pool(1);
    h.request_stop(apiary::stop_mode::drain);
    EXPECT_THROW(sync_wait(pool, asks_one_that_is_stopped(h)), apiary::wait_cancelled);
}

co_task<> tells(std::atomic<bool>& told) {
    told = true;
    co_return;
}
// The pool's only worker runs what is spawned here when this waits.
co_task<> waits_for_its_turn(apiary::coro_pool& pool, apiary::hive& h, std::atomic<bool>& waits) {
    EXPECT_TRUE(pool.spawn(tells(waits)));
    co_await apiary::on_compute(h, [] { ADD_FAILURE(); });
}

TEST(side_by_side, a_stop_cancels_what_the_hive_has_not_begun) {
    running_hive r;
    std::atomic<bool> busy = false, over = false, waits = false;
    EXPECT_TRUE(r.h.post_compute([&] {
        busy = true;
        while (!over) std::this_thread::yield();
    }));
    while (!busy) std::this_thread::yield();
    running_pool pool(1);
    EXPECT_TRUE(pool.spawn(waits_for_its_turn(pool, r.h, waits)));
    while (!waits) std::this_thread::yield();
    pool.request_stop(apiary::co_stop::cancel);
    over = true;
    pool.stop();
    EXPECT_EQ(pool.report().cancelled, 1U);
}

TEST(side_by_side, processes_have_a_hive_compute_for_them) {
    using apiary::yield_error;
    constexpr std::uint32_t crunch = 1;
    constexpr int many = 20;
    apiary::hive* compute = nullptr;
    apiary::processes all(
        {.workers = 1,
         .handlers = {{crunch, apiary::offload_to([&](auto job) { return compute->post_compute(std::move(job)); })}}});
    running_hive r;  // it goes before the processes: its worker may still be in a completion when all have ended
    compute = &r.h;
    std::vector<int> got(many);
    std::vector<yield_error> errors(many);
    for (int i = 0; i != many; ++i)
        (void)all.spawn(apiary::as_process([&, i](apiary::routine_self& me) -> apiary::routine {
            const auto at = static_cast<std::size_t>(i);
            const auto here = std::this_thread::get_id();
            const auto square = [i, here] {
                EXPECT_NE(std::this_thread::get_id(), here);
                return apiary::payload(i * i);
            };
            apiary::event e = co_await me.command(crunch, apiary::offloaded(square));
            got[at] = *e.data.get<int>();
            e = co_await me.command(crunch, apiary::offloaded([]() -> apiary::payload { throw 1; }));
            errors[at] = e.error;
        }));
    all.join();
    for (int i = 0; i != many; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i * i);
    EXPECT_EQ(errors, std::vector(many, yield_error::handler_threw));
}

}  // namespace
}  // namespace side_by_side_test
