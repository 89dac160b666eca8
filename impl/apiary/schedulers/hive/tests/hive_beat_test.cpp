// The hive's rules, one worker at a time on the test's own thread: a manual clock, a driver that never blocks, scripted
// numbers, small or locked queues (seed 002 sections 13 and 14.2 B). Each line of the seed's checklist has its test.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <apiary/testing/stepped_hive.hpp>

namespace hive_beat_test {
namespace {

using namespace std::chrono_literals;
using apiary::fifo_list;
using apiary::push_result;
using apiary::real_sync;
using apiary::stop_mode;

using apiary::scripted_driver;
using apiary::still_parts;

class beat : public testing::Test, public apiary::still_script {};

template <class Hive>
concept delays_compute_tasks = requires(Hive& h, void (*f)()) { h.post_compute(f, 1ms); } ||
                               requires(Hive& h, void (*f)()) { h.post_compute_delayed(f, 1ms); } ||
                               requires(Hive& h, void (*f)()) { h.post_delayed_compute(f, 1ms); };
static_assert(!delays_compute_tasks<apiary::hive>, "checklist 1: a compute task with a delay does not compile");

TEST_F(beat, checklist_2_timers_of_others_go_through_the_inbox) {
    core_type h(1, 0, {});
    h.clock().set(1000);
    ASSERT_TRUE(h.post_to(0, noting("timer", 5000)));
    EXPECT_EQ(h.io()[0]->sources().pending(), 0U) << "the heap is its worker's";
    ASSERT_TRUE(h.post(stopping(h)));
    h.io()[0]->run();
    EXPECT_EQ(h.io()[0]->counters().discarded, 1U) << "not due when the hive stopped";
}

TEST_F(beat, checklist_3_targeted_posts_go_through_the_inbox) {
    core_type h(1, 0, {});
    ASSERT_TRUE(h.post_to(0, noting("private")));
    EXPECT_FALSE(h.io()[0]->sources().mail().inbox.looks_empty());
}

TEST_F(beat, a_post_to_oneself_stays_behind_what_others_have_posted_before) {
    core_type h(1, 0, {});
    auto& worker = *h.io()[0];
    ASSERT_TRUE(h.post_to(0, storage::make([&] {
                              ASSERT_TRUE(h.post_to(0, noting("of another")));
                              ASSERT_TRUE(worker.sources().post(noting("own")));
                              EXPECT_TRUE(worker.sources().mail().inbox.looks_empty());
                              ASSERT_TRUE(h.post_to(0, stopping(h)));
                          })));
    worker.run();
    EXPECT_EQ(log, (std::vector<std::string>{"of another", "own"}));
    task_type* late = noting("late");
    EXPECT_FALSE(worker.sources().post(late)) << "after the stop";
    late->drop();
}

TEST_F(beat, checklist_4_a_turn_goes_through_its_steps_in_order) {
    core_type h(1, 0, {});
    auto& worker = *h.io()[0];
    h.clock().set(1000);
    worker.driver().on_poll = [&] {
        if (worker.driver().polls() == 1) log.emplace_back("event");
    };
    ASSERT_TRUE(h.post(noting("global")));
    ASSERT_TRUE(worker.post_local(noting("local")));
    ASSERT_TRUE(h.post_to(0, noting("private")));
    ASSERT_TRUE(h.post_to(0, noting("timer", 900)));
    ASSERT_TRUE(h.post_to(0, noting("later", 2000)));
    task_type* last = stopping(h);
    last->deadline_ns = 3000;
    ASSERT_TRUE(h.post_to(0, last));
    worker.run();
    EXPECT_EQ(log, (std::vector<std::string>{"event", "timer", "private", "local", "global", "later"}));
    // Step 7: it blocks until the next timer and no longer, in nanoseconds (exhibit A13).
    EXPECT_EQ(worker.driver().waits(), (std::vector<std::int64_t>{2000, 3000}));
    EXPECT_EQ(worker.driver().stuck(), 0U);
    EXPECT_EQ(worker.counters().timer_lateness_ns, 100U) << "only the one that was due before";
}

TEST_F(beat, a_worker_that_found_nothing_looks_again_before_it_sleeps) {
    // But for this one all others sleep, and no two tasks came in a row: then at once.
    for (const bool others_sleep : {false, true})
        for (const unsigned looks : {0U, 1U, 3U}) {
            core_type h(2, 0, {.looks_before_sleep = looks});
            auto& worker = *h.io()[0];
            if (others_sleep) h.io_crew().idle().announce_sleep(1, false);
            std::size_t polls = 0;
            worker.driver().on_wait = [&] {
                polls = worker.driver().polls();
                h.request_stop(stop_mode::drain);
            };
            worker.run();
            EXPECT_EQ(polls, others_sleep ? 1 : 1 + looks);
            EXPECT_EQ(worker.driver().waits().size(), 1U);
        }
}

TEST_F(beat, checklist_5_a_post_wakes_one_sleeper_and_none_while_one_searches) {
    core_type h(3, 0, {});
    for (unsigned sleeper : {1U, 2U}) h.io_crew().idle().announce_sleep(sleeper, false);
    fifo_list<task_type> four;
    for (int i = 0; i < 4; ++i) four.push_back(noting("batch"));
    ASSERT_TRUE(h.post_list(four));
    const auto wakes = [&] { return h.io()[1]->driver().wakes() + h.io()[2]->driver().wakes(); };
    EXPECT_EQ(wakes(), 1U);
    ASSERT_TRUE(h.post(noting("one more")));
    EXPECT_EQ(wakes(), 1U) << "the one that was woken is still looking";
    ASSERT_TRUE(h.post_to(2, noting("targeted")));
    EXPECT_EQ(wakes(), 2U) << "a targeted post wakes its worker whoever else searches";
}

struct small_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 4;
};
struct small_parts : still_parts {
    template <class Node>
    using local = apiary::chase_lev_deque<Node*, real_sync, small_limits>;
};

TEST_F(beat, checklist_6_a_full_deque_overflows_into_the_pool) {
    core_on<small_parts> h(2, 0, {});  // alone it would need no deque
    auto& worker = *h.io()[0];
    for (int i = 0; i < 4 + 1; ++i) ASSERT_TRUE(worker.post_local(noting("local")));  // the newest in the slot
    EXPECT_TRUE(h.io_crew().pool().looks_empty());
    ASSERT_TRUE(worker.post_local(noting("overflow")));
    EXPECT_FALSE(h.io_crew().pool().looks_empty());
    EXPECT_EQ(worker.counters().overflows, 1U);
    h.request_stop(stop_mode::drain);
    worker.run();
    EXPECT_EQ(log.size(), 6U);
}

TEST_F(beat, what_a_worker_posted_while_it_was_alone_can_be_stolen_by_one_that_comes) {
    core_type h(1, 0, {});
    auto& worker = *h.io()[0];
    ASSERT_TRUE(worker.post_local(noting("one")));
    ASSERT_TRUE(worker.post_local(noting("two")));
    EXPECT_TRUE(h.io_crew().pool().looks_empty());
    auto* other = h.attach_io();
    ASSERT_NE(other, nullptr);
    ASSERT_TRUE(other->turn_once());
    EXPECT_EQ(log, std::vector<std::string>{"one"}) << "the older one; the newest is in the slot";
    ASSERT_TRUE(h.post(stopping(h)));
    worker.run();
    EXPECT_EQ(log.size(), 2U);
    EXPECT_EQ(worker.counters().run + other->counters().run, 3U);
}

TEST_F(beat, a_timer_waits_for_the_clock_and_not_for_time_to_pass) {
    core_type h(1, 0, {});
    h.clock().set(1);
    ASSERT_TRUE(h.post_to(0, noting("in an hour", 3'600'000'000'000)));
    task_type* last = stopping(h);
    last->deadline_ns = 3'600'000'000'001;
    ASSERT_TRUE(h.post_to(0, last));
    h.io()[0]->run();
    EXPECT_EQ(log, std::vector<std::string>{"in an hour"});
    EXPECT_EQ(h.clock().now_ns(), 3'600'000'000'001);
}

// Always the first two workers, or the last two of three; keeps what it was asked for.
struct same_two {
    explicit same_two(std::uint64_t) {}
    std::uint32_t below(std::uint32_t n) {
        asked.push_back(n);
        return answer;
    }
    static inline thread_local std::vector<std::uint32_t> asked;
    static inline std::uint32_t answer = 0;
};
struct full_trace : apiary::event_trace {
    std::size_t left_out() const { return 3; }
};
struct scripted_parts : apiary::hive_parts<real_sync> {
    using random = same_two;
    using trace = full_trace;
};
using scripted_hive = apiary::basic_hive<real_sync, apiary::epoll_driver, apiary::pooled_storage<>, scripted_parts>;

TEST(post_delayed, goes_to_the_main_worker_when_both_that_it_draws_are_detached) {
    scripted_hive h({.io_workers = 3});
    for (const unsigned worker : {1U, 2U}) EXPECT_EQ(h.detach_io_worker(worker), apiary::detach_result::detached);
    same_two::answer = 1;
    same_two::asked.clear();
    int ran = 0;
    EXPECT_TRUE(h.post_delayed([&ran] { ++ran; }, 0ns));
    same_two::answer = 0;
    EXPECT_EQ(same_two::asked, (std::vector<std::uint32_t>{3, 2})) << "each pair can be drawn";
    h.request_stop();
    h.run();
    EXPECT_EQ(ran, 1);
    std::ostringstream out;
    h.write_trace(out);
    EXPECT_NE(out.str().find("\"left_out\":9}"), std::string::npos) << "three of each worker: " << out.str();
}

TEST(post_delayed, takes_of_two_random_workers_the_one_with_fewer_timers) {
    scripted_hive h({.io_workers = 3});
    std::thread t([&h] { h.run(); });
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_to_worker(0, [&] {
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(h.post_delayed([] {}, 1h));  // equal: the first; then the second
        ++ran;
    }));
    while (ran == 0 || h.snapshot()[1].timers_pending == 0) std::this_thread::yield();
    const auto all = h.snapshot();
    EXPECT_EQ(all[0].timers_pending, 1U);
    EXPECT_EQ(all[1].timers_pending, 1U);
    EXPECT_EQ(all[2].timers_pending, 0U);
    h.request_stop();
    t.join();
}

