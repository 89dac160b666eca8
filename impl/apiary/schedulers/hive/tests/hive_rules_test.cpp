// Rules of the hive that a slip can break without any other test failing: what is looked at when, which worker is
// woken, which posts may still come in. One worker at a time on the test's own thread (stepped_hive.hpp).
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include <apiary/testing/stepped_hive.hpp>

namespace hive_rules_test {
namespace {

using namespace std::chrono_literals;
using apiary::detach_result;
using apiary::fifo_list;
using apiary::hive_parameters;
using apiary::real_sync;
using apiary::scripted_driver;
using apiary::stop_mode;
using words = std::vector<std::string>;

class rules : public testing::Test, public apiary::still_script {
protected:
    fifo_list<task_type> batch_of(std::initializer_list<const char*> names) {
        fifo_list<task_type> batch;
        for (const char* name : names) batch.push_back(noting(name));
        return batch;
    }
};

// ----- Order, and what interrupts it -----

TEST_F(rules, a_batch_runs_in_the_order_of_its_posts) {
    for (const unsigned workers : {1U, 2U}) {
        log.clear();
        core_type h(workers, 0, {});
        auto batch = batch_of({"1", "2", "3", "4", "5", "6", "7", "8"});
        ASSERT_TRUE(h.post_list(batch));
        ASSERT_TRUE(h.post(stopping(h)));
        h.io()[0]->run();
        EXPECT_EQ(log, (words{"1", "2", "3", "4", "5", "6", "7", "8"})) << workers << " workers";
    }
}

TEST_F(rules, a_task_in_the_inbox_waits_for_one_task_and_not_for_the_budget) {
    for (const unsigned workers : {1U, 2U}) {
        log.clear();
        core_type h(workers, 0, {});
        auto& worker = *h.io()[0];
        ASSERT_TRUE(worker.post_local(noting("third")));
        ASSERT_TRUE(worker.post_local(noting("second")));
        ASSERT_TRUE(worker.post_local(doing("first", [&] { ASSERT_TRUE(h.post_to(0, noting("targeted"))); })));
        ASSERT_TRUE(h.post(stopping(h)));
        worker.run();
        EXPECT_EQ(log, (words{"first", "targeted", "second", "third"})) << workers << " workers";
    }
}

TEST_F(rules, a_timer_waits_for_one_task_and_not_for_the_budget) {
    core_type h(1, 0, {});
    h.clock().set(1000);
    auto& worker = *h.io()[0];
    ASSERT_TRUE(worker.sources().post_delayed(noting("timer", 2000)));
    ASSERT_TRUE(worker.post_local(noting("b")));
    ASSERT_TRUE(worker.post_local(doing("a", [&] { h.clock().set(2000); })));
    ASSERT_TRUE(h.post(stopping(h)));
    worker.run();
    EXPECT_EQ(log, (words{"a", "timer", "b"}));
    EXPECT_EQ(worker.counters().timer_lateness_ns, 0U);
}

TEST_F(rules, a_timer_that_is_due_this_instant_runs_and_can_still_be_cancelled) {
    core_type h(1, 0, {});
    h.clock().set(1000);
    auto& worker = *h.io()[0];
    const auto delayed = [&](auto callable) {
        using block = apiary::delayed_callable<decltype(callable), real_sync>;
        auto* b = real_sync::create<block>(1000, callable);
        apiary::delayed_handle<real_sync> handle(b);
        task_type* t = storage::make(apiary::delayed_entry<real_sync>(b));
        t->deadline_ns = 1000;
        EXPECT_TRUE(worker.sources().post_delayed(t));
        return handle;
    };
    apiary::delayed_handle<real_sync> first, second;
    first = delayed([&] {
        log.emplace_back("first");
        EXPECT_FALSE(first.cancel()) << "it has begun";
        EXPECT_TRUE(second.cancel()) << "due in the same instant, and not begun";
    });
    second = delayed([&] { log.emplace_back("second"); });
    ASSERT_TRUE(h.post(doing("stop", [&] { h.request_stop(stop_mode::drain); })));
    worker.run();
    EXPECT_EQ(log, (words{"first", "stop"}));
    EXPECT_EQ(worker.counters().cancelled, 1U);
    EXPECT_TRUE(worker.driver().waits().empty());
}

// Told how it is ended and where it is freed.
struct counted_block : apiary::delayed_block<real_sync> {
    using base = apiary::delayed_block<real_sync>;
    counted_block()
        : base([](base& b, bool) { ++static_cast<counted_block&>(b).ended; },
               [](base& b) { ++static_cast<counted_block&>(b).freed; }, 1) {}
    int ended = 0, freed = 0;
};

TEST_F(rules, a_handle_that_is_assigned_over_lets_go_of_its_timer_and_cancels_nothing) {
    counted_block first, second;
    first.release_one();  // as its task does at its end
    {
        apiary::delayed_handle<real_sync> handle(&first);
        handle = apiary::delayed_handle<real_sync>(&second);
        EXPECT_EQ(first.freed, 1);
        EXPECT_EQ(first.ended, 0);
        EXPECT_EQ(second.freed, 0);
    }
    EXPECT_EQ(second.freed, 0) << "its task still has it";
    second.release_one();
    EXPECT_EQ(second.freed, 1);
    EXPECT_EQ(second.ended, 0);
}

// ----- What others may take -----

struct four_slots {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 4;
};
// On which every look takes longer than a yield may.
struct slow_clock : apiary::manual_clock<> {
    std::int64_t now_ns() const {
        now_ += 2 * hive_parameters{}.long_yield_ns;
        return now_;
    }
    mutable std::int64_t now_ = 0;
};
struct parts_with_slow_yields : apiary::still_parts {
    using clock = slow_clock;
};

template <class Hive>
std::uint64_t sleeps_in_100_looks(Hive& h) {
    auto& worker = *h.io()[0];
    worker.driver().on_poll = [&h, looks = 0]() mutable {
        if (++looks == 100) h.request_stop(stop_mode::drain);
    };
    worker.run();
    return worker.counters().parked;
}

TEST_F(rules, after_a_long_yield_a_worker_sleeps_without_one) {
    core_type prompt(2, 0, {.naps = 0});  // the other one is awake
    EXPECT_LE(sleeps_in_100_looks(prompt), 50U);
    core_on<parts_with_slow_yields> slow(2, 0, {.naps = 0});
    EXPECT_GE(sleeps_in_100_looks(slow), 80U);
}

// Every thread is on the same processor, so a thread that wakes a worker is displaced by it.
struct parts_on_one_processor : apiary::still_parts {
    static int processor() { return 7; }
};
struct parts_that_do_not_know_where : apiary::still_parts {
    static int processor() { return -1; }
};

// How often it polls between a wake for one task and its next sleep, while the other worker sleeps.
template <class Hive>
std::size_t polls_after_a_wake(Hive& h, bool targeted) {
    auto& worker = *h.io()[0];
    h.io_crew().idle().announce_sleep(1, false);
    std::size_t polls = 0, before = 0, after = 0;
    worker.driver().on_poll = [&] {
        ++polls;
        if (worker.driver().waits().size() == 2 && after == 0) after = polls, h.request_stop(stop_mode::drain);
    };
    worker.driver().on_wait = [&] {
        before = polls;
        auto* task = apiary::still_script::storage::make([] {});
        EXPECT_TRUE(targeted ? h.post_to(0, task) : h.post(task));
        EXPECT_EQ(worker.driver().wakes(), 1U);
    };
    worker.run();
    return after - before;
}

TEST_F(rules, a_worker_that_displaced_its_waker_looks_once_more_before_it_sleeps) {
    for (const bool targeted : {false, true}) {
        core_on<parts_on_one_processor> here(2, 0, {});
        core_on<parts_that_do_not_know_where> somewhere(2, 0, {});
        EXPECT_EQ(polls_after_a_wake(here, targeted), polls_after_a_wake(somewhere, targeted) + 1) << targeted;
    }
}

struct parts_with_four_slots : apiary::still_parts {
    template <class Node>
    using local = apiary::chase_lev_deque<Node*, real_sync, four_slots>;
};

TEST_F(rules, a_batch_is_no_larger_than_what_the_deque_can_offer_to_thieves) {
    core_on<parts_with_four_slots> h(2, 0, {});
    task_type* first = doing("first", [&] {
        h.request_stop(stop_mode::drain);
        h.io()[1]->run();  // drains all that it can reach: pool and deque
    });
    ASSERT_TRUE(h.post(first));
    for (int i = 0; i < 19; ++i) ASSERT_TRUE(h.post(noting("rest")));
    h.io()[0]->run();
    EXPECT_EQ(h.io()[0]->counters().run, 1U);
    EXPECT_EQ(h.io()[1]->counters().run, 19U);
    EXPECT_EQ(h.io()[1]->counters().stolen, 4U) << "as many as there is room for, and no fewer";
}

TEST_F(rules, a_thief_of_half_wakes_the_next_before_it_runs_the_first) {
    core_on<apiary::still_half_stealing_parts> h(3, 0, {});
    auto& victim = *h.io()[0];
    auto& thief = *h.io()[1];
    auto& sleeper = h.io()[2]->driver();
    ASSERT_TRUE(victim.post_local(doing("oldest", [&] { EXPECT_EQ(sleeper.wakes(), 1U) << "this may take long"; })));
    for (const char* name : {"second", "third", "fourth", "in the slot"}) ASSERT_TRUE(victim.post_local(noting(name)));
    h.io_crew().idle().announce_sleep(2, false);
    EXPECT_TRUE(thief.turn_once());
    EXPECT_EQ(log, words{"oldest"});
    EXPECT_EQ(thief.counters().stolen, 2U);
    EXPECT_TRUE(thief.turn_once());
    EXPECT_EQ(log, (words{"oldest", "second"}));
    EXPECT_EQ(sleeper.wakes(), 1U);
}

TEST_F(rules, a_searcher_that_found_its_own_task_wakes_the_next_for_what_all_may_take) {
    core_type h(3, 0, {});
    auto& searcher = *h.io()[1];
    auto& sleeper = h.io()[2]->driver();
    h.io_crew().idle().announce_sleep(2, false);
    searcher.driver().on_wait = [&] {
        ASSERT_TRUE(h.post_to(1, doing("targeted", [&] {
                                  EXPECT_EQ(sleeper.wakes(), 1U) << "before it runs: it may take long";
                                  h.request_stop(stop_mode::drain);
                              })));
        ASSERT_TRUE(h.post(noting("for anybody")));
        EXPECT_EQ(sleeper.wakes(), 0U) << "worker 1 is on its way";
    };
    searcher.run();
    EXPECT_EQ(log, (words{"targeted", "for anybody"}));
}

// A searcher may be descheduled for as long as another thread has the processor.
TEST_F(rules, posts_count_on_a_search_for_so_long_and_then_wake_the_next) {
    core_type h(4, 0, {});
    const auto wakes = [&h] {
        std::size_t sum = 0;
        for (const unsigned worker : {1U, 2U, 3U}) sum += h.io()[worker]->driver().wakes();
        return sum;
    };
    const auto wakes_after_a_post_at = [&](std::int64_t now_ns) {
        h.clock().set(now_ns);
        EXPECT_TRUE(h.post(noting("")));
        return wakes();
    };
    const std::int64_t began = 1'000'000'000, late = began + hive_parameters{}.search_ns + 1;
    for (const unsigned worker : {1U, 2U}) h.io_crew().idle().announce_sleep(worker, false);
    EXPECT_EQ(wakes_after_a_post_at(began), 1U);
    EXPECT_EQ(wakes_after_a_post_at(late - 1), 1U);
    EXPECT_EQ(wakes_after_a_post_at(late), 2U);
    h.io_crew().idle().announce_sleep(3, false);
    EXPECT_EQ(wakes_after_a_post_at(late + 1), 3U) << "the first is still late";
    for (const unsigned worker : {1U, 2U, 3U}) {
        EXPECT_FALSE(h.io_crew().idle().withdraw(worker));
        h.io_crew().idle().stop_searching();
    }
    for (const unsigned worker : {1U, 2U}) h.io_crew().idle().announce_sleep(worker, false);
    EXPECT_EQ(wakes_after_a_post_at(late + 2), 4U);
    EXPECT_EQ(wakes_after_a_post_at(late + 3), 4U) << "a new search";
    EXPECT_FALSE(h.io_crew().idle().withdraw(1));
    h.io_crew().idle().stop_searching();
    h.clock().set(2 * late);
    h.io_crew().wake_one();  // a worker has called for this one
    h.io_crew().idle().announce_sleep(1, false);
    EXPECT_EQ(wakes_after_a_post_at(2 * late + 1), 5U);
}

// What it waits for next after it was woken and found nothing.
template <class Hive>
std::int64_t wait_after_a_wake_in_vain(Hive& h) {
    auto& worker = *h.io()[0];
    worker.driver().on_wait = [&] {
        EXPECT_TRUE(h.io_crew().idle().claim(0));
        worker.driver().wake();
    };
    worker.driver().on_poll = [&] {
        if (worker.driver().waits().size() == 2) h.request_stop(stop_mode::drain);
    };
    worker.run();
    return worker.driver().waits().at(1);
}

TEST_F(rules, who_was_woken_in_vain_naps_unless_all_others_sleep) {
    core_type beside_a_runner(3, 0, {});
    beside_a_runner.io_crew().idle().announce_sleep(2, false);
    EXPECT_NE(wait_after_a_wake_in_vain(beside_a_runner), scripted_driver::forever);
    core_type the_last(3, 0, {});
    for (const unsigned worker : {1U, 2U}) the_last.io_crew().idle().announce_sleep(worker, false);
    EXPECT_EQ(wait_after_a_wake_in_vain(the_last), scripted_driver::forever);
}

TEST_F(rules, a_compute_batch_wakes_a_sleeping_compute_worker) {
    core_type h(1, 2, {});
    h.compute_crew().idle().announce_sleep(1, false);
    auto batch = batch_of({"1", "2"});
    ASSERT_TRUE(h.post_compute_list(batch));
    EXPECT_EQ(h.compute_crew().idle().snapshot().sleepers(), 0U);
    EXPECT_EQ(h.compute_crew().idle().snapshot().searching(), 1U);
}

// ----- Stops, and workers that come and go -----

TEST_F(rules, the_first_stop_decides_how) {
    for (const stop_mode first : {stop_mode::drain, stop_mode::discard}) {
        log.clear();
        core_type h(1, 0, {});
        ASSERT_TRUE(h.post(noting("waits")));
        h.request_stop(first);
        h.request_stop(first == stop_mode::drain ? stop_mode::discard : stop_mode::drain);
        h.io()[0]->run();
        EXPECT_EQ(log.size(), first == stop_mode::drain ? 1U : 0U);
    }
}

TEST_F(rules, nobody_is_attached_or_detached_after_the_stop) {
    core_type h(2, 2, {});
    h.request_stop(stop_mode::drain);
    EXPECT_EQ(h.attach_io(), nullptr);
    EXPECT_EQ(h.attach_compute(), nullptr);
    EXPECT_EQ(h.detach_io(1), detach_result::stopped);
    EXPECT_EQ(h.detach_compute(1), detach_result::stopped);

    apiary::hive shipped({.io_workers = 1, .compute_workers = 1});
    shipped.request_stop();
    EXPECT_FALSE(shipped.attach_io_worker());
    EXPECT_FALSE(shipped.attach_compute_worker());
}

TEST_F(rules, a_worker_that_comes_again_stays) {
    core_type h(2, 0, {});
    auto& worker = *h.io()[1];
    ASSERT_EQ(h.detach_io(1), detach_result::detached);
    worker.run();  // hands over and leaves
    ASSERT_EQ(h.attach_io(), &worker);
    ASSERT_TRUE(h.post_to(worker.id(), noting("its own")));
    ASSERT_TRUE(h.post_to(worker.id(), stopping(h)));
    worker.run();
    EXPECT_EQ(log, words{"its own"});
    EXPECT_EQ(worker.counters().run, 2U) << "by itself, and not handed over";
}

TEST_F(rules, a_compute_worker_that_comes_again_stays) {
    core_type h(1, 2, {});
    auto& worker = *h.compute()[1];
    ASSERT_EQ(h.detach_compute(1), detach_result::detached);
    worker.run();
    ASSERT_EQ(h.attach_compute(), &worker);
    ASSERT_TRUE(h.post_compute(noting("its own")));
    ASSERT_TRUE(h.post_compute(stopping(h)));
    worker.run();
    EXPECT_EQ(log, words{"its own"});
    EXPECT_EQ(worker.books().tasks_run(), 2U);
}

}  // namespace
}  // namespace hive_rules_test
