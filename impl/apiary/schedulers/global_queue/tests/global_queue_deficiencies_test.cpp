// What counters show of this scheduler's deficiencies: 1, every lock is contended; 2, posts are serial; 3, no load
// balance, workers idle beside one that runs. (4 and 5, which are repaired, are in global_queue_scope_test.cpp.) And
// which sleepers a post or an end notifies.
#include <apiary/schedulers/global_queue/global_queue.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/comes_true.hpp>
#include <apiary/testing/counting_sync.hpp>

namespace global_queue_deficiencies_test {
namespace {

using apiary::comes_true;
using apiary::counting_sync;
using queue_type = apiary::basic_global_queue<counting_sync>;
auto& seen = counting_sync::seen;

template <class Condition>
void wait_until(Condition holds) {
    while (!holds()) std::this_thread::yield();
}

// Keeps the first thread that takes the lock from then on inside it, until released.
class kept_inside {
public:
    kept_inside() {
        counting_sync::reset();
        counting_sync::at_lock = [this] {
            if (inside_.exchange(true)) return;
            wait_until([this] { return go_.load(); });
        };
    }
    ~kept_inside() { counting_sync::reset(); }
    void wait_for_it() const {
        wait_until([this] { return inside_.load(); });
    }
    void release() { go_ = true; }

private:
    std::atomic<bool> inside_{false}, go_{false};
};

TEST(global_queue_deficiency_1, each_worker_and_poster_meets_at_the_one_lock) {
    queue_type q({.workers = 2});
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(q.post([] {}));
    q.request_stop();
    kept_inside first;
    std::vector<std::thread> workers;
    workers.emplace_back([&] { q.work(); });
    first.wait_for_it();  // it takes a task
    workers.emplace_back([&] { q.work(); });
    std::atomic<bool> through{false};
    std::thread poster([&] {
        EXPECT_FALSE(q.post([] {}));
        through = true;
    });
    // The other worker, for another task, and a post.
    wait_until([&] { return seen.contended == 2 || through; });
    EXPECT_FALSE(through);
    EXPECT_EQ(seen.locks, 1U);
    first.release();
    for (auto& t : workers) t.join();
    poster.join();
    EXPECT_EQ(seen.most_inside, 1U);
    EXPECT_GE(seen.contended, 2U);
}

TEST(global_queue_deficiency_2, posts_of_several_threads_are_serial) {
    constexpr unsigned posters = 4;
    queue_type q({.workers = 1});
    kept_inside first;
    std::atomic<unsigned> posted{0};
    std::vector<std::thread> threads;
    for (unsigned p = 0; p < posters; ++p)
        threads.emplace_back([&] {
            ASSERT_TRUE(q.post([] {}));
            ++posted;
        });
    first.wait_for_it();  // it has been counted
    wait_until([&] { return seen.contended == posters - 1 || posted != 0; });
    EXPECT_EQ(posted, 0U) << "while one is inside, no other one gets through";
    EXPECT_EQ(seen.locks, 1U);
    first.release();
    for (auto& t : threads) t.join();
    EXPECT_EQ(seen.locks, posters);
    EXPECT_EQ(seen.most_inside, 1U);
}

// Tasks of equal work: in a turn each worker runs one of them, or sleeps. Tasks begin and workers fall asleep as the
// scheduler lets them; a turn is counted when no worker is on its way.
TEST(global_queue_deficiency_3, equal_tasks_leave_workers_idle) {
    constexpr unsigned workers = 2;
    struct row {
        unsigned tasks, turns, unused;
    };
    for (const row expected : {row{2, 1, 0}, row{3, 2, 1}, row{5, 3, 1}}) {
        counting_sync::reset();
        queue_type q({.workers = workers});
        std::mutex mutex;
        row seen_here{0, 0, 0};
        std::uint64_t running = 0;
        const auto takes_a_turn = [&](bool last) {
            const unsigned mine = (std::lock_guard(mutex), ++running, seen_here.turns);
            EXPECT_TRUE(comes_true([&] {
                const std::lock_guard held(mutex);
                if (seen_here.turns != mine) return true;
                const std::uint64_t asleep = seen.asleep;
                if (running + asleep != workers) return false;
                seen_here.tasks += static_cast<unsigned>(std::exchange(running, 0));
                seen_here.unused += static_cast<unsigned>(asleep);
                ++seen_here.turns;
                return true;
            })) << "a worker neither has a task nor sleeps";
            if (last) q.request_stop();
        };
        for (unsigned i = 0; i < expected.tasks; ++i)
            ASSERT_TRUE(q.post([&, last = i == expected.tasks - 1] { takes_a_turn(last); }));
        std::thread other([&] { q.work(); });
        q.work();
        other.join();
        EXPECT_EQ(seen_here.tasks, expected.tasks);
        EXPECT_EQ(seen_here.turns, expected.turns);
        EXPECT_EQ(seen_here.unused, expected.unused) << "0 of 2, 1 of 4, 1 of 6";
    }
}

// Both workers are busy, and for the scope of each one's task a thread sleeps in a wait. If the second task makes one
// task or several, its own sleeper must run them: to wake the other one is not enough.
TEST(global_queue_sleepers, are_told_of_what_they_could_run) {
    for (const bool several : {false, true}) {
        counting_sync::reset();
        queue_type q({.workers = 2});
        std::atomic<bool> made{false}, ran{false};
        std::vector<std::thread> workers, sleepers;
        // Returns when the sleeper sleeps, and a worker of its own is inside the task.
        const auto add_sleeper = [&](auto task) {
            std::atomic<bool> posted{false}, begun{false};
            const std::uint64_t asleep = seen.sleeps;
            sleepers.emplace_back([&q, &posted, &begun, task] {
                queue_type::task_scope scope(q);
                ASSERT_TRUE(scope.run([&begun, task](queue_type::task_scope& children) {
                    begun = true;
                    task(children);
                }));
                posted = true;
                wait_until([&begun] { return begun.load(); });
                EXPECT_TRUE(scope.wait());
            });
            wait_until([&] { return posted.load(); });
            workers.emplace_back([&q] { q.work(); });
            wait_until([&] { return seen.sleeps > asleep; });
        };
        add_sleeper([&](auto&) { wait_until([&] { return ran.load(); }); });
        add_sleeper([&](auto& children) {
            wait_until([&] { return made.load(); });
            const auto task = [&] { ran = true; };
            if (several)
                EXPECT_EQ(children.run_all(2, [&](std::size_t) { return task; }), 2U);
            else
                EXPECT_TRUE(children.run(task));
            wait_until([&] { return ran.load(); });
        });
        made = true;
        for (auto& t : sleepers) t.join();
        q.request_stop();
        for (auto& t : workers) t.join();
    }
}

TEST(global_queue_sleepers, are_told_only_when_there_are_any) {
    counting_sync::reset();
    queue_type q({.workers = 1});
    std::atomic<bool> begun{false}, go{false};
    const auto blocks = [&] {
        begun = true;
        wait_until([&] { return go.load(); });
    };
    std::thread worker([&] { q.work(); });
    queue_type::task_scope scope(q);
    ASSERT_TRUE(scope.run(blocks));
    wait_until([&] { return begun.load(); });
    std::thread opens([&, asleep = seen.sleeps.load()] {
        wait_until([&] { return seen.sleeps > asleep; });
        go = true;
    });
    EXPECT_TRUE(scope.wait());  // sleeps
    opens.join();
    go = begun = false;
    counting_sync::seen.broadcasts = 0;
    ASSERT_TRUE(scope.run(blocks));
    wait_until([&] { return begun.load(); });
    EXPECT_EQ(scope.run_all(2, [](std::size_t) { return [] {}; }), 2U);
    EXPECT_TRUE(q.post([] {}));
    EXPECT_EQ(seen.broadcasts, 1U) << "to the workers, of the two";
    go = true;
    EXPECT_TRUE(scope.wait());
    q.request_stop();
    worker.join();

    queue_type alone({.workers = 1});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(alone.post([] {}));
    counting_sync::seen.broadcasts = 0;
    EXPECT_TRUE(alone.wait());
    EXPECT_EQ(seen.broadcasts, 1U) << "at the last end, for wait_idle";
}

}  // namespace
}  // namespace global_queue_deficiencies_test
