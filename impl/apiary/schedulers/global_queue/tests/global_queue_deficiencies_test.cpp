// The deficiencies that seed 004 finds in this scheduler, shown by counters. 1: every lock is contended. 2: posts are serial.
// 3: no load balance, workers idle beside one that runs. 4 and 5, which are repaired, are in global_queue_scope_test.cpp.
#include <apiary/schedulers/global_queue/global_queue.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <apiary/testing/counting_sync.hpp>

namespace {

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
    std::thread poster([&] { EXPECT_FALSE(q.post([] {})); });
    wait_until([] { return seen.contended == 2; });  // the other worker, for another task, and a post
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
    wait_until([] { return seen.contended == posters - 1; });
    EXPECT_EQ(posted, 0U) << "while one is inside, no other one gets through";
    EXPECT_EQ(seen.locks, 1U);
    first.release();
    for (auto& t : threads) t.join();
    EXPECT_EQ(seen.locks, posters);
    EXPECT_EQ(seen.most_inside, 1U);
}

// Tasks of equal work, a step each, in which every worker that has one takes part. Three tasks on two workers: in the second
// step one worker sleeps beside the one that runs.
TEST(global_queue_deficiency_3, equal_tasks_leave_workers_idle) {
    for (const unsigned tasks : {2U, 3U, 5U}) {
        constexpr unsigned workers = 2;
        counting_sync::reset();
        queue_type q({.workers = workers});
        std::atomic<unsigned> begun{0}, asleep_beside_it{0};
        for (unsigned i = 0; i < tasks; ++i)
            ASSERT_TRUE(q.post([&, i] {
                const unsigned step = i / workers;
                ++begun;
                wait_until([&] { return begun >= std::min(tasks, (step + 1) * workers); });
                if (tasks - step * workers < workers) {
                    // The last step has fewer tasks than workers: the other one falls asleep.
                    wait_until([] { return seen.sleeps == 1; });
                    ++asleep_beside_it;
                }
                if (i == tasks - 1) q.request_stop();
            }));
        std::thread other([&] { q.work(); });
        q.work();
        other.join();
        const unsigned steps = (tasks + workers - 1) / workers;
        // The share of all turns that nobody used: 0, a quarter, a sixth.
        EXPECT_EQ(asleep_beside_it, steps * workers - tasks);
    }
}

}  // namespace
