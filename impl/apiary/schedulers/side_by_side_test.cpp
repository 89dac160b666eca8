// Schedulers beside each other in one process: a coroutine that goes through a hive comes back to its own pool.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <coroutine>
#include <cstdlib>
#include <thread>

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
    running_pool pool(2);
    apiary::hive h({.io_workers = 2});
    std::thread main_worker([&] { h.run(); });
    sync_wait(pool, many_through_a_hive(pool, h));
    h.request_stop(apiary::stop_mode::drain);
    main_worker.join();
}

}  // namespace
