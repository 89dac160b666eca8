// What bare_pool says to misuse, and that its workers steal. The contract's test has the rest.
#include <apiary/schedulers/bare_pool/bare_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace bare_pool_test {
namespace {

using apiary::bare_pool;
using apiary::stop_mode;

TEST(bare_pool, refuses_more_workers_than_there_can_be) {
    try {
        const bare_pool pool(bare_pool::max_workers + 1);
        FAIL() << "it was made";
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("workers"), std::string::npos) << e.what();
    }
    EXPECT_EQ(bare_pool(3).workers(), 3U);
    EXPECT_GE(bare_pool().workers(), 1U);
}

TEST(bare_pool, a_worker_steals_what_a_busy_one_has_posted) {
    bare_pool pool(2);
    std::atomic<bool> stolen{false};
    ASSERT_TRUE(pool.post([&] {
        ASSERT_TRUE(pool.post([&] { stolen = true; }));
        while (!stolen) std::this_thread::yield();
    }));
    while (!stolen) std::this_thread::yield();
    pool.stop();
    EXPECT_EQ(pool.report().run, 2U);
    EXPECT_EQ(pool.counters().stolen, 1U);
}

TEST(bare_pool, its_counters_know_of_exceptions_and_of_what_was_discarded) {
    bare_pool pool(1, [](const std::exception_ptr&) {});
    std::atomic<bool> requested{false};
    ASSERT_TRUE(pool.post([&] {
        ASSERT_TRUE(pool.post([] {}));
        pool.request_stop(stop_mode::discard);
        requested = true;
        throw 1;
    }));
    while (!requested) std::this_thread::yield();
    pool.stop();
    EXPECT_EQ(pool.counters().exceptions, 1U);
    EXPECT_EQ(pool.counters().discarded, 1U);
}

TEST(bare_pool, its_destructor_runs_what_was_accepted) {
    std::atomic<int> ran{0};
    {
        bare_pool pool(2);
        for (int i = 0; i != 1000; ++i) ASSERT_TRUE(pool.post([&] { ++ran; }));
    }
    EXPECT_EQ(ran, 1000);
}

TEST(bare_pool, a_stop_in_a_task_throws_and_a_request_does_not_wait) {
    std::atomic<bool> threw{false};
    bare_pool pool(1, [&](const std::exception_ptr& e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::logic_error&) {
            threw = true;
        }
    });
    ASSERT_TRUE(pool.post([&] { pool.stop(); }));
    ASSERT_TRUE(pool.post([&] { pool.request_stop(stop_mode::drain); }));
    while (pool.post([] {})) std::this_thread::yield();
    pool.stop();
    pool.stop();
    EXPECT_TRUE(threw);
    EXPECT_EQ(pool.report().exceptions, 1U);
    EXPECT_GE(pool.report().refused, 1U);
}

TEST(bare_pool, a_refused_post_destroys_its_callable_and_is_counted_once) {
    bare_pool pool(1);
    pool.stop();
    const auto token = std::make_shared<int>(0);
    EXPECT_FALSE(pool.post([token] {}));
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_EQ(pool.report().refused, 1U);
    EXPECT_EQ(pool.report().discarded, 0U);
}

TEST(bare_pool, posts_of_a_dropped_tasks_destructor_are_refused) {
    struct posts_at_its_end {
        bare_pool* pool;
        std::atomic<int>* refused;
        std::unique_ptr<int> only_in_one_place = std::make_unique<int>();
        void operator()() const {}
        posts_at_its_end(bare_pool* p, std::atomic<int>* r) : pool(p), refused(r) {}
        posts_at_its_end(posts_at_its_end&&) = default;
        ~posts_at_its_end() {
            if (only_in_one_place && !pool->post([] {})) ++*refused;
        }
    };
    std::atomic<int> refused{0};
    bare_pool pool(1);
    std::atomic<bool> begun{false}, go{false};
    ASSERT_TRUE(pool.post([&] {
        begun = true;
        while (!go) std::this_thread::yield();
    }));
    while (!begun) std::this_thread::yield();
    ASSERT_TRUE(pool.post(posts_at_its_end(&pool, &refused)));
    pool.request_stop(stop_mode::discard);
    go = true;
    pool.stop();
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(pool.report().discarded, 1U);
}

TEST(bare_pool_death, a_pool_that_its_own_task_destroys_ends_the_program) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(
        {
            auto* const pool = new bare_pool(1);
            (void)pool->post([pool] { delete pool; });
            std::this_thread::sleep_for(std::chrono::seconds(60));
        },
        "destroyed by its own task");
}

}  // namespace
}  // namespace bare_pool_test
