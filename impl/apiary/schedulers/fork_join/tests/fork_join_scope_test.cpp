// task_scope: every job once, room, exceptions, stops, and what is stated for misuse.
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "helpers.hpp"

namespace fork_join_scope_test {
namespace {

using apiary::comes_true;
using apiary::fork_join;
using apiary::fork_join_pool;
using context = fork_join_pool::context;
using fork_join_tests::wait_for;
using scope = apiary::task_scope<context>;

TEST(task_scope, runs_every_job_once_however_many_there_are) {
    fork_join_pool pool({.workers = 4});
    for (const int jobs : {0, 1, 15, 16, 17, 100}) {
        std::vector<std::atomic<int>> turns(static_cast<std::size_t>(jobs));
        pool.run([&](context& w) {
            scope s(w);
            for (auto& t : turns) s.run([&t] { ++t; });
            EXPECT_TRUE(s.wait());
            EXPECT_TRUE(s.wait()) << "nothing is left to wait for";
        });
        for (auto& t : turns) EXPECT_EQ(t, 1) << jobs;
    }
}

// One that has no place, too: whether there is one depends on thieves.
TEST(task_scope, runs_a_copy_of_each_callable_whether_it_has_room_or_not) {
    fork_join_pool pool({.workers = 1});
    std::vector<int> seen;
    pool.run([&](context& w) {
        apiary::task_scope<context, 2> s(w);
        auto counts = [&seen, n = 0](context&) mutable { seen.push_back(n++); };
        for (int i = 0; i != 4; ++i) s.run(counts);
        const auto as_const = counts;
        s.run(as_const);
        EXPECT_TRUE(s.wait());
    });
    EXPECT_EQ(seen, std::vector<int>(5, 0));
}

TEST(task_scope, hands_jobs_to_idle_workers) {
    fork_join_pool pool({.workers = 2});
    for (int i = 0; i != 20; ++i) {
        std::atomic<bool> begun = false;
        pool.run([&](context& w) {
            while (!w.asked()) std::this_thread::yield();
            scope s(w);
            s.run([&] { begun = true; });
            wait_for(begun);
            s.wait();
        });
    }
}

// No job forks, and the request comes when all of them are in the scope already.
TEST(task_scope, hands_jobs_to_a_worker_that_asks_while_it_waits) {
    fork_join_pool pool({.workers = 2});
    std::atomic<bool> first_runs = false, fourth_runs = false, second_ran = false;
    pool.run([&](context& w) {
        scope s(w);
        s.run([&] {  // stolen
            first_runs = true;
            wait_for(fourth_runs);
        });
        s.run([&] { second_ran = true; });
        s.run([&] { EXPECT_TRUE(comes_true([&] { return second_ran.load(); })) << "nobody was given it"; });
        s.run([&](context& v) {
            fourth_runs = true;
            EXPECT_TRUE(comes_true([&] { return first_runs && v.asked(); })) << "the thief is hungry again";
        });
        s.wait();
    });
}

TEST(task_scope, hands_jobs_to_a_worker_that_asks_while_it_has_no_room) {
    fork_join_pool pool({.workers = 2});
    std::atomic<bool> first_runs = false, no_room = false, second_ran = false;
    pool.run([&](context& w) {
        apiary::task_scope<context, 2> s(w);
        s.run([&] {  // stolen
            first_runs = true;
            wait_for(no_room);
        });
        s.run([&] { second_ran = true; });
        s.run([&](context& v) {
            no_room = true;
            EXPECT_TRUE(comes_true([&] { return first_runs && v.asked(); })) << "the thief is hungry again";
        });
        s.run([&] { EXPECT_TRUE(comes_true([&] { return second_ran.load(); })) << "nobody was given it"; });
        s.wait();
    });
}

// That job need not fork, so the request is answered before it.
TEST(task_scope, hands_a_job_out_before_it_runs_one_that_has_no_room) {
    fork_join_pool pool({.workers = 1});
    pool.run([&](context& w) {
        fork_join(w, [] {}, [] {});  // answers the request that every worker begins with
        apiary::task_scope<context, 2> s(w);
        for (int i = 0; i != 2; ++i) s.run([] {});
        const auto before = w.handed_out();
        w.jobs().ask();
        s.run([&] { EXPECT_EQ(w.handed_out(), before + 1); });
        EXPECT_TRUE(s.wait());
    });
}

// A job of the owner's ends when the thief has run one more, or is hungry: so the thief keeps pace, if the scope lets
// it.
TEST(task_scope, shares_as_many_jobs_as_there_are_however_small_its_room) {
    fork_join_pool pool({.workers = 2});
    constexpr int jobs = 200;
    std::atomic<int> elsewhere = 0, failed = 0;
    pool.run([&](context& w) {
        while (!w.asked()) std::this_thread::yield();
        scope s(w);
        for (int i = 0; i != jobs; ++i)
            s.run([&](context& v) {
                if (&v != &w) {
                    ++elsewhere;
                    return;
                }
                const int before = elsewhere;
                if (!comes_true([&] { return elsewhere != before || v.asked(); })) ++failed;
            });
        EXPECT_TRUE(s.wait());
    });
    EXPECT_EQ(failed, 0);
    EXPECT_GE(elsewhere, jobs / 4) << "of which 16 have room at the same time";
}

// The place of the second job is free while the first one's thief still has it: places need not come back in order.
TEST(task_scope, a_long_job_keeps_no_place_but_its_own) {
    fork_join_pool pool({.workers = 3});
    std::atomic<bool> long_began = false, may_end = false;
    std::atomic<int> elsewhere = 0;
    pool.run([&](context& w) {
        apiary::task_scope<context, 2> s(w);
        s.run([&] {
            long_began = true;
            wait_for(may_end);
        });
        while (!long_began) w.share(), std::this_thread::yield();
        EXPECT_TRUE(comes_true([&] {
            std::atomic<bool> ran = false;
            s.run([&](context& v) {
                if (&v != &w) ++elsewhere;
                ran = true;
            });
            while (!ran) w.share(), std::this_thread::yield();
            return elsewhere >= 25;
        }));
        may_end = true;
        EXPECT_TRUE(s.wait());
    });
}

TEST(task_scope, tells_of_the_jobs_whose_places_were_used_again) {
    fork_join_pool pool({.workers = 2});
    const auto held = std::make_shared<int>();
    pool.run([&](context& w) {
        apiary::task_scope<context, 1> s(w);
        std::atomic<int> over = 0;
        const auto run_elsewhere = [&](auto job) {  // or here, when there is no place
            const int before = over;
            s.run([&over, job, held] {
                const struct at_end {
                    std::atomic<int>& over;
                    ~at_end() { ++over; }
                } count{over};
                job();
            });
            EXPECT_TRUE(comes_true([&] { return w.share(), over != before; }));
        };
        for (int i = 0; i != 20; ++i)
            run_elsewhere([i] {
                if (i % 5 == 0) throw std::runtime_error("job");
            });
        EXPECT_THROW(s.wait(), std::runtime_error);
        EXPECT_EQ(pool.counters().lost_exceptions, 3U);
        EXPECT_EQ(held.use_count(), 1);
    });
}

// A stop that is taken back, so that what follows the job that had no turn begins, most times in its place.
TEST(task_scope, remembers_a_job_without_a_turn_whose_place_was_used_again) {
    struct token {
        const std::atomic<bool>* stopped;
        std::atomic<bool>* asked;
        bool stop_requested() const {
            const bool answer = *stopped;
            *asked = true;
            return answer;
        }
    };
    fork_join_pool pool({.workers = 2});
    pool.run([&](context& w) {
        for (int i = 0; i != 20; ++i) {
            std::atomic<bool> stopped = true, asked = false;
            apiary::task_scope<context, 1, 48, token> s(w, {&stopped, &asked});
            s.run([] { ADD_FAILURE() << "began after the stop"; });
            EXPECT_TRUE(comes_true([&] { return w.share(), asked.load(); }));
            std::this_thread::yield();
            stopped = false;
            std::atomic<bool> ran = false;
            s.run([&ran] { ran = true; });
            EXPECT_FALSE(s.wait());
            EXPECT_TRUE(ran);
        }
    });
}

int nested(context& w, int depth) {
    if (depth == 0) return 1;
    std::atomic<int> sum = 0;
    scope s(w);
    for (int i = 0; i != 3; ++i) s.run([&sum, depth](context& v) { sum += nested(v, depth - 1); });
    const auto [x, y] = fork_join(w, [depth](context& v) { return nested(v, depth - 1); }, [] { return 0; });
    s.wait();
    return sum + x + y;
}
TEST(task_scope, nests_in_scopes_and_forks) {
    fork_join_pool pool({.workers = 4});
    for (int i = 0; i != 10; ++i) EXPECT_EQ(pool.run([](context& w) { return nested(w, 5); }), 1024);
}

TEST(task_scope, throws_one_exception_and_counts_the_others) {
    fork_join_pool pool({.workers = 3});
    const auto held = std::make_shared<int>();
    pool.run([&](context& w) {
        scope s(w);
        for (int i = 0; i != 20; ++i)
            s.run([i, held] {
                if (i % 5 == 0) throw std::runtime_error("job");
            });
        EXPECT_THROW(s.wait(), std::runtime_error);
        EXPECT_TRUE(s.wait()) << "it has told of it";
    });
    EXPECT_EQ(pool.counters().lost_exceptions, 3U);
    EXPECT_EQ(held.use_count(), 1);
}

TEST(task_scope, keeps_the_exception_of_a_job_that_had_no_room) {
    fork_join_pool pool({.workers = 1});
    pool.run([](context& w) {
        apiary::task_scope<context, 1> s(w);
        int ran = 0;
        s.run([&] { ++ran; });
        s.run([&] {
            ++ran;
            throw std::runtime_error("job");
        });
        EXPECT_EQ(ran, 1) << "the second runs at once, the first in wait";
        EXPECT_THROW(s.wait(), std::runtime_error);
        EXPECT_EQ(ran, 2);
        EXPECT_TRUE(s.wait()) << "it has told of it";
    });
    EXPECT_EQ(pool.counters().lost_exceptions, 0U);
}

TEST(task_scope, destroyed_without_wait_waits) {
    fork_join_pool pool({.workers = 2});
    std::atomic<int> ran = 0;
    pool.run([&](context& w) {
        scope s(w);
        for (int i = 0; i != 10; ++i)
            s.run([&] {
                ++ran;
                throw std::runtime_error("job");
            });
    });
    EXPECT_EQ(ran, 10);
    EXPECT_EQ(pool.counters().lost_exceptions, 10U);
}

TEST(task_scope, left_by_an_exception_gives_all_jobs_their_turn) {
    fork_join_pool pool({.workers = 2});
    std::atomic<int> ran = 0;
    EXPECT_THROW(pool.run([&](context& w) {
        scope s(w);
        for (int i = 0; i != 20; ++i) s.run([&] { ++ran; });
        throw std::runtime_error("the function");
    }),
                 std::runtime_error);
    EXPECT_EQ(ran, 20);
    EXPECT_EQ(pool.counters().lost_exceptions, 0U);
}

TEST(task_scope, begins_no_job_behind_a_stop) {
    fork_join_pool pool({.workers = 2});
    std::stop_source stop;
    pool.run([&](context& w) {
        scope s(w, stop.get_token());
        std::atomic<int> ran = 0;
        s.run([&] { ++ran; });
        EXPECT_TRUE(s.wait());
        stop.request_stop();
        for (int i = 0; i != 20; ++i) s.run([] { ADD_FAILURE() << "began after the stop"; });
        EXPECT_FALSE(s.wait());
        EXPECT_EQ(ran, 1);
        EXPECT_TRUE(s.wait()) << "nothing is left";
    });
}

// The job in the room has begun before the stop: only the one that had none is left out.
TEST(task_scope, tells_of_a_job_that_had_no_room_behind_a_stop) {
    fork_join_pool pool({.workers = 2});
    std::stop_source stop;
    pool.run([&](context& w) {
        while (!w.asked()) std::this_thread::yield();
        std::atomic<bool> begun = false, may_end = false;
        apiary::task_scope<context, 1> s(w, stop.get_token());
        s.run([&] {
            begun = true;
            wait_for(may_end);
        });
        wait_for(begun);
        stop.request_stop();
        s.run([] { ADD_FAILURE() << "began after the stop"; });
        may_end = true;
        EXPECT_FALSE(s.wait());
        EXPECT_TRUE(s.wait()) << "nothing is left";
    });
}

TEST(task_scope, refuses_jobs_below_a_younger_fork_or_scope) {
    fork_join_pool pool({.workers = 1});
    pool.run([](context& w) {
        (void)fork_join(w, [] {}, [] {});  // nobody else is there to ask
        scope s(w);
        fork_join(w, [&] { EXPECT_THROW(s.run([] {}), std::logic_error); }, [] {});
        scope t(w);
        t.run([] {});
        EXPECT_THROW(s.run([] {}), std::logic_error);
        EXPECT_THROW(s.wait(), std::logic_error);
        t.wait();
        s.run([] {});
        EXPECT_TRUE(s.wait());
    });
}

TEST(task_scope, refuses_jobs_that_a_thief_adds) {
    fork_join_pool pool({.workers = 2});
    for (int i = 0; i != 20; ++i)
        pool.run([](context& w) {
            while (!w.asked()) std::this_thread::yield();
            scope s(w);
            std::atomic<bool> tried = false;
            s.run([&] {
                EXPECT_THROW(s.run([] { ADD_FAILURE() << "it was added"; }), std::logic_error);
                EXPECT_THROW((void)s.wait(), std::logic_error);
                tried = true;
            });
            wait_for(tried);
            EXPECT_TRUE(s.wait());
        });
}

TEST(task_scope, destroys_a_job_that_found_too_little_stack_and_runs_those_before_it) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    fork_join_pool pool({.workers = 1, .stack_reserve = std::size_t{1} << 40});  // every fork finds too little
    const auto held = std::make_shared<int>();
    pool.run([&](context& w) {
        scope s(w);
        for (int i = 0; i != 3; ++i) EXPECT_THROW(s.run([held] { ADD_FAILURE(); }), apiary::fork_too_deep);
        EXPECT_EQ(held.use_count(), 1);
        EXPECT_TRUE(s.wait()) << "nothing is left";
    });
}

}  // namespace
}  // namespace fork_join_scope_test
