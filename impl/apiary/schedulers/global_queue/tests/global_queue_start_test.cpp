// A scheduler on threads of its own: start, join, the number of workers, and where they run.
#include <apiary/schedulers/global_queue/global_queue.hpp>

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace global_queue_start_test {
namespace {

using apiary::global_queue;
using apiary::stop_mode;

// The one processor that this thread may use; none of it may use several.
int only_processor() {
    const std::vector<int> all = apiary::usable_processors();
    return all.size() == 1 ? all[0] : -1;
}

TEST(global_queue, empty_braces_are_the_usual_configuration) {
    apiary::global_queue named({}), usual, braces{}, config(apiary::global_queue_config{});
    EXPECT_TRUE(named.post([] {}));
}

TEST(global_queue_start, does_not_block_and_its_caller_is_no_worker) {
    global_queue q({.workers = 2});
    q.start();
    std::atomic<int> elsewhere{0};
    std::barrier all(2);
    const auto caller = std::this_thread::get_id();
    for (int i = 0; i < 2; ++i)
        ASSERT_TRUE(q.post([&] {
            elsewhere += std::this_thread::get_id() != caller;
            all.arrive_and_wait();  // two workers are at a task
        }));
    q.wait_idle();
    EXPECT_EQ(elsewhere, 2);
    q.request_stop();
    q.join();
    q.join();  // nothing is left to do
    EXPECT_EQ(q.report().run, 2U);
}

TEST(global_queue_start, is_ended_by_the_destructor_which_drains) {
    std::atomic<int> ran{0};
    {
        global_queue q({.workers = 2});
        q.start();
        for (int i = 0; i < 100; ++i) ASSERT_TRUE(q.post([&] { ++ran; }));
    }
    EXPECT_EQ(ran, 100);
}

TEST(global_queue_start, of_a_scheduler_that_its_own_task_destroys_ends_the_program_with_the_remedy) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            auto q = std::make_shared<global_queue>(apiary::global_queue_config{.workers = 2});
            q->start();
            std::atomic<bool> go{false};
            (void)q->post([q, &go] {
                while (!go) std::this_thread::yield();
            });
            q.reset();
            go = true;
            for (;;) std::this_thread::yield();
        },
        "keep an owner outside");
}

// Nobody would run or drop what it posts.
TEST(global_queue_start, that_never_came_refuses_what_a_dropped_tasks_destructor_posts) {
    int refused = 0;
    struct posts_at_the_end {
        global_queue* q;
        int* refused;
        posts_at_the_end(global_queue& to, int& n) : q(&to), refused(&n) {}
        posts_at_the_end(posts_at_the_end&& other) noexcept
            : q(std::exchange(other.q, nullptr)), refused(other.refused) {}
        ~posts_at_the_end() {
            if (q != nullptr && !q->post([] {})) ++*refused;
        }
        void operator()() {}
    };
    {
        global_queue q({.workers = 1});
        ASSERT_TRUE(q.post(posts_at_the_end(q, refused)));
    }
    EXPECT_EQ(refused, 1);
}

struct refusing_team {
    template <class Body>
    void start(Body, int = -1) {
        throw std::system_error(EAGAIN, std::generic_category(), "no thread");
    }
    void join() {}
    void detach() {}
};
struct threadless : apiary::real_sync {
    using threads = refusing_team;
};

TEST(global_queue_start, that_gets_no_thread_after_a_draining_stop_drops_what_nobody_will_run) {
    apiary::basic_global_queue<threadless> q({.workers = 2});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(q.post([] { FAIL() << "it has no worker"; }));
    q.request_stop(stop_mode::drain);
    EXPECT_THROW(q.run(), std::system_error);
    q.wait_idle();
    EXPECT_EQ(q.report().discarded, 3U);
}

TEST(global_queue_start, runs_once) {
    global_queue q({.workers = 1});
    q.start();
    EXPECT_THROW(q.start(), std::logic_error);
    EXPECT_THROW(q.run(), std::logic_error);
    q.request_stop();
    q.join();
    EXPECT_THROW(q.start(), std::logic_error);
}

TEST(global_queue_start, has_a_worker_for_each_processor_that_it_may_use) {
    EXPECT_EQ(apiary::global_queue_config{}.workers, apiary::default_workers());
    // On a thread that may use one alone, which others must not inherit.
    std::thread([] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(apiary::usable_processors().back()), &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(apiary::global_queue_config{}.workers, 1U);
    }).join();
}

TEST(global_queue_start, binds_its_workers_in_turns_when_told_to) {
    const std::vector<int> usable = apiary::usable_processors();
    const auto workers = static_cast<unsigned>(usable.size()) + 1;
    global_queue q({.workers = workers, .pin = true});
    std::barrier all(static_cast<std::ptrdiff_t>(workers));
    std::vector<std::atomic<int>> bound(usable.size());
    std::atomic<int> unbound{0};
    for (unsigned i = 0; i < workers; ++i)
        ASSERT_TRUE(q.post([&] {
            const int mine = only_processor();
            bool known = false;
            for (std::size_t p = 0; p < usable.size(); ++p)
                if (usable[p] == mine) ++bound[p], known = true;
            unbound += !known;
            all.arrive_and_wait();
        }));
    q.request_stop();
    q.start();
    q.join();
    EXPECT_EQ(usable.size() == 1 ? 0 : unbound.load(), 0);
    EXPECT_EQ(bound[0], usable.size() == 1 ? static_cast<int>(workers) : 2) << "the first one in turns";
    EXPECT_EQ(apiary::usable_processors(), usable) << "the caller of start() is not bound";

    global_queue one({.workers = 1, .pin = true});
    one.start();
    EXPECT_EQ(apiary::usable_processors(), usable) << "nor when there is one worker";
}

}  // namespace
}  // namespace global_queue_start_test