// The queues once more, under one lock each: what fails with these and the shipped ones alike is the scheduler's.
template <class Node>
class locked_inbox {
public:
    push_result push(Node* node) {
        const std::lock_guard held(mutex_);
        if (closed_) return push_result::closed;
        const bool was_empty = list_.empty();
        list_.push_back(node);
        return was_empty ? push_result::was_empty : push_result::was_not_empty;
    }
    fifo_list<Node> drain() {
        const std::lock_guard held(mutex_);
        return std::move(list_);
    }
    fifo_list<Node> close() {
        const std::lock_guard held(mutex_);
        closed_ = true;
        return std::move(list_);
    }
    bool looks_empty() const {
        const std::lock_guard held(mutex_);
        return list_.empty();
    }

private:
    mutable std::mutex mutex_;
    fifo_list<Node> list_;
    bool closed_ = false;
};

template <class T>
class locked_deque {
public:
    struct limits {
        static constexpr std::size_t max_capacity = 64;
    };
    class handle {
    public:
        explicit handle(locked_deque& d) : d_(&d) {}
        bool try_push(T t) {
            const std::lock_guard held(d_->mutex_);
            if (d_->queue_.size() == limits::max_capacity) return false;
            d_->queue_.push_back(t);
            return true;
        }
        bool try_push_all(std::span<const T> values) {
            const std::lock_guard held(d_->mutex_);
            if (d_->queue_.size() + values.size() > limits::max_capacity) return false;
            d_->queue_.insert(d_->queue_.end(), values.rbegin(), values.rend());
            return true;
        }
        bool try_pop(T& out) {
            const std::lock_guard held(d_->mutex_);
            if (d_->queue_.empty()) return false;
            out = d_->queue_.back();
            d_->queue_.pop_back();
            return true;
        }
        apiary::steal_result<T> steal() const {
            const std::lock_guard held(d_->mutex_);
            if (d_->queue_.empty()) return {apiary::steal_status::empty, T{}};
            const T t = d_->queue_.front();
            d_->queue_.pop_front();
            return {apiary::steal_status::taken, t};
        }
        std::size_t size() const {
            const std::lock_guard held(d_->mutex_);
            return d_->queue_.size();
        }
        bool looks_empty() const { return size() == 0; }

