// A crew that no scheduler has: ready work and no sources, on real threads and with a scripted driver. It shows what
// the hive's two crews do not show by themselves: the engine needs neither events nor timers, and knows no kind of
// worker.
#include <apiary/workers/crew.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/steal_half_queue.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/no_ready_work.hpp>
#include <apiary/workers/ready_work.hpp>

namespace crew_test {
namespace {

using apiary::real_sync;
using apiary::stop_mode;
using apiary::worker_parameters;
using storage = apiary::heap_storage<real_sync>;
using task_type = apiary::task<real_sync>;

struct small_deque {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 8;
};

struct small_half_queue {
    static constexpr unsigned index_bits = 16, version_bits = 32;
    static constexpr std::size_t capacity = 8;
};

template <class Ready>
struct kind : apiary::default_kind<real_sync, apiary::default_parts<>, typename Ready::task_type> {
    using ready = Ready;
};
using with_deque = kind<apiary::ready_work<real_sync, apiary::chase_lev_deque<task_type*, real_sync, small_deque>>>;
using with_half_queue =
    kind<apiary::ready_work<real_sync, apiary::steal_half_queue<task_type*, real_sync, small_half_queue>>>;
using with_pool_alone = kind<apiary::no_ready_work<real_sync>>;
// Its jobs are of any kind: tasks, and whatever else the tests derive from a job.
using job_type = apiary::job<real_sync>;
using of_jobs =
    kind<apiary::ready_work<real_sync, apiary::chase_lev_deque<job_type*, real_sync, small_deque>, job_type>>;

// A front end that adds nothing.
template <class Kind>
class owner : public apiary::front_end<> {
public:
    using crew_type = apiary::crew<owner, Kind>;

