// What a worker that waits at a latch does: on workers that the test steps, and on threads.
#include <apiary/workers/helping.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <apiary/testing/plain_crew.hpp>
#include <apiary/workers/thread_latch.hpp>

namespace help_test {
namespace {

using apiary::plain_crew;
using apiary::stop_mode;
using worker = plain_crew::worker_type;
using latch = apiary::latch<worker>;
using words = std::vector<std::string>;

constexpr auto always = [] { return true; };
constexpr auto never = [] { return false; };

class help : public testing::Test {
protected:
    auto noting(const char* name) {
        return [this, name] { log.emplace_back(name); };
    }
    words log;
};

TEST_F(help, runs_own_tasks_newest_first_until_the_latch_opens_and_no_more) {
    plain_crew c(2);
    worker& w = c.worker(0);
    latch l(w, 2);
    ASSERT_TRUE(c.post_local(w, noting("left for later")));
    ASSERT_TRUE(c.post_local(w, [&] { noting("second child")(), l.count_down(); }));
    ASSERT_TRUE(c.post_local(w, [&] { noting("first child")(), l.count_down(); }));
    EXPECT_FALSE(l.is_open());
    w.help_until(l, always);
    EXPECT_TRUE(l.is_open());
    EXPECT_EQ(log, (words{"first child", "second child"}));
    EXPECT_TRUE(w.turn_once());
    EXPECT_EQ(log.back(), "left for later");
}

TEST_F(help, at_an_open_latch_runs_nothing) {
    plain_crew c(2);
    worker& w = c.worker(0);
    latch l(w, 0), late(w);
    late.count_down();
    ASSERT_TRUE(c.post_local(w, noting("ran")));
    w.help_until(l, always);
    w.help_until(late, always);
    w.help_until(late, never);
    EXPECT_EQ(log, words{});
    EXPECT_FALSE(late.announce()) << "nobody may sleep at it";
}

TEST_F(help, goes_on_to_what_is_kept_then_to_the_pool_then_to_another_worker) {
    plain_crew c(2);
    worker& w = c.worker(0);
    latch l(w, 1);
    ASSERT_TRUE(c.post_local(c.worker(1), [&] { noting("stolen")(), l.count_down(); }));
    ASSERT_TRUE(c.post_local(c.worker(1), noting("newer than the stolen one")));
    ASSERT_TRUE(c.post(noting("pool 1")));
    ASSERT_TRUE(c.post(noting("pool 2")));
    w.sources().keep(plain_crew::storage::make(noting("kept")));
    ASSERT_TRUE(c.post_local(w, noting("own")));
    w.help_until(l, always);
    EXPECT_EQ(log, (words{"own", "kept", "pool 1", "pool 2", "stolen"}));
}

// To the idle set the other worker sleeps: the test announces that after the posts, which find no sleeper.
TEST_F(help, with_a_task_of_the_pool_wakes_another_worker_for_those_behind_it) {
    plain_crew c(2);
    worker& w = c.worker(0);
    auto& idle = c.crew().idle();
    latch l(w, 1);
    ASSERT_TRUE(c.post_local(w, [&] { EXPECT_TRUE(idle.snapshot().sleeps(1)) << "woken for what lies in the pool"; }));
    ASSERT_TRUE(c.post([&] {
        EXPECT_FALSE(idle.snapshot().sleeps(1)) << "one more is there to be taken";
        (void)idle.stop_searching();
    }));
    ASSERT_TRUE(c.post([&] { l.count_down(); }));
    (void)idle.announce_sleep(1, false);
    w.help_until(l, always);
    EXPECT_EQ(idle.snapshot().value, 0U);
}

TEST_F(help, inside_a_kept_task_takes_the_others_that_are_kept) {
    plain_crew c(2);
    worker& w = c.worker(0);
    latch l(w, 1);
    w.sources().keep(plain_crew::storage::make([&] { noting("child")(), l.count_down(); }));
    w.sources().keep(plain_crew::storage::make([&] { w.help_until(l, always), noting("parent")(); }));
    EXPECT_TRUE(w.turn_once());
    EXPECT_EQ(log, (words{"child", "parent"}));
}

TEST_F(help, is_asked_for_before_each_task_and_one_that_may_not_blocks) {
    plain_crew c(2);
    worker& w = c.worker(0);
    latch l(w, 1);
    ASSERT_TRUE(c.post_local(w, [&] { noting("left for a thief")(), l.count_down(); }));
    std::atomic<bool> helped = false;
    ASSERT_TRUE(c.post_local(w, [&] { noting("helped")(), helped = true; }));
    int asked = 0;
    std::thread thief([&] {
        while (!helped) std::this_thread::yield();
        while (!l.is_open()) (void)c.worker(1).turn_once(), std::this_thread::yield();
    });
    w.help_until(l, [&] { return asked++ == 0; });
    thief.join();
    EXPECT_GE(asked, 1);
    EXPECT_EQ(log, (words{"helped", "left for a thief"}));
    EXPECT_EQ(c.crew().idle().snapshot().value, 0U);
}

TEST_F(help, that_may_not_is_nobody_whom_posts_wake) {
    plain_crew c(2);
    worker& w = c.worker(0);
    latch l(w, 1);
    std::thread waiter([&] { w.help_until(l, never); });
    for (int i = 0; i != 50; ++i) {
        EXPECT_EQ(c.crew().idle().snapshot().sleepers(), 0U);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    l.count_down();
    waiter.join();
    EXPECT_EQ(w.counters().run, 0U);
}

TEST_F(help, sleeps_when_there_is_nothing_and_the_last_count_wakes_it) {
    plain_crew c(2, {.looks_before_sleep = 0});
    worker& w = c.worker(0);
    latch l(w, 2);
    std::thread waiter([&] { w.help_until(l, always); });
    while (c.crew().idle().snapshot().sleepers() == 0) std::this_thread::yield();
    l.count_down();
    EXPECT_FALSE(l.is_open());
    l.count_down();
    waiter.join();
    EXPECT_EQ(c.crew().idle().snapshot().value, 0U);
    EXPECT_GE(w.counters().parked, 1U);
}

TEST_F(help, a_post_wakes_a_worker_that_sleeps_at_a_latch) {
    plain_crew c(1, {.looks_before_sleep = 0});
    worker& w = c.worker(0);
    latch l(w, 1);
    std::thread waiter([&] { w.help_until(l, always); });
    while (c.crew().idle().snapshot().sleepers() == 0) std::this_thread::yield();
    ASSERT_TRUE(c.post([&] { l.count_down(); }));
    waiter.join();
    EXPECT_EQ(w.counters().run, 1U);
}

// A post has claimed the worker, another worker serves that post, and the first goes on with its job.
TEST_F(help, a_search_that_posts_count_on_ends_before_the_waiting_job_goes_on) {
    plain_crew c(2, {.looks_before_sleep = 0});
    worker& w = c.worker(0);
    latch l(w, 1);
    std::thread waiter([&] { w.help_until(l, always); });
    while (c.crew().idle().snapshot().sleepers() == 0) std::this_thread::yield();
    ASSERT_TRUE(c.crew().idle().claim(0));  // as by a post whose task another worker has taken meanwhile
    l.count_down();
    w.driver().wake();
    waiter.join();
    EXPECT_EQ(c.crew().idle().snapshot().searching(), 0U);
}

TEST_F(help, goes_on_behind_a_draining_stop) {
    plain_crew c(2);
    worker& w = c.worker(0);
    ASSERT_TRUE(c.post([&] {
        latch l(w, 2);
        for (int i = 0; i != 2; ++i) ASSERT_TRUE(c.post_local(w, [&] { noting("child")(), l.count_down(); }));
        c.ask_to_stop(stop_mode::drain);
        w.help_until(l, always);
        noting("parent")();
    }));
    w.run();
    EXPECT_EQ(log, (words{"child", "child", "parent"}));
}

// Counts down however it ends.
struct child : apiary::job<> {
    explicit child(latch& at) : job(&end_it), l(at) {}
    static bool end_it(job& self, apiary::job_end how, apiary::any_worker*) {
        auto& mine = static_cast<child&>(self);
        mine.ended = how;
        mine.l.count_down();
        return true;
    }
    latch& l;
    apiary::job_end ended = apiary::job_end::cancelled;
};

TEST_F(help, drops_behind_a_discarding_stop) {
    plain_crew c(2);
    worker& w = c.worker(0);
    ASSERT_TRUE(c.post([&] {
        latch l(w, 2);
        child own(l), in_the_pool(l);
        ASSERT_TRUE(w.post_local(&own));
        ASSERT_TRUE(c.crew().post(&in_the_pool));
        c.ask_to_stop(stop_mode::discard);
        w.help_until(l, always);
        EXPECT_EQ(own.ended, apiary::job_end::drop);
        EXPECT_EQ(in_the_pool.ended, apiary::job_end::drop);
        noting("parent")();
    }));
    w.run();
    EXPECT_EQ(log, words{"parent"});
    EXPECT_EQ(w.counters().discarded, 2U);
}

TEST_F(help, behind_a_discarding_stop_blocks_for_what_others_hold) {
    plain_crew c(2);
    worker& w = c.worker(0);
    latch l(w, 1);
    child elsewhere(l);
    ASSERT_TRUE(c.worker(1).post_local(&elsewhere));
    c.ask_to_stop(stop_mode::discard);
    std::thread other([&] { c.worker(1).run(); });
    w.help_until(l, always);
    other.join();
    EXPECT_EQ(elsewhere.ended, apiary::job_end::drop);
    EXPECT_EQ(c.worker(1).counters().discarded, 1U);
}

// Fork and join, with latch and children on the stack: more than the deque holds.
struct fork : apiary::job<> {
    fork(latch* at, int n) : job(&end_it), parent(at), depth(n) {}
    static bool end_it(job& self, apiary::job_end, apiary::any_worker* by) {
        auto& mine = static_cast<fork&>(self);
        mine.sum = mine.count(*static_cast<worker*>(by));
        mine.parent->count_down();  // it may be gone after this
        return true;
    }
    long count(worker& here) const {
        if (depth == 0) return 1;
        latch l(here, 2);
        fork left(&l, depth - 1), right(&l, depth - 1);
        for (fork* f : {&left, &right})
            if (!here.post_local(f)) (void)f->run(&here);
        here.help_until(l, always);
        return left.sum + right.sum;
    }
    latch* const parent;
    const int depth;
    long sum = 0;
};

TEST_F(help, joins_a_tree_of_forks_on_four_workers) {
    plain_crew c(5);
    for (unsigned i = 1; i != 5; ++i) c.start(i);
    latch l(c.worker(0), 1);
    fork root(&l, 12);
    ASSERT_TRUE(c.crew().post(&root));
    c.worker(0).help_until(l, never);
    EXPECT_EQ(root.sum, 1 << 12);
    c.stop(stop_mode::drain);
    EXPECT_EQ(c.crew().idle().snapshot().value, 0U);
}

TEST_F(help, a_thread_that_is_no_worker_blocks_and_runs_nothing) {
    plain_crew c(1);
    c.start(0);
    int made = 0;
    apiary::thread_latch<> l(2);
    const std::thread::id here = std::this_thread::get_id();
    for (int i = 0; i != 2; ++i)
        ASSERT_TRUE(c.post([&] {
            EXPECT_NE(std::this_thread::get_id(), here);
            ++made;
            l.count_down();
        }));
    l.wait();
    l.wait();  // open for ever
    EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace help_test