    private:
        locked_deque* d_;
    };
    using owner = handle;
    owner own() { return handle(*this); }
    handle share() { return handle(*this); }

private:
    std::mutex mutex_;
    std::deque<T> queue_;
};

struct locked_parts : apiary::hive_parts<real_sync> {
    template <class Node>
    using local = locked_deque<Node*>;
    template <class Node>
    using inbox = locked_inbox<Node>;
};

TEST(parts, a_hive_on_locked_queues_does_the_same) {
    apiary::basic_hive<real_sync, apiary::epoll_driver, apiary::pooled_storage<>, locked_parts> h({.io_workers = 2});
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_micro([&] {
        for (int i = 0; i < 500; ++i) {
            ASSERT_TRUE(h.post_micro([&ran] { ++ran; }));
            ASSERT_TRUE(h.post_to_worker(1, [&ran] { ++ran; }));
        }
        h.request_stop();
    }));
    h.run();
    EXPECT_EQ(ran, 1000);
    EXPECT_EQ(h.report().run, 1001U);
}

TEST(exceptions, are_told_to_the_handler_and_the_worker_lives_on) {
    std::vector<std::string> told;
    apiary::hive h({.on_exception = [&told](std::exception_ptr e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::exception& what) {
            told.emplace_back(what.what());
        }
    }});
    ASSERT_TRUE(h.post_micro([] { throw std::runtime_error("one"); }));
    ASSERT_TRUE(h.post_delayed([] { throw std::runtime_error("two"); }, 0ms));
    ASSERT_TRUE(h.post_delayed([&h] { h.request_stop(); }, 1ms));
    h.run();
    std::sort(told.begin(), told.end());
    EXPECT_EQ(told, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(h.report().exceptions, 2U);
    EXPECT_EQ(h.report().run, 3U);
}

TEST(bad_input, an_empty_task_is_refused_where_it_is_posted) {
    apiary::hive h({.compute_workers = 1});
    const std::function<void()> empty;
    void (*null)() = nullptr;
    int (*quiet)() noexcept = nullptr;
    EXPECT_THROW((void)h.post_micro(empty), std::invalid_argument);
    EXPECT_THROW((void)h.post_micro(null), std::invalid_argument);
    EXPECT_THROW((void)h.post_micro(quiet), std::invalid_argument);
    EXPECT_THROW((void)h.post_delayed(empty, 1ms), std::invalid_argument);
    EXPECT_THROW((void)h.post_to_worker(0, empty), std::invalid_argument);
    EXPECT_THROW((void)h.post_compute(empty), std::invalid_argument);
    int ran = 0;
    std::vector<std::function<void()>> batch{[&ran] { ++ran; }, {}};
    EXPECT_THROW((void)h.post_micro_batch(std::span(batch)), std::invalid_argument) << "all or none";
    h.request_stop();
    h.run();
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(h.report().run, 0U);
}

}  // namespace
}  // namespace hive_beat_test
