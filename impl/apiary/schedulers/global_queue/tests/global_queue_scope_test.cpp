// Parents, children and threads that wait: what a wait runs and what it does not, and what a stop leaves of it.
#include <apiary/schedulers/global_queue/global_queue.hpp>

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace global_queue_scope_test {
namespace {

using apiary::global_queue;
using apiary::stop_mode;
using scope = global_queue::task_scope;

void wait_for(const std::atomic<bool>& flag) {
    while (!flag.load()) std::this_thread::yield();
}

// For a scheduler that was started.
apiary::stop_report stopped(global_queue& q) {
    q.request_stop();
    q.join();
    return q.report();
}

TEST(global_queue_scope, a_parent_has_ended_when_its_children_have) {
    global_queue q({.workers = 1});
    std::vector<std::string> ran;
    ASSERT_TRUE(q.post([&](scope& children) {
        ASSERT_TRUE(children.run([&](scope& grandchildren) {
            ASSERT_TRUE(grandchildren.run([&] { ran.push_back("grandchild"); }));
            ran.push_back("child");
        }));
        ran.push_back("parent");
    }));
    ASSERT_TRUE(q.post([&] { ran.push_back("next"); }));
    EXPECT_TRUE(q.wait());
    EXPECT_EQ(ran, (std::vector<std::string>{"parent", "child", "grandchild", "next"}));
}

// Exhibit A34: nobody but the worker that waits is there to run the children.
TEST(global_queue_scope, the_only_worker_waits_inside_a_task_and_runs_its_children) {
    global_queue q({.workers = 1});
    int sum = 0;
    ASSERT_TRUE(q.post([&](scope& children) {
        for (int i = 1; i <= 3; ++i)
            ASSERT_TRUE(children.run([&sum, i](scope& grandchildren) {
                int part = 0;
                ASSERT_TRUE(grandchildren.run([&part, i] { part = 10 * i; }));
                EXPECT_TRUE(grandchildren.wait());
                sum += part;
            }));
        EXPECT_TRUE(children.wait());
        EXPECT_EQ(sum, 60);
    }));
    q.start();
    q.wait_idle();
    EXPECT_EQ(stopped(q).run, 7U);
    EXPECT_EQ(sum, 60);
}

// A34 with as many parents as workers: each is inside its task before any child exists.
TEST(global_queue_scope, every_worker_waits_inside_a_task) {
    global_queue q({.workers = 2});
    std::atomic<int> parents{0}, ran{0};
    for (int p = 0; p < 2; ++p)
        ASSERT_TRUE(q.post([&](scope& children) {
            ++parents;
            while (parents != 2) std::this_thread::yield();
            for (int i = 0; i < 50; ++i) ASSERT_TRUE(children.run([&] { ++ran; }));
            EXPECT_TRUE(children.wait());
        }));
    q.start();
    q.wait_idle();
    EXPECT_EQ(ran, 100);
    EXPECT_EQ(stopped(q).exceptions, 0U);
}

TEST(global_queue_scope, a_waiting_thread_runs_grandchildren_whose_parent_is_busy) {
    global_queue q({.workers = 1});
    std::atomic<bool> posted{false}, ran{false};
    q.start();
    scope s(q);
    const auto here = std::this_thread::get_id();
    int n = 0;
    ASSERT_TRUE(s.run([&](scope& children) {
        for (int i = 0; i < 2; ++i)
            ASSERT_TRUE(children.run([&] {
                EXPECT_EQ(std::this_thread::get_id(), here);
                ran = ++n == 2;
            }));
        posted = true;
        wait_for(ran);  // the only worker is here and takes nothing
    }));
    wait_for(posted);
    EXPECT_TRUE(s.wait());
    EXPECT_EQ(stopped(q).run, 3U);
}

TEST(global_queue_scope, a_waiting_thread_runs_what_lies_two_scopes_below) {
    global_queue q({.workers = 2});
    std::atomic<bool> posted{false}, ran{false};
    q.start();
    scope s(q);
    ASSERT_TRUE(s.run([&](scope& children) {
        ASSERT_TRUE(children.run([&](scope& grandchildren) {
            ASSERT_TRUE(grandchildren.run([&] { ran = true; }));
            posted = true;
            wait_for(ran);  // the other worker is here
        }));
        wait_for(ran);  // one worker is here
    }));
    wait_for(posted);
    EXPECT_TRUE(s.wait());
    EXPECT_EQ(stopped(q).run, 3U);
}

// So a lock that a waiting task holds is asked for by nothing that lies upon it, unless the task waits for that.
TEST(global_queue_scope, a_waiting_task_runs_nothing_that_it_does_not_wait_for) {
    global_queue q({.workers = 1});
    bool held = false;
    std::vector<std::string> ran;
    const auto foreign = [&] {
        EXPECT_FALSE(held) << "it would ask for a lock that the task below it holds";
        ran.push_back("foreign");
    };
    ASSERT_TRUE(q.post([&](scope& children) {
        held = true;
        ASSERT_TRUE(q.post(foreign));
        ASSERT_TRUE(children.run([&] { ran.push_back("child"); }));
        ASSERT_TRUE(q.post(foreign));
        EXPECT_TRUE(children.wait());
        held = false;
    }));
    EXPECT_TRUE(q.wait());
    EXPECT_EQ(ran, (std::vector<std::string>{"child", "foreign", "foreign"}));
}

struct fib_of {
    int now = 0, most = 0;  // tasks that lie upon each other
    int operator()(scope& children, int n) {
        if (n < 2) return n;
        int left = 0, right = 0;
        for (auto [part, of] : {std::pair{&left, n - 1}, std::pair{&right, n - 2}})
            EXPECT_TRUE(children.run([this, part, of](scope& grandchildren) {
                most = std::max(most, ++now);
                *part = (*this)(grandchildren, of);
                --now;
            }));
        EXPECT_TRUE(children.wait());
        return left + right;
    }
};

TEST(global_queue_scope, a_stack_is_as_deep_as_the_tree_of_tasks) {
    global_queue q({.workers = 1});
    fib_of fib;
    int sum = 0;
    ASSERT_TRUE(q.post([&](scope& children) { sum = fib(children, 16); }));
    EXPECT_TRUE(q.wait());
    EXPECT_EQ(sum, 987);
    EXPECT_LE(fib.most, 15) << "tasks that wait lie upon others than their parents";
}

TEST(global_queue_scope, keeps_the_order_of_its_posts) {
    global_queue q({.workers = 1});
    std::vector<int> order;
    scope s(q);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(s.run([&order, i] { order.push_back(i); }));
    EXPECT_EQ(s.run_all(3, [&](std::size_t i) { return [&order, i] { order.push_back(3 + static_cast<int>(i)); }; }),
              3U);
    EXPECT_TRUE(s.wait());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(global_queue_scope, takes_tasks_of_its_own_tasks) {
    global_queue q({.workers = 1});
    int ran = 0;
    scope s(q);
    ASSERT_TRUE(s.run([&] {
        ASSERT_TRUE(s.run([&] { ++ran; }));
        ++ran;
    }));
    EXPECT_TRUE(s.wait());
    EXPECT_EQ(ran, 2);
}

TEST(global_queue_scope, opened_in_a_task_lies_below_that_tasks_scope) {
    global_queue q({.workers = 1});
    std::atomic<bool> posted{false}, ran{false};
    q.start();
    scope outer(q);
    ASSERT_TRUE(outer.run([&] {
        scope inner(q);
        ASSERT_TRUE(inner.run([&] { ran = true; }));
        posted = true;
        wait_for(ran);
    }));
    wait_for(posted);
    EXPECT_TRUE(outer.wait()) << "it runs the inner scope's task, which nobody else can";
    stopped(q);
}

TEST(global_queue_scope, that_ends_without_a_wait_waits) {
    global_queue q({.workers = 1});
    bool ran = false;
    {
        scope s(q);
        ASSERT_TRUE(s.run([&] { ran = true; }));
    }
    EXPECT_TRUE(ran);
}

TEST(global_queue_scope, of_another_scheduler_in_a_task) {
    global_queue q({.workers = 1}), other({.workers = 1});
    bool ran = false;
    ASSERT_TRUE(q.post([&] {
        scope s(other);
        ASSERT_TRUE(s.run([&] { ran = true; }));
        EXPECT_TRUE(s.wait());
        EXPECT_TRUE(other.wait()) << "to the other scheduler this thread is one from outside";
    }));
    EXPECT_TRUE(q.wait());
    EXPECT_TRUE(ran);
    q.request_stop(), other.request_stop();
    q.run(), other.run();
    EXPECT_EQ(q.report().run, 1U);
    EXPECT_EQ(q.report().exceptions, 0U);
    EXPECT_EQ(other.report().run, 1U);
}

TEST(global_queue_wait, needs_no_worker) {
    global_queue q({.workers = 1});
    EXPECT_TRUE(q.wait()) << "for nothing";
    int ran = 0;
    ASSERT_TRUE(q.post([&] { ASSERT_TRUE(q.post([&] { ++ran; })); }));
    EXPECT_TRUE(q.wait());
    EXPECT_EQ(ran, 1);
    q.wait_idle();
}

TEST(global_queue_wait, sleeps_until_the_last_task_has_ended_elsewhere) {
    global_queue q({.workers = 1});
    std::atomic<bool> began{false}, go{false};
    bool ended = false;
    ASSERT_TRUE(q.post([&] {
        began = true;
        wait_for(go);
        ended = true;
    }));
    q.start();
    wait_for(began);
    std::thread opens([&] { go = true; });
    EXPECT_TRUE(q.wait());
    EXPECT_TRUE(ended);
    opens.join();
    stopped(q);
}

TEST(global_queue_wait, of_a_task_for_itself_throws) {
    global_queue q({.workers = 1});
    int thrown = 0;
    const auto refused = [&](auto wait) {
        try {
            wait();
        } catch (const std::logic_error&) {
            ++thrown;
        }
    };
    scope s(q);
    ASSERT_TRUE(s.run([&](scope& children) {
        refused([&] { s.wait(); });
        refused([&] { q.wait(); });
        refused([&] { q.wait_idle(); });
        ASSERT_TRUE(children.run([&] {
            refused([&] { children.wait(); });
            refused([&] { s.wait(); });  // an ancestor
        }));
    }));
    EXPECT_TRUE(s.wait());
    EXPECT_EQ(thrown, 5);
    EXPECT_TRUE(q.wait()) << "outside a task it may";
}

TEST(global_queue_wait, a_draining_stop_in_the_middle_leaves_it_alone) {
    global_queue q({.workers = 1});
    int ran = 0;
    scope s(q);
    ASSERT_TRUE(s.run([&] {
        q.request_stop();
        EXPECT_FALSE(s.run([] { FAIL() << "refused tasks do not run"; }));
    }));
    ASSERT_TRUE(s.run([&] { ++ran; }));
    EXPECT_TRUE(s.wait());
    EXPECT_EQ(ran, 1);
    q.run();
    EXPECT_EQ(q.report().run, 2U);
    EXPECT_EQ(q.report().refused, 1U);
}

TEST(global_queue_wait, a_discarding_stop_in_the_middle_is_told) {
    global_queue q({.workers = 1});
    scope s(q);
    ASSERT_TRUE(s.run([&](scope& children) {
        ASSERT_TRUE(children.run([] { FAIL() << "a discarded task ran"; }));
        q.request_stop(stop_mode::discard);
        EXPECT_FALSE(children.wait());
    }));
    ASSERT_TRUE(s.run([] { FAIL() << "a discarded task ran"; }));
    EXPECT_FALSE(s.wait());
    EXPECT_TRUE(s.wait()) << "told once";
    EXPECT_FALSE(q.wait());
    q.run();
    EXPECT_EQ(q.report().run, 1U);
    EXPECT_EQ(q.report().discarded, 2U);
}

// The waiting thread sleeps when the stop comes; the tasks that it waits for are dropped, except the one that the
// worker has begun.
TEST(global_queue_wait, a_discarding_stop_ends_that_of_a_sleeper) {
    global_queue q({.workers = 1});
    std::atomic<bool> began{false}, go{false};
    q.start();
    ASSERT_TRUE(q.post([&] {
        began = true;
        wait_for(go);
    }));
    wait_for(began);
    std::thread stops([&] {
        q.request_stop(stop_mode::discard);
        go = true;
    });
    q.wait();
    EXPECT_TRUE(go);
    stops.join();
    q.join();
    EXPECT_EQ(q.report().run, 1U);
}

// Recursion: each task waits in a scope of its own, below the others, on the stack of the thread that helps.
int descend(global_queue& q, int depth) {
    if (depth == 0) return 0;
    int below = 0;
    scope s(q);
    EXPECT_TRUE(s.run([&] { below = descend(q, depth - 1); }));
    EXPECT_TRUE(s.wait());
    return below + 1;
}

void* descends_too_deep(void* queue) {
    auto& q = *static_cast<global_queue*>(queue);
    EXPECT_THROW(descend(q, 1'000'000), apiary::scope_too_deep);
    EXPECT_EQ(descend(q, 100), 100) << "it goes on";
    return nullptr;
}
void* descends_as_deep_as_may_be(void* queue) {
    auto& q = *static_cast<global_queue*>(queue);
    constexpr int deepest = scope::deepest;
    EXPECT_NO_THROW(EXPECT_EQ(descend(q, deepest), deepest));
    EXPECT_THROW(descend(q, deepest + 1), apiary::scope_too_deep);
    return nullptr;
}
void on_a_stack_of(std::size_t bytes, void* (*run)(void*), global_queue& q) {
    pthread_attr_t stack;
    ASSERT_EQ(::pthread_attr_init(&stack), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&stack, bytes), 0);
    pthread_t thread{};
    ASSERT_EQ(::pthread_create(&thread, &stack, run, &q), 0);
    ::pthread_join(thread, nullptr);
    ::pthread_attr_destroy(&stack);
}

TEST(global_queue_scope, recursion_that_is_too_deep_is_an_exception_and_the_scheduler_goes_on) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    global_queue q({.workers = 1});
    on_a_stack_of(1 << 20, descends_too_deep, q);
}

TEST(global_queue_scope, so_many_scopes_lie_one_below_the_other_and_no_more) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "there are no two threads in it, and it takes 20 s";
#endif
    global_queue q({.workers = 1});
    on_a_stack_of(1 << 28, descends_as_deep_as_may_be, q);
}

