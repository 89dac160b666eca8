// fork_join: results by value, exceptions, nesting, the ways in; what is stated for bad input.
#include <apiary/schedulers/fork_join/pool.hpp>

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "helpers.hpp"

namespace fork_join_test {
namespace {

using apiary::fork_join;
using apiary::fork_join_pool;
using context = fork_join_pool::context;
using fork_join_tests::fib;
using fork_join_tests::wait_for;
using fork_join_tests::wait_for_an_idle_worker;

TEST(fork_join, gives_the_results_of_both_branches) {
    for (const unsigned workers : {1U, 2U, 4U, 100U}) {
        fork_join_pool pool({.workers = workers});
        EXPECT_EQ(pool.run([](context& w) { return fib(w, 22); }), 17'711U) << workers;
    }
}

// A worker that asks makes the fork take another way, where what fits two registers is handed on.
TEST(fork_join, calls_the_callers_own_first_branch_whoever_asks) {
    struct counter {
        mutable int calls = 0;
        void operator()() const { ++calls; }
    };
    struct either {
        int calls = 0;
        void operator()() { ++calls; }
        void operator()() const {}
    };
    fork_join_pool pool({.workers = 1});
    pool.run([](context& w) {
        counter c;
        either e;
        for (int i = 0; i != 4; ++i) {
            if (i % 2 == 0) w.jobs().ask();
            (void)fork_join(w, c, [] {});
            if (i % 2 == 0) w.jobs().ask();
            (void)fork_join(w, e, [] {});
        }
        EXPECT_EQ(c.calls, 4);
        EXPECT_EQ(e.calls, 4);
    });
}

TEST(fork_join, has_a_worker_for_each_processor_that_it_may_use) {
    EXPECT_EQ(fork_join_pool().workers(), std::min(apiary::default_workers(), fork_join_pool::max_workers));
    // On a thread that may use one alone, which others must not inherit.
    std::thread([] {
        cpu_set_t one{};
        CPU_SET(static_cast<std::size_t>(apiary::usable_processors().back()), &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(fork_join_pool().workers(), 1U);
        EXPECT_EQ(fork_join_pool({.callers = 1}).workers(), 1U);
    }).join();
}

TEST(fork_join, gives_results_of_several_types) {
    fork_join_pool pool({.workers = 2});
    pool.run([](context& w) {
        auto both = fork_join(w, [] { return std::make_unique<int>(7); }, [] { return std::string("right"); });
        static_assert(std::is_same_v<decltype(both), std::pair<std::unique_ptr<int>, std::string>>);
        EXPECT_EQ(*both.first, 7);
        EXPECT_EQ(both.second, "right");
        const auto one = fork_join(w, [] {}, [] { return 5; });
        static_assert(std::is_same_v<decltype(one), const std::pair<std::monostate, int>>);
        EXPECT_EQ(one.second, 5);
        static_assert(
            std::is_same_v<decltype(fork_join(w, [] {}, [](context&) {})), std::pair<std::monostate, std::monostate>>);
        const auto [a, b, c, d] =
            fork_join(w, [] { return 1; }, [](context&) { return 2L; }, [] {}, [] { return '4'; });
        static_assert(std::is_same_v<decltype(b), const long> && std::is_same_v<decltype(c), const std::monostate>);
        EXPECT_EQ(a, 1);
        EXPECT_EQ(b, 2);
        EXPECT_EQ(d, '4');
    });
}

TEST(fork_join, runs_a_branch_that_nobody_takes_behind_the_other_on_the_same_thread) {
    fork_join_pool pool({.workers = 1});
    std::vector<int> order;
    pool.run([&](context& w) {
        const auto here = std::this_thread::get_id();
        fork_join(
            w, [&] { order.push_back(1); },
            [&] {
                order.push_back(2);
                EXPECT_EQ(std::this_thread::get_id(), here);
            });
    });
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

// The first branch ends only when the second has begun: with nobody to take it this would hang.
TEST(fork_join, hands_a_branch_to_a_worker_that_is_idle_at_the_fork) {
    fork_join_pool pool({.workers = 2});
    for (int i = 0; i != 100; ++i) {
        std::atomic<bool> begun = false;
        pool.run([&](context& w) {
            wait_for_an_idle_worker(w);
            const auto [a, b] = fork_join(
                w,
                [&] {
                    wait_for(begun);
                    return std::this_thread::get_id();
                },
                [&] {
                    begun = true;
                    return std::this_thread::get_id();
                });
            EXPECT_NE(a, b);
        });
    }
    EXPECT_EQ(pool.counters().stolen, 100U);
}

// What a thief returns and throws comes through.
template <class F, class G>
auto in_parallel(context& w, F f, G g) {
    std::atomic<bool> begun = false;
    wait_for_an_idle_worker(w);
    return fork_join(
        w,
        [&] {
            wait_for(begun);
            return f();
        },
        [&] {
            begun = true;
            return g();
        });
}

TEST(fork_join, moves_what_a_thief_returns) {
    fork_join_pool pool({.workers = 2});
    const auto both = pool.run([](context& w) {
        return in_parallel(w, [] { return std::make_unique<int>(1); }, [] { return std::make_unique<int>(2); });
    });
    EXPECT_EQ(*both.first + *both.second, 3);
}

TEST(fork_join, lets_an_exception_of_either_branch_out_when_both_are_over) {
    fork_join_pool pool({.workers = 2});
    const auto fails = [](const char* what) { return [what]() -> int { throw std::runtime_error(what); }; };
    const auto held = std::make_shared<int>();
    const auto returns = [&] { return held; };
    const auto said = [&](auto call) -> std::string {
        try {
            pool.run(call);
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "nothing";
    };
    EXPECT_EQ(said([&](context& w) { (void)fork_join(w, fails("f"), returns); }), "f");
    EXPECT_EQ(said([&](context& w) { (void)fork_join(w, returns, fails("g")); }), "g");
    EXPECT_EQ(said([&](context& w) { (void)in_parallel(w, fails("f"), returns); }), "f");
    EXPECT_EQ(said([&](context& w) { (void)in_parallel(w, returns, fails("g")); }), "g");
    EXPECT_EQ(held.use_count(), 1) << "a result whose call has thrown is destroyed";
    EXPECT_EQ(pool.counters().lost_exceptions, 0U);
    EXPECT_EQ(said([&](context& w) { (void)in_parallel(w, fails("f"), fails("g")); }), "f");
    EXPECT_EQ(pool.counters().lost_exceptions, 1U);
}

TEST(fork_join, does_not_begin_the_second_branch_behind_an_exception_of_the_first) {
    fork_join_pool pool({.workers = 1});
    EXPECT_THROW(pool.run([](context& w) {
        fork_join(w, [] { throw std::runtime_error("f"); }, [] { ADD_FAILURE() << "ran"; });
    }),
                 std::runtime_error);
    EXPECT_EQ(pool.run([](context& w) { return fib(w, 10); }), 55U) << "the worker's list is as it was";
}

TEST(fork_join, passes_an_exception_through_many_forks) {
    fork_join_pool pool({.workers = 4});
    struct tree {
        static int grow(context& w, int depth) {
            if (depth == 0) throw std::runtime_error("leaf");
            const auto [x, y] = fork_join(
                w, [=](context& v) { return grow(v, depth - 1); }, [=](context& v) { return grow(v, depth - 1); });
            return x + y;
        }
    };
    for (int i = 0; i != 50; ++i)
        EXPECT_THROW(pool.run([](context& w) { return tree::grow(w, 8); }), std::runtime_error);
    EXPECT_EQ(pool.run([](context& w) { return fib(w, 15); }), 610U);
}

TEST(fork_join, works_without_naming_the_worker) {
    fork_join_pool pool({.workers = 2});
    struct plain {
        static int fib(int n) {
            if (n < 2) return n;
            const auto [x, y] = fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
            return x + y;
        }
    };
    EXPECT_EQ(pool.run([] { return plain::fib(15); }), 610);
}

TEST(fork_join, refuses_a_thread_that_is_no_worker) {
    EXPECT_EQ(fork_join_pool::current(), nullptr);
    EXPECT_THROW(fork_join([] { ADD_FAILURE(); }, [] { ADD_FAILURE(); }), std::logic_error);
}

TEST(fork_join_pool, runs_calls_of_many_threads) {
    fork_join_pool pool({.workers = 3});
    std::vector<std::thread> callers;
    std::atomic<int> right = 0;
    for (int i = 0; i != 4; ++i)
        callers.emplace_back([&] {
            for (int n = 0; n != 50; ++n) right += pool.run([](context& w) { return fib(w, 12); }) == 144 ? 1 : 0;
        });
    for (std::thread& t : callers) t.join();
    EXPECT_EQ(right, 200);
    while (pool.counters().roots != 200U) std::this_thread::yield();  // counted after the end of the call
}

TEST(fork_join_pool, run_on_its_own_worker_is_a_plain_call_and_on_anothers_goes_over) {
    fork_join_pool one({.workers = 1}), other({.workers = 1});
    one.run([&] {
        const auto here = std::this_thread::get_id();
        EXPECT_EQ(one.run([] { return std::this_thread::get_id(); }), here);
        EXPECT_NE(other.run([] { return std::this_thread::get_id(); }), here);
        context* const before = fork_join_pool::current();
        ASSERT_NE(before, nullptr);
        EXPECT_EQ(&before->pool(), &one);
    });
    EXPECT_THROW(one.run([]() -> int { throw std::runtime_error("root"); }), std::runtime_error);
}

TEST(fork_join, empty_braces_are_the_usual_configuration) {
    fork_join_pool named({}), usual, braces{}, config(apiary::fork_join_config{});
    EXPECT_EQ(named.workers(), usual.workers());
    EXPECT_EQ(named.run([] { return 3; }), 3);
}

TEST(fork_join_pool, refuses_impossible_numbers) {
    EXPECT_THROW(fork_join_pool({.workers = 281}), std::invalid_argument);
    EXPECT_THROW(fork_join_pool({.linger_ns = -1}), std::invalid_argument);
    EXPECT_THROW(fork_join_pool({.linger_ns = 10'000'001}), std::invalid_argument);
    for (const double share : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_THROW(fork_join_pool({.workers = 1, .idle_cpu = share}), std::invalid_argument) << share;
    EXPECT_EQ(fork_join_pool({.workers = 2, .linger_ns = 0, .idle_cpu = 1}).run([] { return 5; }), 5);
    EXPECT_EQ(fork_join_pool({.workers = 1, .linger_ns = 10'000'000}).workers(), 1U);
    EXPECT_EQ(fork_join_pool({.workers = 280}).workers(), 280U);
    EXPECT_GE(fork_join_pool().workers(), 1U) << "as many as there are processors";
    EXPECT_THROW(fork_join_pool({.callers = 65}), std::invalid_argument);
    EXPECT_THROW(fork_join_pool({.workers = 280, .callers = 1}), std::invalid_argument);
    EXPECT_EQ(fork_join_pool({.workers = 216, .callers = 64}).workers(), 216U);
    const unsigned processors = fork_join_pool().workers();
    EXPECT_EQ(fork_join_pool({.callers = 1}).workers(), processors == 1 ? 1 : processors - 1)
        << "a caller is one of those";
}

TEST(fork_join_pool, needs_no_patience) {
    fork_join_pool pool({.workers = 3, .linger_ns = 0});
    for (int i = 0; i != 20; ++i) EXPECT_EQ(pool.run([](context& w) { return fib(w, 16); }), 987U);
}

// It would look for branches for an hour.
TEST(fork_core, a_worker_that_lingers_sees_the_next_root) {
    apiary::fork_core<apiary::real_sync> core(2, {.global_batch = 1, .looks_before_sleep = 0, .naps = 0},
                                              std::int64_t{3'600'000'000'000});
    EXPECT_EQ(core.worker(1).id(), 1U);
    std::thread worker([&] { core.run_worker(0); });
    for (int i = 0; i != 3; ++i) EXPECT_EQ(core.run([i] { return i; }), i);
    core.request_stop();
    worker.join();
}

TEST(fork_core, that_is_stopped_seats_nobody) {
    apiary::fork_core<apiary::real_sync> core(1, {.global_batch = 1, .looks_before_sleep = 0, .naps = 0}, 0, 1);
    EXPECT_TRUE(static_cast<bool>(apiary::fork_core<apiary::real_sync>::seat(core)));
    core.request_stop();
    EXPECT_FALSE(static_cast<bool>(apiary::fork_core<apiary::real_sync>::seat(core)));
    EXPECT_THROW(core.run([] {}), std::logic_error);
}

// The test is worker 0. Worker 2 falls asleep, as far as the idle set knows, when the offer stands: nobody is woken for
// it.
TEST(fork_core, a_worker_that_takes_its_offer_back_beside_a_sleeper_offers_the_next_job) {
    apiary::fork_core<apiary::real_sync> core(3, {.global_batch = 1, .looks_before_sleep = 0, .naps = 0});
    core.enter_thread(0);
    auto& w = core.context_of(0);
    auto& idle = core.worker(0).crew().idle();
    fork_join(
        w,
        [&] {
            EXPECT_EQ(w.handed_out(), 1U);
            EXPECT_FALSE(w.asked());
            (void)idle.announce_sleep(2, false);
        },
        [] {});
    EXPECT_TRUE(w.asked());
    EXPECT_TRUE(idle.withdraw(2));
    apiary::real_sync::set_current<context>(nullptr);
    core.request_stop();
}

// The team of a system that has one thread left.
struct short_of_threads : apiary::thread_team {
    template <class Body>
    void start(Body body) {
        if (started++ == 1) throw std::runtime_error("no thread is left");
        thread_team::start(body);
    }
    int started = 0;
};
struct parts_short_of_threads : apiary::fork_join_parts<apiary::real_sync> {
    using threads = short_of_threads;
};
TEST(fork_join_pool, that_gets_too_few_threads_ends_those_that_it_got) {
    using pool_type = apiary::basic_fork_join_pool<apiary::real_sync, parts_short_of_threads>;
    EXPECT_THROW(pool_type({.workers = 3}), std::runtime_error);
}

// Looks at the clock, and turns between them, of this thread alone.
struct counted_sync : apiary::real_sync {
    static inline thread_local unsigned looks = 0, turns = 0;
    static std::int64_t now_ns() noexcept {
        ++looks;
        return real_sync::now_ns();
    }
    static void relax() noexcept { ++turns; }
};

TEST(fork_join_pool, patience_is_over_where_there_was_none) {
    EXPECT_TRUE(fork_join_pool::patience().over());
    EXPECT_TRUE(fork_join_pool::patience(fork_join_pool({.workers = 1, .linger_ns = 0})).over());
    EXPECT_FALSE(fork_join_pool::patience(fork_join_pool({.workers = 1, .linger_ns = 1})).over());
}

TEST(fork_join_pool, a_joiner_looks_at_the_clock_seldom) {
    using pool_type = apiary::basic_fork_join_pool<counted_sync>;
    pool_type pool({.workers = 1, .linger_ns = 10'000'000});
    pool_type::patience patience(pool);
    counted_sync::looks = counted_sync::turns = 0;
    for (int i = 0; i != 32 * 32; ++i) patience.spend();
    EXPECT_EQ(counted_sync::looks, 32U);
    EXPECT_EQ(counted_sync::turns, 31U * 32);
}

}  // namespace
}  // namespace fork_join_test