    explicit owner(unsigned workers, const worker_parameters& p = {}) : crew(*this, p) {
        for (unsigned i = 0; i != workers; ++i) crew.table().attach(crew);
    }
    ~owner() { stop(stop_mode::discard); }
    void start() {
        for (unsigned i = 0; i != crew.table().size(); ++i) threads_.start([w = crew.table()[i]] { w->run(); });
    }
    void attach() {
        auto* w = crew.attach();
        ASSERT_NE(w, nullptr);
        threads_.start([w] { w->run(); });
    }
    void stop(stop_mode how) {
        stop_crews(how, crew);
        threads_.join();
    }

private:
    apiary::thread_team threads_;

public:
    crew_type crew;
};

// A member that the sum forgets shows here: every word of the counters has a number of its own.
TEST(worker_counters, add_up_and_keep_the_largest_lateness) {
    using apiary::worker_counters;
    using words = std::array<std::uint64_t, sizeof(worker_counters) / sizeof(std::uint64_t)>;
    words numbers{};
    for (std::size_t i = 1; i != numbers.size(); ++i) numbers[i] = i;  // the first holds kind and slot
    const auto one = std::bit_cast<worker_counters>(numbers);
    worker_counters all = one, late = one;
    late.timer_lateness_max_ns += 100;
    all.add(late);
    EXPECT_EQ(all.timer_lateness_max_ns, late.timer_lateness_max_ns);
    all.timer_lateness_max_ns = 2 * one.timer_lateness_max_ns;
    const auto sums = std::bit_cast<words>(all);
    for (std::size_t i = 1; i != sums.size(); ++i) EXPECT_EQ(sums[i], 2 * i);
}

template <class Kind>
class third_crew : public testing::Test {};
using kinds = testing::Types<with_deque, with_half_queue, with_pool_alone>;
TYPED_TEST_SUITE(third_crew, kinds);

TYPED_TEST(third_crew, runs_each_task_once_and_drains_at_the_stop) {
    std::atomic<int> ran = 0;
    owner<TypeParam> o(3);
    o.start();
    for (int i = 0; i != 10'000; ++i) ASSERT_TRUE(o.crew.post(storage::make([&] { ++ran; })));
    o.stop(stop_mode::drain);
    EXPECT_EQ(ran, 10'000);
    EXPECT_EQ(o.crew.counters().run, 10'000U);
    task_type* late = storage::make([] {});
    EXPECT_FALSE(o.crew.post(late)) << "after the stop";
    late->drop();
}

// Each task waits until all have begun: a worker that is not woken is a hang.
TYPED_TEST(third_crew, of_many_workers_wakes_them_all) {
    for (const unsigned workers : {57U, 100U}) {
        owner<TypeParam> o(workers);
        o.start();
        for (int again = 0; again != 3; ++again) {
            while (o.crew.sleepers().asleep() != workers) std::this_thread::yield();
            std::atomic<unsigned> begun = 0, ended = 0;
            for (unsigned i = 0; i != workers; ++i)
                ASSERT_TRUE(o.crew.post(storage::make([&] {
                    ++begun;
                    while (begun != workers) std::this_thread::yield();
                    ++ended;
                })));
            while (ended != workers) std::this_thread::yield();
        }
        o.stop(stop_mode::drain);
        EXPECT_EQ(o.crew.counters().run, 3 * workers);
    }
}

TYPED_TEST(third_crew, has_as_many_workers_as_it_can_and_no_more) {
    owner<TypeParam> o(owner<TypeParam>::crew_type::max_workers);
    EXPECT_EQ(o.crew.serving(), 280U);
    EXPECT_EQ(o.crew.counters().kind, apiary::worker_kind::compute);
    EXPECT_EQ(o.crew.attach(), nullptr);
}

TYPED_TEST(third_crew, a_discarding_stop_counts_what_it_drops) {
    owner<TypeParam> o(1);
    for (int i = 0; i != 100; ++i) ASSERT_TRUE(o.crew.post(storage::make([] { ADD_FAILURE() << "ran"; })));
    o.crew.close();
    std::atomic<bool> over = false;
    std::thread stopper([&] {
        o.stop(stop_mode::discard);
        over = true;
    });
    stopper.join();
    o.crew.table()[0]->run();
    EXPECT_TRUE(over);
    EXPECT_EQ(o.crew.counters().discarded, 100U);
    EXPECT_EQ(o.crew.counters().run, 0U);
}

TYPED_TEST(third_crew, of_no_workers_keeps_posts_for_the_first_that_is_attached) {
    std::atomic<int> ran = 0;
    owner<TypeParam> o(0);
    for (int i = 0; i != 10; ++i) ASSERT_TRUE(o.crew.post(storage::make([&] { ++ran; })));
    EXPECT_EQ(o.crew.serving(), 0U);
    o.attach();
    while (ran != 10) std::this_thread::yield();
    EXPECT_EQ(o.crew.serving(), 1U);
}

TYPED_TEST(third_crew, a_detached_worker_hands_over_and_the_last_one_stays) {
    std::atomic<int> ran = 0;
    owner<TypeParam> o(2);
    o.start();
    EXPECT_EQ(o.crew.detach(1), apiary::detach_result::detached);
    EXPECT_EQ(o.crew.detach(1), apiary::detach_result::unknown_worker);
    EXPECT_EQ(o.crew.detach(0), apiary::detach_result::last_worker);
    for (int i = 0; i != 1000; ++i) ASSERT_TRUE(o.crew.post(storage::make([&] { ++ran; })));
    o.attach();
    o.stop(stop_mode::drain);
    EXPECT_EQ(ran, 1000);
    EXPECT_EQ(o.crew.detach(0), apiary::detach_result::stopped);
    EXPECT_EQ(o.crew.attach(), nullptr);
}

template <class Kind>
class crew_of_ready_work : public testing::Test {};
using kinds_of_ready_work = testing::Types<with_deque, with_half_queue>;
TYPED_TEST_SUITE(crew_of_ready_work, kinds_of_ready_work);

TYPED_TEST(crew_of_ready_work, the_first_worker_hands_over_what_it_kept_while_it_was_alone) {
    std::vector<int> ran;
    owner<TypeParam> o(1);
    auto& first = *o.crew.table()[0];
    ASSERT_TRUE(o.crew.post(storage::make([&] {
        for (int i = 0; i != 3; ++i) ASSERT_TRUE(first.post_local(storage::make([&ran, i] { ran.push_back(i); })));
        ASSERT_NE(o.crew.attach(), nullptr);
        ASSERT_EQ(o.crew.detach(0), apiary::detach_result::detached);
    })));
    first.run();
    EXPECT_EQ(ran.size(), 0U);
    std::thread other([&] { o.crew.table()[1]->run(); });
    o.stop(stop_mode::drain);
    other.join();
    EXPECT_EQ(ran, (std::vector<int>{0, 1, 2}));
}

TYPED_TEST(crew_of_ready_work, drops_what_no_worker_ran) {
    const auto held = std::make_shared<int>();
    {
        owner<TypeParam> o(2);
        auto& never_ran = *o.crew.table()[1];
        const auto holding = [&] { return storage::make([held] { ADD_FAILURE() << "ran"; }); };
        for (int i = 0; i != 3; ++i) ASSERT_TRUE(never_ran.post_local(holding()));
        never_ran.sources().keep(holding());
        ASSERT_TRUE(o.crew.post(holding()));
        EXPECT_GT(held.use_count(), 1);
    }
    EXPECT_EQ(held.use_count(), 1);
}

// A tree of tasks, each of which posts two on its worker: more than the deque holds, so that some go to the pool.
template <class Kind>
struct tree {
    owner<Kind>& o;
    std::atomic<int>& ran;
    void grow(int depth) {
        ++ran;
        if (depth == 0) return;
        for (int child = 0; child != 2; ++child) {
            auto* t = storage::make([copy = *this, depth]() mutable { copy.grow(depth - 1); });
            if (!here->post_local(t)) t->drop();
        }
    }
    static inline thread_local owner<Kind>::crew_type::worker_type* here = nullptr;
};

TYPED_TEST(crew_of_ready_work, its_tasks_post_on_their_worker_and_others_steal) {
    std::atomic<int> ran = 0;
    owner<TypeParam> o(4);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i != 4; ++i)
        threads.emplace_back([w = o.crew.table()[i]] {
            tree<TypeParam>::here = w;
            w->run();
        });
    constexpr int depth = 14;
    ASSERT_TRUE(o.crew.post(storage::make([&] { tree<TypeParam>{o, ran}.grow(depth); })));
    while (ran != (2 << depth) - 1) std::this_thread::yield();
    o.stop(stop_mode::drain);
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(o.crew.counters().run, (2U << depth) - 1);
}

TYPED_TEST(crew_of_ready_work, what_a_worker_leaves_behind_goes_to_the_pool) {
    std::atomic<int> ran = 0;
    owner<TypeParam> o(2, {.looks_before_sleep = 0});
    auto& leaver = *o.crew.table()[1];
    ASSERT_TRUE(o.crew.post(storage::make([&] {
        for (int i = 0; i != 3; ++i) ASSERT_TRUE(leaver.post_local(storage::make([&ran] { ++ran; })));
        ASSERT_EQ(o.crew.detach(1), apiary::detach_result::detached);
    })));
    leaver.run();
    EXPECT_TRUE(ran == 0 || ran == 3) << "the task it was at ends; what it posted may follow or go over";
    EXPECT_EQ(o.crew.serving(), 1U);
    std::thread other([&] { o.crew.table()[0]->run(); });
    o.stop(stop_mode::drain);
    other.join();
    EXPECT_EQ(ran, 3);
}

// A job on the stack of the test, which tells the worker that ends it to run one more.
struct stack_job : job_type {
    using worker_type = owner<of_jobs>::crew_type::worker_type;
    explicit stack_job(stack_job* next_job = nullptr) : job(&end_it), child(next_job) {}
    static bool end_it(job_type& self, apiary::job_end how, apiary::any_worker* by) {
        auto& mine = static_cast<stack_job&>(self);
        mine.how = how;
        mine.by = static_cast<worker_type*>(by);
        if (mine.child != nullptr && !mine.by->post_local(mine.child)) mine.child->drop();
        mine.over.store(true, std::memory_order_release);  // the test may end the job's life from here on
        return true;
    }
    stack_job* const child;
    apiary::job_end how{};
    worker_type* by = nullptr;
    std::atomic<bool> over = false;
};

TEST(crew_of_jobs, runs_tasks_and_jobs_on_the_stack_and_tells_them_their_worker) {
    owner<of_jobs> o(2);
    stack_job child, parent(&child);
    std::atomic<int> ran = 0;
    ASSERT_TRUE(o.crew.post(&parent));
    ASSERT_TRUE(o.crew.post(storage::make([&] { ++ran; })));
    o.start();
    for (stack_job* j : {&parent, &child}) {
        while (!j->over.load(std::memory_order_acquire)) std::this_thread::yield();
        EXPECT_EQ(j->how, apiary::job_end::run);
        EXPECT_TRUE(j->by == o.crew.table()[0] || j->by == o.crew.table()[1]);
    }
    o.stop(stop_mode::drain);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(o.crew.counters().run, 3U);
}

struct parts_of_single_sets : apiary::default_parts<> {
    using idle = apiary::idle_sets<real_sync, 1, 3>;
};
struct of_single_sets : with_deque {
    using parts = parts_of_single_sets;
};

TEST(crew_of_single_sets, names_the_first_of_its_idle_sets) {
    owner<of_single_sets> o(2);
    EXPECT_EQ(&o.crew.idle(), &o.crew.sleepers().of(0));
    EXPECT_EQ(&std::as_const(o.crew).idle(), &o.crew.sleepers().of(0));
}

TEST(crew_of_jobs, tells_which_worker_drops_a_job_or_that_none_does) {
    stack_job in_the_pool, with_a_worker;
    {
        owner<of_jobs> o(1);
        ASSERT_TRUE(o.crew.post(&in_the_pool));
        ASSERT_TRUE(o.crew.table()[0]->post_local(&with_a_worker));
        o.stop(stop_mode::discard);
        EXPECT_EQ(o.crew.counters().discarded, 0U) << "no worker ran";
    }
    EXPECT_EQ(in_the_pool.how, apiary::job_end::drop);
    EXPECT_EQ(in_the_pool.by, nullptr);
    EXPECT_EQ(with_a_worker.how, apiary::job_end::drop);
    EXPECT_NE(with_a_worker.by, nullptr);
}

}  // namespace
}  // namespace crew_test