// Families below families, built on a worker's stack, and seen by a wait on a short one.
struct dig {
    global_queue& q;
    std::atomic<int> at{0};
    std::atomic<bool> go{false};
    bool waited = false;
};
void goes_down(dig& d, scope& mine, int left) {
    ++d.at;
    if (left == 0) return wait_for(d.go);
    EXPECT_TRUE(mine.run([&d, left](scope& below) { goes_down(d, below, left - 1); }));
    EXPECT_TRUE(mine.wait());
}
constexpr int deep = 9'900;

TEST(global_queue_scope, a_wait_on_a_short_stack_looks_through_families_of_any_depth) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "it takes 20 s, and its stacks hold more";
#endif
    global_queue q({.workers = 1});
    static dig* d = nullptr;
    dig here{q};
    d = &here;
    std::thread opens([&q] {
        const auto works = [](void* queue) -> void* {
            static_cast<global_queue*>(queue)->work();
            return nullptr;
        };
        on_a_stack_of(1 << 28, works, q);
    });
    // A wait needs no reserve: what it may run is refused by itself.
    on_a_stack_of(
        scope::stack_reserve + (1 << 14),
        [](void* queue) -> void* {
            scope s(*static_cast<global_queue*>(queue));
            EXPECT_TRUE(s.run([](scope& below) { goes_down(*d, below, deep); }));
            while (d->at != deep + 1) std::this_thread::yield();
            std::thread later([] {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                d->go = true;
            });
            d->waited = s.wait();
            later.join();
            return nullptr;
        },
        q);
    EXPECT_TRUE(here.waited);
    q.request_stop();
    opens.join();
}

