// The law of help: a worker that waits for a stolen job runs descendants of that job and nothing else. What follows for
// locks and for stacks.
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "helpers.hpp"

namespace fork_join_help_test {
namespace {

using apiary::comes_true;
using apiary::fork_join;
using apiary::fork_join_pool;
using context = fork_join_pool::context;
using fork_join_tests::wait_for;
using fork_join_tests::wait_for_an_idle_worker;

// Worker A waits for a branch that B runs. A third branch is on offer at C, of no concern to A; it must stay there
// until B is through.
TEST(fork_join_help, a_waiting_worker_leaves_a_foreign_job_alone) {
    fork_join_pool pool({.workers = 3});
    std::atomic<bool> stolen = false, may_end = false;
    std::atomic<int> ran_elsewhere = 0;
    std::thread first([&] {
        pool.run([&](context& a) {
            wait_for_an_idle_worker(a);
            fork_join(
                a, [&] { wait_for(stolen); },
                [&] {
                    stolen = true;
                    wait_for(may_end);
                });
        });
    });
    wait_for(stolen);  // A waits from now on, or in a moment
    std::thread second([&] {
        pool.run([&](context& c) {
            const unsigned here = c.index();
            fork_join(
                c,
                [&] {
                    EXPECT_TRUE(comes_true([&] { return pool.counters().handed_out == 2; })) << "it is on offer";
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                },
                [&](context& w) { ran_elsewhere += w.index() != here ? 1 : 0; });
        });
    });
    second.join();
    EXPECT_EQ(ran_elsewhere, 0) << "A ran a job of another root while it waited";
    may_end = true;
    first.join();
}

// What rayon's users meet (rayon #592): A holds a lock across a join, and a job of another root wants it. If A ran
// that, it would wait for itself.
TEST(fork_join_help, a_lock_held_across_a_join_is_not_asked_for_below_it) {
    fork_join_pool pool({.workers = 3});
    std::mutex m;
    std::atomic<bool> stolen = false, may_end = false;
    std::thread::id holder;
    std::thread first([&] {
        pool.run([&](context& a) {
            wait_for_an_idle_worker(a);
            const std::lock_guard held(m);
            holder = std::this_thread::get_id();
            fork_join(
                a, [&] { wait_for(stolen); },
                [&] {
                    stolen = true;
                    wait_for(may_end);
                });
        });
    });
    wait_for(stolen);
    std::thread second([&] {
        pool.run([&](context& c) {
            fork_join(
                c,
                [&] {
                    EXPECT_TRUE(comes_true([&] { return pool.counters().handed_out == 2; })) << "it is on offer";
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    may_end = true;
                },
                [&] {
                    ASSERT_NE(std::this_thread::get_id(), holder) << "would wait for itself";
                    const std::lock_guard held(m);
                });
        });
    });
    second.join();
    first.join();
}

// The deepest stack of a worker is that of a descent through the tree, whatever it has helped with (rayon #1064).
struct depth_meter {
    std::uintptr_t top[8] = {};
    std::atomic<std::size_t> deepest = 0;
    void measure(context& w) {
        const char here = 0;
        const auto at = reinterpret_cast<std::uintptr_t>(&here);
        if (top[w.index()] < at) top[w.index()] = at;
        const std::size_t used = top[w.index()] - at;
        std::size_t seen = deepest;
        while (seen < used && !deepest.compare_exchange_weak(seen, used)) {
        }
    }
};
std::uint64_t measured_fib(context& w, unsigned n, depth_meter& m) {
    m.measure(w);
    if (n < 2) return n;
    const auto [x, y] = fork_join(
        w, [n, &m](context& v) { return measured_fib(v, n - 1, m); },
        [n, &m](context& v) { return measured_fib(v, n - 2, m); });
    return x + y;
}
TEST(fork_join_help, stacks_stay_within_a_descent_and_what_a_helper_adds_to_it) {
    const auto deepest = [](unsigned workers, int runs) {
        fork_join_pool pool({.workers = workers});
        depth_meter m;
        for (int i = 0; i != runs; ++i) EXPECT_EQ(pool.run([&](context& w) { return measured_fib(w, 20, m); }), 6'765U);
        return m.deepest.load();
    };
    const std::size_t alone = deepest(1, 1);
    constexpr std::size_t helper_frames =
        1024;  // what wait_for, help and run add for each level, at most, in any build
    EXPECT_LE(deepest(4, 50), alone + 20 * helper_frames);
}

// Three quarters are kept in reserve: with the whole of a stack a sanitizer's books take gigabytes.
// Only where it is not an assertion, and the worker was asked: nobody looks otherwise.
#ifdef NDEBUG
TEST(fork_join_help, a_fork_by_the_worker_of_another_thread_is_not_called_too_deep) {
    fork_join_pool pool({.workers = 2});
    pool.run([](context& w) {
        while (!w.asked()) std::this_thread::yield();
        std::atomic<bool> tried = false;
        fork_join(
            w,
            [&] {
                while (!tried) std::this_thread::yield();
            },
            [&] {
                w.jobs().ask();
                try {
                    (void)fork_join(w, [] {}, [] {});
                    ADD_FAILURE() << "it forked";
                } catch (const apiary::fork_too_deep&) {
                    ADD_FAILURE() << "its own stack is deep enough";
                } catch (const std::logic_error& e) {
                    EXPECT_NE(std::string(e.what()).find("another worker"), std::string::npos);
                }
                tried = true;
            });
        EXPECT_TRUE(w.jobs().empty()) << "the branch that was refused is not left in the list";
    });
}
#endif

TEST(fork_join_help, recursion_that_is_too_deep_is_an_exception_and_the_pool_goes_on) {
    pthread_attr_t attributes;
    std::size_t stack = 0;
    ASSERT_EQ(::pthread_attr_init(&attributes), 0);
    ASSERT_EQ(::pthread_attr_getstacksize(&attributes, &stack), 0);
    ::pthread_attr_destroy(&attributes);
    fork_join_pool pool({.workers = 2, .stack_reserve = stack / 4 * 3});
    struct chain {
        static int descend(context& w, int n) {
            if (n == 0) return 0;
            const auto [x, y] = fork_join(w, [n](context& v) { return descend(v, n - 1); }, [] { return 1; });
            return x + y;
        }
    };
    EXPECT_EQ(pool.run([](context& w) { return chain::descend(w, 100); }), 100);
    if (apiary::stacks_have_bounds) {
        EXPECT_THROW(pool.run([](context& w) { return chain::descend(w, 1'000'000'000); }), apiary::fork_too_deep);
    }
    EXPECT_EQ(pool.run([](context& w) { return chain::descend(w, 100); }), 100);
}

// An address that has wrapped would limit nothing.
TEST(fork_join_help, a_reserve_beyond_the_address_space_refuses_every_fork) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    const apiary::stack_bounds& here = apiary::bounds_of_this_stack();
    EXPECT_EQ(here.floor(SIZE_MAX), UINTPTR_MAX);
    EXPECT_EQ(here.floor(SIZE_MAX - 4096), UINTPTR_MAX);
    fork_join_pool pool({.workers = 1, .stack_reserve = SIZE_MAX});
    EXPECT_THROW(pool.run([](context& w) { (void)fork_join(w, [] {}, [] {}); }), apiary::fork_too_deep);
    EXPECT_EQ(pool.run([] { return 5; }), 5);
}

// The fork of the second and the third is one of its own, after the first, and gets the stack that is left then.
TEST(fork_join_help, of_three_branches_the_first_may_have_run_when_there_is_no_stack_for_the_others) {
    fork_join_pool pool({.workers = 1});
    int first = 0, others = 0;
    EXPECT_THROW(pool.run([&](context& w) {
        const auto uses_up_the_stack = [&](context& v) {
            ++first;
            v.jobs().limit_stack(UINTPTR_MAX);
            v.jobs().ask();
        };
        (void)fork_join(w, uses_up_the_stack, [&] { ++others; }, [&] { ++others; });
    }),
                 apiary::fork_too_deep);
    EXPECT_EQ(first, 1);
    EXPECT_EQ(others, 0);
}

// The main thread's stack is known from a file in /proc, which a process without a free descriptor cannot open.
TEST(fork_join_help, a_stack_that_the_system_does_not_tell_of_has_no_limit) {
    const char here = 0;
    EXPECT_TRUE(apiary::bounds_of_this_stack().contain(&here));
    EXPECT_EQ(apiary::bounds_of_this_stack().floor(65'536) != 0U, apiary::stacks_have_bounds);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const apiary::stack_bounds bounds = apiary::detail::ask_for_stack_bounds();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(bounds.floor(65'536), 0U);
    EXPECT_TRUE(bounds.contain(&here));
    EXPECT_TRUE(bounds.contain(reinterpret_cast<const void*>(UINTPTR_MAX)));
}

// The kernel is given a byte on either side to read, and says so where nobody may.
TEST(fork_join_help, a_stack_begins_above_its_guard) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    std::thread([] {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const auto reads = [&](std::uintptr_t at) {
            return ::write(ends[1], reinterpret_cast<const void*>(at), 1) == 1;
        };
        const std::uintptr_t lowest = apiary::bounds_of_this_stack().lowest;
        EXPECT_TRUE(reads(lowest));
        EXPECT_FALSE(reads(lowest - 1));
        for (const int fd : ends) ::close(fd);
    }).join();
}

// Twice where the wake for its root comes late: that token ends the first sleep at once (sleeper.hpp).
TEST(fork_join_help, a_joiner_that_finds_nothing_sleeps_and_is_woken) {
    fork_join_pool pool({.workers = 2});
    std::atomic<bool> stolen = false;
    pool.run([&](context& w) {
        wait_for_an_idle_worker(w);
        fork_join(
            w, [&] { wait_for(stolen); },
            [&] {
                stolen = true;
                while (pool.counters().slept == 0) std::this_thread::yield();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));  // one that only says so goes round
            });
    });
    EXPECT_LE(pool.counters().slept, 2U);
}

// One that looks on for 10 ms sleeps through no job of a tenth of that, but where the thief loses its processor
// meanwhile.
TEST(fork_join_help, a_joiner_looks_on_for_as_long_as_it_lingers) {
    fork_join_pool pool({.workers = 2, .linger_ns = 10'000'000});
    for (int i = 0; i != 20; ++i) {
        std::atomic<bool> stolen = false;
        pool.run([&](context& w) {
            wait_for_an_idle_worker(w);
            fork_join(
                w, [&] { wait_for(stolen); },
                [&] {
                    stolen = true;
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                });
        });
    }
    EXPECT_LT(pool.counters().slept, 20U);
}

// The first sleeper that is woken takes a job that does not end. Its search is over by then: the next fork wakes the
// other one.
TEST(fork_join_help, a_worker_that_was_woken_ends_its_search_before_the_job) {
    fork_join_pool pool({.workers = 3, .linger_ns = 0});
    while (pool.counters().parked < 3) std::this_thread::yield();
    std::atomic<bool> first = false, second = false;
    pool.run([&](context& w) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // those about to sleep sleep by then
        EXPECT_TRUE(comes_true([&] { return w.asked(); }));
        fork_join(
            w,
            [&](context& v) {
                EXPECT_TRUE(comes_true([&] { return first.load(); }));
                EXPECT_TRUE(comes_true([&] { return v.asked(); })) << "the sleeper has taken no note of the other one";
                fork_join(v, [&] { EXPECT_TRUE(comes_true([&] { return second.load(); })); }, [&] { second = true; });
            },
            [&] {
                first = true;
                (void)comes_true([&] { return second.load(); });
            });
    });
}

// It sleeps for the end of the job, and is woken for a descendant of it: its own branch ends only when that has begun
// elsewhere.
TEST(fork_join_help, a_joiner_that_sleeps_is_woken_for_a_descendant) {
    fork_join_pool pool({.workers = 2});
    for (int i = 0; i != 20; ++i) {
        std::atomic<bool> stolen = false, helped = false;
        const auto before = pool.counters().slept;
        pool.run([&](context& w) {
            wait_for_an_idle_worker(w);
            fork_join(
                w, [&] { wait_for(stolen); },
                [&](context& v) {
                    stolen = true;
                    while (pool.counters().slept == before) std::this_thread::yield();
                    wait_for_an_idle_worker(v);
                    fork_join(v, [&] { wait_for(helped); }, [&] { helped = true; });
                });
        });
    }
    EXPECT_GE(pool.counters().slept, 20U);
}

// The thief has answered every request before the joiner waits: so what it forks later is its own, unless the joiner
// asks.
TEST(fork_join_help, a_joiner_asks_its_thief_for_a_branch) {
    fork_join_pool pool({.workers = 2});
    std::atomic<bool> answered = false, helped = false;
    pool.run([&](context& w) {
        wait_for_an_idle_worker(w);
        fork_join(
            w, [&] { wait_for(answered); },
            [&](context& v) {
                while (v.asked()) fork_join(v, [] {}, [] {});
                answered = true;
                while (!helped)
                    fork_join(v, [] { std::this_thread::yield(); }, [&](context& u) { helped = helped || &u == &w; });
            });
    });
}

// B is at a root while A offers a branch, and three more roots come. A's branch is what B takes next.
TEST(fork_join_help, work_that_has_begun_comes_before_new_roots) {
    fork_join_pool pool({.workers = 2});
    std::atomic<bool> busy = false, offered = false, begun = false;
    std::atomic<int> posting = 0, roots = 0, roots_before = -1;
    std::thread b([&] {
        pool.run([&] {
            busy = true;
            wait_for(offered);
            while (posting != 3) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));  // they wait in the pool by now
        });
    });
    wait_for(busy);
    std::thread a([&] {
        pool.run([&](context& w) {
            while (!w.asked()) std::this_thread::yield();
            fork_join(
                w,
                [&] {
                    offered = true;
                    wait_for(begun);
                },
                [&] {
                    roots_before = roots.load();
                    begun = true;
                });
        });
    });
    std::vector<std::thread> callers;
    for (int i = 0; i != 3; ++i)
        callers.emplace_back([&] {
            wait_for(offered);
            ++posting;
            pool.run([&] { ++roots; });
        });
    for (std::thread& t : callers) t.join();
    a.join();
    b.join();
    EXPECT_EQ(roots_before, 0);
}

// No later than at the fork: neither of the two branches forks again.
TEST(fork_join_help, two_branches_that_never_fork_are_shared_at_their_fork) {
    fork_join_pool pool({.workers = 2});
    for (std::uint64_t i = 0; i != 200; ++i)
        pool.run([&](context& w) {
            wait_for_an_idle_worker(w);
            const auto before = pool.counters().handed_out;
            EXPECT_EQ(fork_join(w, [&] { return pool.counters().handed_out; }, [] {}).first, before + 1);
        });
}

TEST(fork_join_help, an_idle_pool_sleeps) {
    fork_join_pool pool({.workers = 4});
    pool.run([&](context& w) { fork_join(w, [] {}, [] {}); });
    EXPECT_TRUE(comes_true([&] {
        const auto seen = pool.counters().parked;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return seen >= 4 && pool.counters().parked == seen;
    })) << "the workers go on waking";
}

}  // namespace
}  // namespace fork_join_help_test
