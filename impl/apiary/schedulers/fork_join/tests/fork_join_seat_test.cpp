// Seats: a caller from outside that runs its own call, as a worker for so long.
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "helpers.hpp"

namespace fork_join_seat_test {
namespace {

using apiary::comes_true;
using apiary::fork_join;
using apiary::fork_join_pool;
using context = fork_join_pool::context;
using fork_join_tests::fib;
using fork_join_tests::wait_for;

TEST(fork_join_seat, a_caller_runs_its_call_itself) {
    fork_join_pool pool({.workers = 1, .callers = 1});
    const auto here = std::this_thread::get_id();
    for (int i = 0; i != 3; ++i) EXPECT_EQ(pool.run([] { return std::this_thread::get_id(); }), here);
    EXPECT_EQ(pool.run([](context& w) { return fib(w, 20); }), 6765U);
    EXPECT_EQ(pool.counters().seated, 4U);
    EXPECT_EQ(pool.counters().roots, 0U);
    EXPECT_EQ(fork_join_pool::current(), nullptr);
}

TEST(fork_join_seat, without_seats_a_worker_runs_it) {
    fork_join_pool pool({.workers = 1});
    EXPECT_NE(pool.run([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
    EXPECT_EQ(pool.counters().seated, 0U);
}

TEST(fork_join_seat, its_branches_go_to_workers_that_sleep) {
    fork_join_pool pool({.workers = 1, .callers = 1, .linger_ns = 0});
    for (int i = 0; i != 20; ++i) {
        ASSERT_TRUE(comes_true([&] { return pool.somebody_sleeps(); }));
        std::atomic<bool> elsewhere = false;
        pool.run([&](context& w) {
            const auto here = std::this_thread::get_id();
            fork_join(
                w, [&] { wait_for(elsewhere); },
                [&] {
                    EXPECT_NE(std::this_thread::get_id(), here);
                    elsewhere = true;
                });
        });
    }
}

TEST(fork_join_seat, a_caller_helps_its_thief_at_the_join_and_sleeps_there) {
    fork_join_pool pool({.workers = 1, .callers = 1, .linger_ns = 0});
    std::atomic<bool> stolen = false, leapt = false;
    pool.run([&](context& w) {
        const auto here = std::this_thread::get_id();
        fork_join(
            w, [&] { wait_for(stolen); },
            [&](context& thief) {
                stolen = true;
                EXPECT_TRUE(comes_true([&] { return pool.counters().slept != 0; })) << "the caller sleeps at its join";
                fork_join(
                    thief, [&] { wait_for(leapt); },
                    [&] {
                        EXPECT_EQ(std::this_thread::get_id(), here) << "nobody else can take it";
                        leapt = true;
                    });
            });
    });
    EXPECT_GE(pool.counters().slept, 1U);
}

// Each takes a seat with the floor of its own stack: the request that it begins with replaces that of the stack before.
TEST(fork_join_seat, asks_before_its_first_fork) {
    fork_join_pool pool({.workers = 1, .callers = 1});
    std::atomic<bool> busy = false, may_end = false;
    std::thread other;
    {
        const fork_join_pool::seat taken(
            pool);  // so the other's call goes to the worker, which asks nobody until it is over
        ASSERT_TRUE(taken);
        other = std::thread([&] {
            pool.run([&] {
                busy = true;
                wait_for(may_end);
            });
        });
        wait_for(busy);
    }
    for (int i = 0; i != 2; ++i)
        pool.run([](context& w) {
            EXPECT_TRUE(w.asked());
            EXPECT_EQ(fib(w, 5), 5U);
            EXPECT_FALSE(w.asked()) << "answered";
        });
    may_end = true;
    other.join();
}

TEST(fork_join_seat, a_request_that_finds_no_job_hands_nothing_out) {
    fork_join_pool pool({.workers = 1, .callers = 1});
    pool.run([](context& w) {
        EXPECT_TRUE(w.asked());
        w.share();
    });
    EXPECT_EQ(pool.counters().handed_out, 0U);
}

TEST(fork_join_seat, what_is_thrown_comes_out_and_frees_the_seat) {
    fork_join_pool pool({.workers = 1, .callers = 1});
    for (int i = 0; i != 3; ++i) {
        EXPECT_THROW(pool.run([](context& w) { fork_join(w, [] { throw std::runtime_error("f"); }, [] {}); }),
                     std::runtime_error);
        EXPECT_EQ(fork_join_pool::current(), nullptr);
    }
    EXPECT_EQ(pool.counters().seated, 3U);
}

TEST(fork_join_seat, recursion_too_deep_is_told_of_the_callers_own_stack) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    fork_join_pool pool({.workers = 1, .callers = 1});
    struct chain {
        static int descend(context& w, int left) {
            if (left == 0) return 0;
            return 1 + fork_join(w, [&w, left] { return descend(w, left - 1); }, [] { return 0; }).first;
        }
    };
    // A large stack first, then a small one: the small one's floor counts.
    const auto deep = [](void* p) -> void* {
        auto& of = *static_cast<fork_join_pool*>(p);
        EXPECT_EQ(of.run([](context& w) { return chain::descend(w, 100); }), 100);
        EXPECT_THROW(of.run([](context& w) { return chain::descend(w, 1'000'000'000); }), apiary::fork_too_deep);
        return nullptr;
    };
    for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{1} << 18, std::size_t{1} << 19}) {
        pthread_attr_t attributes;
        ASSERT_EQ(::pthread_attr_init(&attributes), 0);
        ASSERT_EQ(::pthread_attr_setstacksize(&attributes, bytes), 0);
        pthread_t thread;
        ASSERT_EQ(::pthread_create(&thread, &attributes, deep, &pool), 0);
        ASSERT_EQ(::pthread_join(thread, nullptr), 0);
        ASSERT_EQ(::pthread_attr_destroy(&attributes), 0);
    }
    EXPECT_EQ(pool.counters().seated, 6U);
}

TEST(fork_join_seat, more_callers_than_seats_all_get_their_answers) {
    fork_join_pool pool({.workers = 2, .callers = 2});
    std::vector<std::thread> callers;
    std::atomic<int> right = 0;
    for (int i = 0; i != 5; ++i)
        callers.emplace_back([&] {
            for (int n = 0; n != 50; ++n) right += pool.run([](context& w) { return fib(w, 12); }) == 144 ? 1 : 0;
        });
    for (std::thread& t : callers) t.join();
    EXPECT_EQ(right, 250);
    EXPECT_TRUE(comes_true([&] { return pool.counters().roots + pool.counters().seated == 250; }));
    EXPECT_NE(pool.counters().seated, 0U);
}

TEST(fork_join_seat, a_taken_seat_leaves_the_next_caller_to_a_worker) {
    fork_join_pool pool({.workers = 1, .callers = 1});
    pool.run([&] {
        std::thread([&] {
            EXPECT_NE(pool.run([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
        }).join();
    });
    EXPECT_EQ(pool.counters().seated, 1U);
    EXPECT_TRUE(comes_true([&] { return pool.counters().roots == 1; }));
}

TEST(fork_join_seat, run_inside_a_seat_is_a_plain_call) {
    fork_join_pool pool({.workers = 1, .callers = 2});
    pool.run([&](context& w) { EXPECT_EQ(pool.run([](context& v) { return &v; }), &w); });
    EXPECT_EQ(pool.counters().seated, 1U);
}

TEST(fork_join_seat, a_worker_of_another_pool_sits_and_is_that_worker_again) {
    fork_join_pool one({.workers = 1}), other({.workers = 1, .callers = 1});
    one.run([&](context& mine) {
        const auto here = std::this_thread::get_id();
        EXPECT_EQ(other.run([&](context& w) {
            EXPECT_EQ(&w.pool(), &other);
            EXPECT_EQ(fork_join_pool::current(), &w);
            EXPECT_EQ(fib(w, 10), 55U);
            return std::this_thread::get_id();
        }),
                  here);
        EXPECT_EQ(fork_join_pool::current(), &mine);
        EXPECT_EQ(fib(mine, 10), 55U);
    });
}

// The seat is the innermost of the thread's two workers. A fork by the other one, which looks since it has been asked,
// is a fork by its own thread, too.
TEST(fork_join_seat, a_thread_that_is_two_workers_forks_by_either) {
    fork_join_pool outer({.workers = 1, .callers = 1}), inner({.workers = 1, .callers = 1});
    outer.run([&](context& w) {
        inner.run([&](context&) {
            w.jobs().ask();
            int ran = 0;
            EXPECT_NO_THROW(fork_join(w, [&] { ++ran; }, [] {}));
            EXPECT_EQ(ran, 1);
        });
    });
}

// Its own pool has nobody else to run the innermost call. Where that is not a plain one, the thread waits for ever: it
// is left alone.
TEST(fork_join_seat, a_worker_that_sits_in_another_pool_calls_its_own_plainly) {
    struct pools {
        fork_join_pool one{{.workers = 1}}, other{{.workers = 1, .callers = 1}}, third{{.workers = 1, .callers = 1}};
        std::atomic<bool> over = false;
    };
    const auto of = std::make_shared<pools>();
    std::thread caller([of] {
        auto& [one, other, third, over] = *of;
        one.run([&](context& mine) {
            third.run([&](context& outermost) {
                other.run([&](context& seat) {
                    const auto here = std::this_thread::get_id();
                    one.run([&](context& w) {
                        EXPECT_EQ(&w, &mine);
                        EXPECT_EQ(fork_join_pool::current(), &mine);
                        EXPECT_EQ(std::this_thread::get_id(), here);
                        EXPECT_EQ(fib(w, 10), 55U);
                        other.run([&](context& v) {
                            EXPECT_EQ(&v, &seat);
                            EXPECT_EQ(fork_join_pool::current(), &seat);
                            third.run([&](context& u) { EXPECT_EQ(&u, &outermost); });
                            EXPECT_THROW(one.run([] { throw std::runtime_error("innermost"); }), std::runtime_error);
                            EXPECT_EQ(fork_join_pool::current(), &seat);
                        });
                        EXPECT_EQ(fork_join_pool::current(), &mine);
                    });
                    EXPECT_EQ(fork_join_pool::current(), &seat);
                    EXPECT_EQ(fib(seat, 10), 55U);
                });
                EXPECT_EQ(fork_join_pool::current(), &outermost);
            });
            EXPECT_EQ(fork_join_pool::current(), &mine);
            EXPECT_EQ(mine.outer(), nullptr);
        });
        over = true;
    });
    if (comes_true([&] { return of->over.load(); })) return caller.join();
    caller.detach();
    ADD_FAILURE() << "it waits for itself";
}

// Its jobs would lie where no floor holds.
TEST(fork_join_seat, a_caller_on_a_fiber_leaves_its_call_to_a_worker) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer is not told of the fiber";
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    GTEST_SKIP() << "ThreadSanitizer is not told of the fiber";
#endif
#endif
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    static fork_join_pool* pool;
    static std::thread::id ran_on;
    fork_join_pool there({.workers = 1, .callers = 1});
    pool = &there;
    static ucontext_t back, fiber;
    std::vector<std::byte> stack(1 << 17);
    ASSERT_EQ(::getcontext(&fiber), 0);
    fiber.uc_stack.ss_sp = stack.data();
    fiber.uc_stack.ss_size = stack.size();
    fiber.uc_link = &back;
    ::makecontext(&fiber, +[] { ran_on = pool->run([] { return std::this_thread::get_id(); }); }, 0);
    ASSERT_EQ(::swapcontext(&back, &fiber), 0);
    EXPECT_NE(ran_on, std::this_thread::get_id());
    EXPECT_NE(ran_on, std::thread::id());
    EXPECT_EQ(there.counters().seated, 0U);
}

TEST(fork_join_seat, pools_with_seats_come_and_go) {
    for (unsigned i = 0; i != 50; ++i) {
        fork_join_pool pool({.workers = 1 + i % 3, .callers = 1 + i % 2, .linger_ns = i % 2 == 0 ? 0 : 100'000});
        if (i % 5 == 0) continue;  // nobody calls
        EXPECT_EQ(pool.run([](context& w) { return fib(w, 14); }), 377U);
    }
}

}  // namespace
}  // namespace fork_join_seat_test
