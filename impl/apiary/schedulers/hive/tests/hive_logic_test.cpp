// Slips that scripts/apiary mutate --logic found alive: which worker is woken by what, what is put back when nobody
// takes it, what a leaving worker hands over and in which order, and what the books say. One worker at a time
// (stepped_hive.hpp).
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <apiary/testing/stepped_hive.hpp>

namespace hive_logic_test {
namespace {

using apiary::detach_result;
using apiary::fifo_list;
using apiary::hive_parameters;
using apiary::real_sync;
using apiary::scripted_driver;
using apiary::steal_status;
using apiary::stop_mode;
using words = std::vector<std::string>;

class logic : public testing::Test, public apiary::still_script {
protected:
    // Runs what the pool holds, oldest first.
    template <class Hive>
    static void run_pool(Hive& h) {
        while (task_type* t = h.io_crew().pool().take_one()) t->run();
    }
};

// ----- Which worker is woken, and sees what -----

TEST_F(logic, a_post_in_front_of_another_wakes_a_sleeper_for_the_one_behind) {
    core_type h(2, 0, {});
    auto& worker = *h.io()[0];
    ASSERT_TRUE(worker.post_local(noting("one")));
    h.io_crew().idle().announce_sleep(1, false);
    ASSERT_TRUE(worker.post_local(noting("two")));
    EXPECT_EQ(h.io()[1]->driver().wakes(), 1U);
    EXPECT_EQ(h.io_crew().idle().snapshot().searching(), 1U);
    h.request_stop(stop_mode::drain);
    worker.run();
    EXPECT_EQ(log.size(), 2U);
}

TEST_F(logic, a_worker_that_is_told_to_leave_does_not_block_though_its_wake_is_used_up) {
    core_type h(2, 0, {.looks_before_sleep = 0});
    auto& worker = *h.io()[1];
    worker.driver().on_poll = [&] {
        if (worker.driver().polls() != 1) return;
        ASSERT_EQ(h.detach_io(1), detach_result::detached);
        worker.driver().fake_driver::wait(0);  // the poll meets the wake that came with it
    };
    worker.run();
    EXPECT_EQ(worker.driver().stuck(), 0U);
}

TEST_F(logic, a_post_from_outside_ends_a_nap) {
    for (const std::int64_t search_ns : {hive_parameters{}.search_ns, hive_parameters::for_ever}) {
        core_type h(2, 0, {.search_ns = search_ns});
        h.io_crew().idle().announce_nap(1, false);
        ASSERT_TRUE(h.post(noting("from outside")));
        EXPECT_EQ(h.io()[1]->driver().wakes(), 1U) << search_ns;
    }
}

struct counted_wakes {
    static constexpr std::int64_t forever = INT64_MAX;
    void wait(std::int64_t) {}
    void poll() {}
    void wake() { ++wakes; }
    int wakes = 0;
};
struct parts_with_counted_wakes : apiary::still_parts {
    using compute_driver = counted_wakes;
};

TEST_F(logic, a_compute_worker_is_woken_to_leave_and_leaves_once) {
    core_on<parts_with_counted_wakes> h(1, 3, {});
    EXPECT_EQ(h.detach_compute(1), detach_result::detached);
    EXPECT_EQ(h.compute()[1]->driver().wakes, 1);
    EXPECT_EQ(h.detach_compute(1), detach_result::unknown_worker) << "it is leaving";
    EXPECT_EQ(h.serving_compute(), 2U);
    EXPECT_EQ(h.compute()[0]->driver().wakes + h.compute()[2]->driver().wakes, 0);
}

TEST_F(logic, a_worker_that_was_woken_in_vain_naps_as_often_as_it_may_and_the_books_say_so) {
    core_type h(3, 0, {.looks_before_sleep = 0, .naps = 2});  // worker 1 is awake
    auto& worker = *h.io()[0];
    worker.driver().on_wait = [&] {
        ASSERT_TRUE(h.io_crew().idle().claim(0));
        worker.driver().wake();
    };
    worker.driver().on_poll = [&] {
        if (worker.driver().waits().size() == 4) h.request_stop(stop_mode::drain);
    };
    worker.run();
    const auto& waits = worker.driver().waits();
    ASSERT_EQ(waits.size(), 4U);
    EXPECT_EQ(waits[0], scripted_driver::forever);
    EXPECT_NE(waits[1], scripted_driver::forever);
    EXPECT_NE(waits[2], scripted_driver::forever);
    EXPECT_EQ(waits[3], scripted_driver::forever) << "two naps and no more";
    EXPECT_EQ(worker.counters().parked, 5U) << "the last one stays awake for the stop";
    EXPECT_EQ(worker.counters().woken, 1U);
    EXPECT_EQ(worker.counters().spurious, 1U);
}

TEST_F(logic, a_worker_that_has_found_work_since_it_was_woken_in_vain_naps_no_more) {
    core_type h(3, 0, {.looks_before_sleep = 0, .naps = 2});
    auto& worker = *h.io()[0];
    worker.driver().on_wait = [&] {
        ASSERT_TRUE(h.io_crew().idle().claim(0));
        worker.driver().wake();
        worker.driver().on_wait = [&] { ASSERT_TRUE(h.post(noting("found"))); };  // in the first nap
    };
    worker.driver().on_poll = [&] {
        if (worker.driver().waits().size() == 3) h.request_stop(stop_mode::drain);
    };
    worker.run();
    ASSERT_EQ(worker.driver().waits().size(), 3U);
    EXPECT_NE(worker.driver().waits()[1], scripted_driver::forever);
    EXPECT_EQ(worker.driver().waits()[2], scripted_driver::forever);
    EXPECT_EQ(log, words{"found"});
}

TEST_F(logic, a_post_that_waits_alone_wakes_nobody_when_it_is_taken) {
    core_type h(2, 0, {});
    ASSERT_TRUE(h.post(doing("alone", [&] {
        EXPECT_EQ(h.io()[1]->driver().wakes(), 0U) << "there is nothing else to take";
        h.request_stop(stop_mode::drain);
    })));
    h.io_crew().idle().announce_sleep(1, false);  // it came too late to see it, and looks itself
    h.io()[0]->run();
    EXPECT_EQ(log, words{"alone"});
}

struct scripted_compute_driver {
    static constexpr std::int64_t forever = INT64_MAX;
    void wait(std::int64_t deadline_ns) {
        ++waits;
        if (deadline_ns != forever) ++naps;
        if (on_wait) on_wait();
    }
    void poll() { ++polls; }
    void wake() {}
    int waits = 0, naps = 0, polls = 0;
    std::function<void()> on_wait;
};
struct parts_with_scripted_compute : apiary::still_parts {
    using compute_driver = scripted_compute_driver;
};

TEST_F(logic, the_books_of_a_compute_worker_say_what_woke_it) {
    core_on<parts_with_scripted_compute> h(1, 1, {});
    auto& worker = *h.compute()[0];
    worker.driver().on_wait = [&] {
        if (worker.driver().waits == 1) {
            ASSERT_TRUE(h.compute_crew().idle().claim(0));  // in vain
        }
        if (worker.driver().waits == 3) {
            ASSERT_TRUE(h.post_compute(noting("work")));
        }
        if (worker.driver().waits == 4) h.request_stop(stop_mode::drain);
    };
    worker.run();
    EXPECT_EQ(log, words{"work"});
    EXPECT_EQ(worker.counters().parked, 4U);
    EXPECT_EQ(worker.counters().woken, 2U) << "in vain, and for the work";
    EXPECT_EQ(worker.counters().spurious, 1U);
}

TEST_F(logic, a_compute_worker_takes_one_task_at_a_time) {
    core_type h(1, 1, {});
    const auto sees_the_other = [&] { EXPECT_FALSE(h.compute_crew().pool().looks_empty()) << "others may take it"; };
    ASSERT_TRUE(h.post_compute(doing("one", sees_the_other)));
    ASSERT_TRUE(h.post_compute(doing("two", [&] { h.request_stop(stop_mode::drain); })));
    h.compute()[0]->run();
    EXPECT_EQ(log, (words{"one", "two"}));
}

TEST_F(logic, a_compute_worker_that_finds_nothing_sleeps_at_once_and_never_naps) {
    core_on<parts_with_scripted_compute> h(1, 3, {.looks_before_sleep = 1, .sleeps_after_one = false, .naps = 2});
    auto& worker = *h.compute()[0];  // the others are awake
    worker.driver().on_wait = [&] {
        if (worker.driver().waits == 1) {
            ASSERT_TRUE(h.compute_crew().idle().claim(0));  // in vain
        }
        if (worker.driver().waits == 3) h.request_stop(stop_mode::drain);
    };
    worker.run();
    EXPECT_EQ(worker.driver().polls, 3) << "one look before each sleep";
    EXPECT_EQ(worker.driver().naps, 0);
}

TEST_F(logic, compute_posts_count_on_a_search_however_long_it_takes) {
    core_type h(1, 3, {.search_ns = 1000});
    for (const unsigned worker : {1U, 2U}) h.compute_crew().idle().announce_sleep(worker, false);
    for (const std::int64_t now : {1'000'000, 2'000'000}) {
        h.clock().set(now);
        ASSERT_TRUE(h.post_compute(noting("")));
        EXPECT_EQ(h.compute_crew().idle().snapshot().searching(), 1U) << now;
    }
}

TEST_F(logic, a_post_waits_for_a_napper_only_when_the_deque_is_empty) {
    for (const bool alone : {true, false}) {
        core_type h(2, 0, {});
        auto& worker = *h.io()[0];
        if (!alone) {
            ASSERT_TRUE(worker.post_local(noting("in the deque")));
        }
        ASSERT_TRUE(worker.post_local(doing("poster", [&] {
            h.io_crew().idle().announce_nap(1, false);
            ASSERT_TRUE(worker.post_local(noting("in the slot")));
            EXPECT_EQ(h.io()[1]->driver().wakes(), alone ? 0U : 1U);
            h.request_stop(stop_mode::drain);
        })));
        worker.run();
    }
}

// ----- What nobody takes -----

struct four_slots {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 4;
};
struct parts_with_four_slots : apiary::still_parts {
    template <class Node>
    using local = apiary::chase_lev_deque<Node*, real_sync, four_slots>;
};

TEST_F(logic, a_task_that_neither_deque_nor_pool_takes_stays_where_it_was) {
    core_on<parts_with_four_slots> h(2, 0, {});
    auto& worker = *h.io()[0];
    for (const char* name : {"1", "2", "3", "4", "5"}) ASSERT_TRUE(worker.post_local(noting(name)));
    h.io_crew().pool().close();  // as a stop does before its flag is up
    task_type* refused = noting("refused");
    EXPECT_FALSE(worker.post_local(refused));
    refused->drop();
    h.request_stop(stop_mode::drain);
    worker.run();
    EXPECT_EQ(log, (words{"5", "4", "3", "2", "1"}));
}

// What a thief of a full_deque is told, and how often one asked.
struct theft {
    static inline int tries = 0;
    static inline steal_status answer = steal_status::empty;
    static inline void* volatile taken = nullptr;  // volatile: or the compiler warns of a task that it can see is null
};

// Takes nothing, as one whose array cannot grow.
template <class Node>
struct full_deque {
    using limits = four_slots;
    struct owner {
        bool try_push(Node*) { return false; }
        bool try_push_all(std::span<Node* const>) { return false; }
        bool try_pop(Node*&) { return false; }
        std::size_t size() const { return 0; }
    };
    struct thief {
        apiary::steal_result<Node*> steal() const {
            ++theft::tries;
            return {theft::answer, static_cast<Node*>(theft::taken)};
        }
        bool looks_empty() const { return true; }
    };
    owner own() { return {}; }
    thief share() { return {}; }
};
struct parts_with_full_deque : apiary::still_parts {
    template <class Node>
    using local = full_deque<Node>;
};

TEST_F(logic, a_batch_that_does_not_fit_into_the_deque_runs_here_in_its_order) {
    core_on<parts_with_full_deque> h(2, 0, {.pool_visits = 1});
    for (const char* name : {"1", "2", "3", "4", "5", "6", "7", "8"}) ASSERT_TRUE(h.post(noting(name)));
    ASSERT_TRUE(h.post(stopping(h)));
    h.io()[0]->run();
    EXPECT_EQ(log, (words{"1", "2", "3", "4", "5", "6", "7", "8"}));
}

TEST_F(logic, a_thief_goes_round_again_only_behind_a_lost_race) {
    for (const auto& [answer, tries] : {std::pair{steal_status::empty, 2}, {steal_status::lost_race, 6}}) {
        core_on<parts_with_full_deque> h(3, 0, {.steal_rounds = 3});
        theft::answer = answer;
        theft::tries = 0;
        EXPECT_FALSE(h.io()[0]->turn_once());
        EXPECT_EQ(theft::tries, tries) << "of two others";
    }
    theft::answer = steal_status::empty;
}

TEST_F(logic, what_a_worker_never_ran_is_destroyed_with_it) {
    const auto token = std::make_shared<int>(0);
    {
        core_type h(1, 0, {});
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(h.io()[0]->post_local(storage::make([token] {})));
    }
    EXPECT_EQ(token.use_count(), 1);
}

TEST_F(logic, what_a_worker_had_taken_in_is_destroyed_with_it) {
    const auto token = std::make_shared<int>(0);
    {
        core_type h(1, 0, {.local_budget = 1});
        auto& worker = *h.io()[0];
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(h.post_to(0, storage::make([token] {})));
        task_type* timer = storage::make([token] {});
        timer->deadline_ns = 5000;
        ASSERT_TRUE(worker.sources().post_delayed(timer));
        EXPECT_TRUE(worker.turn_once()) << "a turn with one task is no empty one";
        EXPECT_EQ(token.use_count(), 4) << "one ran; two are private, and the timer is not due";
    }
    EXPECT_EQ(token.use_count(), 1);
}

// ----- Leaving and stopping -----

TEST_F(logic, a_worker_that_leaves_hands_over_the_oldest_first) {
    core_type h(2, 0, {});
    auto& worker = *h.io()[1];
    for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(worker.post_local(noting(name)));  // the newest in the slot
    ASSERT_TRUE(h.post_to(1, noting("private")));
    ASSERT_EQ(h.detach_io(1), detach_result::detached);
    worker.run();
    run_pool(h);
    EXPECT_EQ(log, (words{"a", "b", "c", "private"}));
    EXPECT_EQ(worker.counters().run, 0U);
}

TEST_F(logic, a_worker_on_which_no_post_counts_leaves_without_a_wake) {
    core_type h(3, 0, {});
    ASSERT_TRUE(h.post(noting("in the pool")));
    h.io_crew().idle().announce_sleep(2, false);  // it came too late to see it, and looks itself
    ASSERT_EQ(h.detach_io(1), detach_result::detached);
    h.io()[1]->run();
    EXPECT_EQ(h.io()[2]->driver().wakes(), 0U);
    EXPECT_TRUE(log.empty()) << "what is in the pool is for those that stay";
}

TEST_F(logic, a_timer_that_the_main_worker_refuses_is_dropped_and_not_lost) {
    core_type h(2, 0, {});
    auto& worker = *h.io()[1];
    h.clock().set(1000);
    ASSERT_TRUE(h.post_to(1, noting("timer", 5000)));
    ASSERT_TRUE(h.post_to(1, noting("later", 6000)));
    (void)h.io()[0]->sources().mail().inbox.close();  // as at the end of its life
    ASSERT_EQ(h.detach_io(1), detach_result::detached);
    worker.run();
    EXPECT_EQ(worker.counters().discarded, 2U);
    EXPECT_TRUE(log.empty());
}

TEST_F(logic, a_drain_runs_the_timers_that_are_due_in_their_order) {
    core_type h(1, 0, {});
    h.clock().set(1000);
    for (const auto& [name, deadline] : {std::pair{"second", 800}, {"first", 700}, {"now", 1000}, {"never", 1001}})
        ASSERT_TRUE(h.post_to(0, noting(name, deadline)));
    h.request_stop(stop_mode::drain);
    h.io()[0]->run();
    EXPECT_EQ(log, (words{"first", "second", "now"}));
    EXPECT_EQ(h.io()[0]->counters().discarded, 1U);
}

TEST_F(logic, a_timer_that_stops_the_hive_discarding_is_the_last_to_run) {
    core_type h(1, 0, {});
    h.clock().set(1000);
    task_type* stop = doing("stop", [&] { h.request_stop(stop_mode::discard); });
    stop->deadline_ns = 700;
    ASSERT_TRUE(h.post_to(0, stop));
    ASSERT_TRUE(h.post_to(0, noting("due as well", 800)));
    ASSERT_TRUE(h.post_to(0, noting("private")));
    ASSERT_TRUE(h.post(noting("pool")));
    h.io()[0]->run();
    EXPECT_EQ(log, words{"stop"});
    EXPECT_EQ(h.io()[0]->counters().discarded, 3U);
}

// ----- Books, and what is swept -----

TEST_F(logic, the_latest_timer_is_in_the_books) {
    core_type h(1, 0, {});
    h.clock().set(1000);
    for (const std::int64_t deadline : {700, 900, 950}) ASSERT_TRUE(h.post_to(0, noting("timer", deadline)));
    ASSERT_TRUE(h.post(stopping(h)));
    h.io()[0]->run();
    const auto c = h.io()[0]->counters();
    EXPECT_EQ(c.timers_fired, 3U);
    EXPECT_EQ(c.timer_lateness_ns, 300U + 100U + 50U);
    EXPECT_EQ(c.timer_lateness_max_ns, 300U);
}

TEST_F(logic, a_timer_is_in_the_books_before_it_runs) {
    core_type h(1, 0, {});
    h.clock().set(1000);
    task_type* timer = doing("timer", [&] { EXPECT_EQ(h.io()[0]->counters().timers_fired, 1U); });
    timer->deadline_ns = 700;
    ASSERT_TRUE(h.post_to(0, timer));
    EXPECT_TRUE(h.io()[0]->turn_once());
    EXPECT_EQ(log, words{"timer"});
}

TEST_F(logic, cancelled_timers_are_swept_when_the_heap_has_grown_to_twice_what_was_left) {
    core_type h(1, 0, {});
    h.clock().set(1000);
    auto& worker = *h.io()[0];
    std::vector<apiary::delayed_handle<real_sync>> kept;
    const auto add = [&](bool cancelled) {
        const auto nothing = [] {};
        using block = apiary::delayed_callable<std::remove_const_t<decltype(nothing)>, real_sync>;
        auto* b = real_sync::create<block>(5000, nothing);
        kept.emplace_back(b);
        task_type* t = storage::make(apiary::delayed_entry<real_sync>(b));
        t->deadline_ns = 5000;
        ASSERT_TRUE(worker.sources().post_delayed(t));
        if (cancelled) {
            ASSERT_TRUE(kept.back().cancel());
        }
    };
    for (int i = 0; i < 64; ++i) add(true);
    EXPECT_EQ(worker.sources().pending(), 64U);
    EXPECT_EQ(worker.counters().cancelled, 0U) << "no sweep for each timer";
    add(false);
    EXPECT_EQ(worker.sources().pending(), 1U) << "the first sweep leaves the one that it came for";
    EXPECT_EQ(worker.counters().cancelled, 64U);
    for (int i = 0; i < 63; ++i) add(false);
    add(false);  // a sweep that finds nothing: 64 are left
    for (int i = 0; i < 63; ++i) add(true);
    EXPECT_EQ(worker.sources().pending(), 128U);
    EXPECT_EQ(worker.counters().cancelled, 64U) << "not before the heap is twice as large";
    add(true);
    EXPECT_EQ(worker.sources().pending(), 66U);
    EXPECT_EQ(worker.counters().cancelled, 127U);
}

TEST_F(logic, parameters_may_be_as_small_as_stated_and_no_smaller) {
    const hive_parameters least{.local_budget = 1,
                                .global_batch = 1,
                                .pool_visits = 1,
                                .global_probe_interval = 1,
                                .probe_ns = 1,
                                .first_looks = 1,
                                .steal_rounds = 1,
                                .looks_before_sleep = 0,
                                .long_yield_ns = 1,
                                .sleeps_after_long_yield = 0,
                                .naps = 0,
                                .nap_ns = 1,
                                .search_ns = 1,
                                .timer_spin_ns = 0,
                                .short_deque = 1,
                                .long_deque_probes = 1};
    EXPECT_NO_THROW(apiary::hive({.parameters = least}));
    const auto refused = [&](auto member, auto value) {
        hive_parameters p = least;
        p.*member = value;
        EXPECT_THROW(apiary::hive({.parameters = p}), std::invalid_argument);
    };
    using p = hive_parameters;
    for (const auto member : {&p::local_budget, &p::global_batch, &p::pool_visits, &p::global_probe_interval,
                              &p::first_looks, &p::short_deque, &p::long_deque_probes})
        refused(member, 0U);
    for (const auto member : {&p::probe_ns, &p::long_yield_ns, &p::nap_ns, &p::search_ns}) refused(member, 0);
    refused(&p::steal_rounds, 0U);
    refused(&p::timer_spin_ns, -1);
    for (const double share : {-0.01, 1.01, std::nan("")}) refused(&p::idle_cpu, share);
    EXPECT_NO_THROW(apiary::hive({.compute_workers = 1, .io_slice_ns = 0}));
    EXPECT_THROW(apiary::hive({.compute_workers = 1, .io_slice_ns = -1}), std::invalid_argument);
    refused(&p::global_batch, std::size_t{65});
    refused(&p::nap_ns, std::int64_t{1'000'000'001});
}

TEST_F(logic, of_several_parameters_that_are_out_of_range_the_first_is_named) {
    using p = hive_parameters;
    const p sound;
    p all{.local_budget = 0,
          .global_batch = 0,
          .pool_visits = 0,
          .global_probe_interval = 0,
          .probe_ns = 0,
          .first_looks = 0,
          .steal_rounds = 0,
          .long_yield_ns = 0,
          .yield_pays_ns = 0,
          .nap_ns = 0,
          .search_ns = 0,
          .idle_cpu = 1.5,
          .spin_ns = 0,
          .timer_spin_ns = -1,
          .short_deque = 0,
          .long_deque_probes = 0};
    const auto expect_named = [&all, &sound](const char* name, auto member) {
        try {
            (void)apiary::valid("hive", all);
            ADD_FAILURE() << name << " was accepted";
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(std::string(e.what()).find(std::string("hive: ") + name + " is "), 0U) << e.what();
        }
        all.*member = sound.*member;
    };
    expect_named("local_budget", &p::local_budget);
    expect_named("global_batch", &p::global_batch);
    expect_named("pool_visits", &p::pool_visits);
    expect_named("global_probe_interval", &p::global_probe_interval);
    expect_named("probe_ns", &p::probe_ns);
    expect_named("first_looks", &p::first_looks);
    expect_named("steal_rounds", &p::steal_rounds);
    expect_named("long_yield_ns", &p::long_yield_ns);
    expect_named("yield_pays_ns", &p::yield_pays_ns);
    expect_named("nap_ns", &p::nap_ns);
    expect_named("short_deque", &p::short_deque);
    expect_named("long_deque_probes", &p::long_deque_probes);
    expect_named("search_ns", &p::search_ns);
    expect_named("spin_ns", &p::spin_ns);
    expect_named("idle_cpu", &p::idle_cpu);
    expect_named("timer_spin_ns", &p::timer_spin_ns);
    EXPECT_NO_THROW((void)apiary::valid("hive", all));
}

struct traced_still_parts : apiary::still_parts {
    using trace = apiary::event_trace;
};

TEST_F(logic, a_trace_tells_from_when_to_when_a_worker_slept_and_ran) {
    core_on<traced_still_parts> h(1, 0, {.looks_before_sleep = 0});
    auto& worker = *h.io()[0];
    h.clock().set(5000);
    task_type* stop = doing("timer", [&] {
        h.clock().advance(3000);
        h.request_stop(stop_mode::drain);
    });
    stop->deadline_ns = 7000;
    ASSERT_TRUE(worker.sources().post_delayed(stop));
    worker.run();
    std::ostringstream out;
    worker.events().write(out, 0, "IO", 0);
    EXPECT_NE(out.str().find("\"ts\":5.000,\"ph\":\"X\",\"dur\":2.000}"), std::string::npos) << "asleep: " << out.str();
    EXPECT_NE(out.str().find("\"ts\":7.000,\"ph\":\"X\",\"dur\":3.000}"), std::string::npos)
        << "at work: " << out.str();
}

TEST_F(logic, a_trace_gives_times_in_microseconds_with_three_places) {
    apiary::event_trace trace;
    trace.span(apiary::event_trace::kind::park, 1'234'567, 1'234'567 + 89'012);
    std::ostringstream out;
    trace.write(out, 3, "IO", 3);
    EXPECT_NE(out.str().find("\"ts\":1234.567,\"ph\":\"X\",\"dur\":89.012}"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace hive_logic_test