// The families before its own have no task that is queued: theirs run. No worker is started, so each of the first two
// waits runs one task of the scope and all below it.
TEST(global_queue_scope, a_wait_finds_the_task_of_a_nephew) {
    global_queue q({.workers = 1});
    scope s(q);
    std::atomic<int> begun{0};
    std::atomic<bool> go{false};
    bool ran = false;
    const auto blocks = [&] {
        ++begun;
        wait_for(go);
    };
    const auto waits = [&] { EXPECT_TRUE(s.wait()); };
    ASSERT_TRUE(s.run([&](scope& below) {
        EXPECT_TRUE(below.run([&](scope& lowest) { EXPECT_TRUE(lowest.run(blocks)); }));
    }));
    std::thread first(waits);
    while (begun != 1) std::this_thread::yield();
    ASSERT_TRUE(s.run([&](scope& below) {
        EXPECT_TRUE(below.run([&](scope& lowest) {
            EXPECT_TRUE(lowest.run([&] {
                ran = true;
                go = true;
            }));
            blocks();
        }));
    }));
    std::thread second(waits);
    while (begun != 2) std::this_thread::yield();
    EXPECT_TRUE(s.wait());
    EXPECT_TRUE(ran);
    first.join();
    second.join();
}

TEST(global_queue_stop, what_it_drops_may_call_the_scheduler) {
    global_queue q({.workers = 1});
    struct posts_at_its_end {
        global_queue* q;
        int* refused;
        posts_at_its_end(global_queue* scheduler, int* n) : q(scheduler), refused(n) {}
        posts_at_its_end(posts_at_its_end&& other) noexcept
            : q(std::exchange(other.q, nullptr)), refused(other.refused) {}
        ~posts_at_its_end() {
            if (q != nullptr) *refused += !q->post([] {});
        }
        void operator()() const { FAIL() << "a discarded task ran"; }
    };
    int refused = 0;
    ASSERT_TRUE(q.post(posts_at_its_end(&q, &refused)));
    q.request_stop(stop_mode::discard);
    EXPECT_EQ(refused, 1);
}

}  // namespace
}  // namespace global_queue_scope_test
