// What logic mutants of this room let live until it was asked for: ends that are told, what is freed when, and which
// way a coroutine goes on.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_all.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coro_logic_test {
namespace {

using apiary::co_priority;
using apiary::co_scope;
using apiary::co_stop;
using apiary::co_task;
using apiary::comes_true;
using apiary::coro_pool;
using apiary::sync_wait;

using token = std::shared_ptr<int>;

co_task<> ends() { co_return; }
co_task<> throws() {
    throw std::runtime_error("as it should");
    co_return;
}
co_task<> keeps_the_worker(std::atomic<bool>& begun, const std::atomic<bool>& go) {
    begun = true;
    while (!go) std::this_thread::yield();
    co_return;
}
co_task<> waits_for(apiary::async_event<>& e) { (void)co_await e.wait(); }
co_task<> moves_to(coro_pool& pool, token = {}) { co_await apiary::resume_on(pool); }

// ---- which way a coroutine goes on

co_task<> awaits_children(coro_pool& pool, unsigned n) {
    for (; n != 0; --n) co_await ends();
    co_await apiary::resume_on(pool);  // it is there
}

co_task<> awaits_branches(unsigned times) {
    for (; times != 0; --times) co_await apiary::when_all(ends(), ends(), ends());
}

TEST(coro_logic, children_that_are_awaited_and_branches_that_nobody_takes_are_no_jobs_of_their_own) {
    coro_pool pool({.workers = 1});
    pool.start();
    sync_wait(pool, awaits_children(pool, 10));
    pool.stop();
    EXPECT_EQ(pool.counters().run, 1U);
    coro_pool another({.workers = 1});
    another.start();
    sync_wait(another, awaits_branches(10));
    another.stop();
    EXPECT_LE(another.counters().run, 2U) << "itself, and one that was on offer before anybody had asked";
}

co_task<> notes(std::string& all, char c) {
    all += c;
    co_return;
}
co_task<> spawns_one_of_its_priority(coro_pool& pool, std::string& all) {
    EXPECT_TRUE(pool.spawn(notes(all, 's'), {.priority = co_priority::high}));
    co_await ends();
    all += 'f';
}

TEST(coro_logic, a_high_one_does_not_stand_back_for_a_high_one) {
    coro_pool pool({.workers = 1, .priorities = true});
    pool.start();
    std::string all;
    ASSERT_TRUE(pool.spawn(spawns_one_of_its_priority(pool, all), {.priority = co_priority::high}));
    pool.stop();
    EXPECT_EQ(all, "fs");
}

co_task<> stands_back_after(coro_pool& elsewhere, std::atomic<bool>& begun, int& ran) {
    begun = true;
    while (elsewhere.report().living != 0) std::this_thread::yield();  // the guest is on its way home
    co_await ends();
    ++ran;
}

co_task<> ends_elsewhere_after(coro_pool& elsewhere, const std::atomic<bool>& begun) {
    co_await apiary::resume_on(elsewhere);
    while (!begun) std::this_thread::yield();
}

// The root comes home to end, with the hurry of its priority, and its end leaves this worker nothing to go on with.
TEST(coro_logic, a_coroutine_that_has_stood_back_is_not_gone_on_with_after_an_end) {
    coro_pool home({.workers = 1, .priorities = true}), elsewhere({.workers = 1});
    home.start(), elsewhere.start();
    std::atomic<bool> begun = false;
    int ran = 0;
    ASSERT_TRUE(home.spawn(ends_elsewhere_after(elsewhere, begun), {.priority = co_priority::high}));
    ASSERT_TRUE(comes_true([&] { return elsewhere.report().living == 1; }));
    ASSERT_TRUE(home.spawn(stands_back_after(elsewhere, begun, ran)));
    home.stop();
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(home.report().run, 2U);
}

TEST(coro_logic, background_has_a_turn_after_so_many_others_and_no_sooner) {
    constexpr auto every = static_cast<std::size_t>(apiary::co_lanes<apiary::real_sync>::background_every);
    coro_pool pool({.workers = 1, .priorities = true});
    pool.start();
    std::string all;
    std::atomic<bool> begun = false, go = false;
    ASSERT_TRUE(pool.spawn(keeps_the_worker(begun, go)));
    while (!begun) std::this_thread::yield();
    for (int i = 0; i != 4; ++i) ASSERT_TRUE(pool.spawn(notes(all, 'b'), {.priority = co_priority::background}));
    for (std::size_t i = 0; i != 4 * every; ++i) ASSERT_TRUE(pool.spawn(notes(all, 'n')));
    go = true;
    pool.stop();
    std::size_t before = all.find('b');
    for (std::size_t b = all.find('b', before + 1); b < 4 * every - 1; before = b, b = all.find('b', b + 1))
        EXPECT_GE(b - before, every / 2) << all;
}

TEST(coro_logic, without_stealing_what_a_worker_spawns_is_there_for_all) {
    coro_pool pool({.workers = 2, .stealing = false});
    pool.start();
    std::atomic<bool> ran = false;
    sync_wait(pool, [](coro_pool& p, std::atomic<bool>& r) -> co_task<> {
        EXPECT_TRUE(p.spawn([&r]() -> co_task<> {
            r = true;
            co_return;
        }));
        EXPECT_TRUE(comes_true([&r] { return r.load(); }));
        co_return;
    }(pool, ran));
}

// The branch begins on the other worker, or never: the one that forks it does not join.
TEST(coro_logic, the_first_fork_wakes_the_worker_that_has_asked_and_sleeps) {
    coro_pool pool({.workers = 2});
    pool.start();
    auto& core = static_cast<apiary::co_core<apiary::real_sync>&>(pool.host());
    sync_wait(pool, [](auto& crew) -> co_task<> {
        while (crew.idle().snapshot().sleepers() == 0 || crew.idle().snapshot().napping()) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // its last look, and what it asks there
        std::atomic<bool> begun = false, go = true;
        co_scope<> branches(co_await apiary::this_frame());
        for (int i = 0; i != 2; ++i) branches.fork(keeps_the_worker(begun, go));
        EXPECT_TRUE(comes_true([&begun] { return begun.load(); }));
        co_await branches.join();
    }(core.the_crew()));
}

TEST(coro_logic, a_guests_branch_that_ends_elsewhere_ends_at_home_and_is_counted_no_more) {
    coro_pool first({.workers = 1}), second({.workers = 1});
    first.start(), second.start();
    const auto held = std::make_shared<int>(0);
    sync_wait(first, [](coro_pool& a, coro_pool& b, const token& t) -> co_task<> {
        co_await apiary::resume_on(b);
        co_scope<> branches(co_await apiary::this_frame());
        branches.fork(moves_to(a, t));
        branches.fork([](token) -> co_task<> { co_return; }(t));
        co_await branches.join();
        EXPECT_EQ(t.use_count(), 1) << "both frames have gone";
    }(first, second, held));
    EXPECT_TRUE(comes_true([&] { return second.report().living == 0; }));
    EXPECT_EQ(held.use_count(), 1);
    second.stop();
}

// ---- ends, and what is told of them

TEST(coro_logic, a_stop_source_of_its_own_ends_a_wait_while_the_pool_goes_on_and_is_not_asked_after_the_end) {
    coro_pool pool({.workers = 1});
    pool.start();
    apiary::async_event<> never;
    std::stop_source asked, unasked;
    ASSERT_TRUE(pool.spawn(waits_for(never), {.stop = asked}));
    ASSERT_TRUE(pool.spawn(ends(), {.stop = unasked}));
    ASSERT_TRUE(comes_true([&] { return pool.report().living == 1; }));
    asked.request_stop();
    EXPECT_TRUE(comes_true([&] { return pool.report().living == 0; }));
    pool.stop(co_stop::cancel);
    EXPECT_FALSE(unasked.stop_requested()) << "its coroutine had ended";
}

TEST(coro_logic, a_contender_that_waits_is_ended_by_the_first) {
    coro_pool pool({.workers = 1});
    pool.start();
    apiary::async_event<> never;
    bool waits = false;
    sync_wait(pool, [](apiary::async_event<>& e, bool& there) -> co_task<> {
        const auto tells = [](apiary::async_event<>& event, bool& t) -> co_task<> {
            t = true;
            (void)co_await event.wait();
        };
        const auto comes_first = [](const bool& t) -> co_task<> {
            while (!t) co_await apiary::yield_turn();
        };
        const auto first = co_await apiary::when_any(tells(e, there), comes_first(there));
        EXPECT_EQ(first.index, 1U);
    }(never, waits));
    EXPECT_TRUE(comes_true([&] { return pool.report().living == 0; })) << "the other one still waits";
    pool.stop(co_stop::cancel);
}

co_task<token> gives(token t) {
    co_await apiary::yield_turn();  // so that both have begun
    co_return t;
}

// A race holds what its loser gave, until nobody needs the race.
TEST(coro_logic, a_race_goes_with_what_its_losers_gave) {
    coro_pool pool({.workers = 1});
    pool.start();
    const auto held = std::make_shared<int>(0);
    for (int i = 0; i != 3; ++i)
        sync_wait(pool, [](token t) -> co_task<> {
            auto first = co_await apiary::when_any(gives(t), gives(t));
            EXPECT_EQ(first.value, t);
        }(held));
    pool.stop();
    EXPECT_EQ(held.use_count(), 1);
}

struct ended_with {
    token held;
};
co_task<> throws_when_ended(apiary::async_event<>& never, token t) {
    (void)co_await never.wait();
    throw ended_with{t};
}
co_task<> races(apiary::async_event<>& never, token t, unsigned depth, std::atomic<bool>& there) {
    if (depth == 0) {
        there = true;
        co_await throws_when_ended(never, t);
    } else {
        (void)co_await apiary::when_any(races(never, t, depth - 1, there), throws_when_ended(never, t));
    }
}

TEST(coro_logic, races_deeper_than_nested_calls_go_after_a_stop) {
    const auto held = std::make_shared<int>(0);
    {
        coro_pool pool({.workers = 1, .on_exception = [](const std::exception_ptr&) {}});
        pool.start();
        apiary::async_event<> never;
        std::atomic<bool> there = false;
        ASSERT_TRUE(pool.spawn(races(never, held, 70, there)));
        while (!there) std::this_thread::yield();
        pool.stop(co_stop::cancel);
    }
    EXPECT_EQ(held.use_count(), 1);
}

TEST(coro_logic, the_handler_hears_of_what_nobody_awaits_alone) {
    std::atomic<int> told = 0;
    coro_pool pool({.workers = 1, .on_exception = [&told](const std::exception_ptr&) { ++told; }});
    pool.start();
    EXPECT_THROW(sync_wait(pool, throws()), std::runtime_error);
    EXPECT_EQ(told, 0) << "its awaiter has it";
    ASSERT_TRUE(pool.spawn(throws()));
    pool.stop();
    EXPECT_EQ(told, 1);
    EXPECT_EQ(pool.report().exceptions, 2U);
}

TEST(coro_logic, the_end_of_one_without_a_name_strikes_no_other_from_the_report) {
    coro_pool pool({.workers = 1});
    pool.start();
    apiary::async_event<> event;
    ASSERT_TRUE(pool.spawn(waits_for(event), {.name = "waits"}));
    ASSERT_TRUE(pool.spawn(ends()));
    ASSERT_TRUE(comes_true([&] { return pool.report().living == 1; }));
    EXPECT_EQ(pool.report().names, std::vector<std::string>{"waits"});
    event.set();
    pool.stop();
}

struct asks_what_lives {
    coro_pool* pool;
    std::atomic<std::uint64_t>* seen;
    asks_what_lives(coro_pool& p, std::atomic<std::uint64_t>& s) : pool(&p), seen(&s) {}
    asks_what_lives(asks_what_lives&& other) noexcept : pool(std::exchange(other.pool, nullptr)), seen(other.seen) {}
    ~asks_what_lives() {
        if (pool != nullptr) *seen = pool->report().living;
    }
};

co_task<> ends_with(asks_what_lives) { co_return; }

// The pool may end as soon as nothing lives in it, so the test keeps what the last of the two saw. Each of the two is
// counted before it is queued, so either may be the last.
TEST(coro_logic, what_never_begins_goes_before_it_is_counted_off_and_before_its_waiter_goes_on) {
    coro_pool pool({.workers = 1});
    pool.start();
    std::atomic<bool> begun = false, go = false;
    std::atomic<std::uint64_t> living = 99;
    ASSERT_TRUE(pool.spawn(keeps_the_worker(begun, go)));
    while (!begun) std::this_thread::yield();
    std::thread waiter([&] { EXPECT_THROW(sync_wait(pool, ends_with({pool, living})), apiary::wait_cancelled); });
    while (pool.report().living != 2) std::this_thread::yield();
    ASSERT_TRUE(pool.spawn(ends_with({pool, living})));
    pool.request_stop(co_stop::cancel);
    go = true;
    waiter.join();
    pool.stop();
    EXPECT_EQ(living, 1U) << "it is the last, and lives";
    EXPECT_EQ(pool.report().cancelled, 2U);
}

TEST(coro_logic, a_coroutine_may_stop_another_pool) {
    coro_pool pool({.workers = 1}), other({.workers = 1});
    pool.start(), other.start();
    sync_wait(pool, [](coro_pool& p) -> co_task<> {
        EXPECT_NO_THROW(p.stop());
        co_return;
    }(other));
}

// ---- numbers

TEST(coro_logic, takes_numbers_up_to_what_it_says_and_none_beyond) {
    EXPECT_NO_THROW(coro_pool({.workers = 1, .linger_ns = 10'000'000}));
    EXPECT_THROW(coro_pool({.workers = 1, .linger_ns = 10'000'001}), std::invalid_argument);
    EXPECT_THROW(coro_pool({.workers = 1, .linger_ns = -1}), std::invalid_argument);
    EXPECT_NO_THROW(coro_pool({.workers = 1, .idle_cpu = 1}));
    for (const double share : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_THROW(coro_pool({.workers = 1, .idle_cpu = share}), std::invalid_argument) << share;
    EXPECT_NO_THROW(coro_pool({.workers = 1, .batch = apiary::worker_parameters::max_batch}));
    const unsigned most = apiary::co_core<apiary::real_sync>::crew_type::max_workers;
    EXPECT_EQ(coro_pool({.workers = most}).workers(), most);
    EXPECT_EQ(coro_pool({.workers = 1, .pinned = true}).workers(), 1U);
}

// ---- tasks and outcomes

TEST(coro_logic, a_fork_of_an_empty_task_throws) {
    coro_pool pool({.workers = 1});
    pool.start();
    sync_wait(pool, []() -> co_task<> {
        co_scope<> branches(co_await apiary::this_frame());
        EXPECT_THROW(branches.fork(co_task<>()), std::logic_error);
        co_await branches.join();
    }());
}

TEST(coro_logic, an_outcome_that_is_taken_does_not_begin_the_second_task) {
    coro_pool pool({.workers = 1});
    pool.start();
    int ran = 0;
    sync_wait(pool, [](int& n) -> co_task<> {
        const auto counts = [](int& m) -> co_task<int> { co_return ++m; };
        co_scope<> branches(co_await apiary::this_frame());
        apiary::co_outcome<int> out;
        branches.fork(counts(n), out);
        EXPECT_THROW(branches.fork(counts(n), out), std::logic_error);
        co_await branches.join();
        EXPECT_EQ(out.take(), 1);
    }(ran));
    EXPECT_EQ(ran, 1);
}

TEST(coro_logic, an_outcome_that_nobody_takes_destroys_its_value) {
    const auto held = std::make_shared<int>(0);
    {
        apiary::co_outcome<token> out;
        out.set(held);
        EXPECT_EQ(held.use_count(), 2);
    }
    EXPECT_EQ(held.use_count(), 1);
}

TEST(coro_logic, a_vector_of_tasks_without_results_throws_the_first_exception_also_when_one_is_empty) {
    coro_pool pool({.workers = 1});
    pool.start();
    int ran = 0;
    sync_wait(pool, [](int& n) -> co_task<> {
        for (const std::size_t which : {0U, 1U, 2U}) {
            std::vector<co_task<>> tasks;
            for (std::size_t i = 0; i != 2; ++i) tasks.push_back(i == which ? throws() : ends());
            bool threw = false;
            try {
                co_await apiary::when_all(std::move(tasks));
            } catch (const std::runtime_error&) {
                threw = true;
            }
            EXPECT_EQ(threw, which != 2U);
        }
        std::vector<co_task<>> with_an_empty_one(2);
        with_an_empty_one[1] = [](int& m) -> co_task<> {
            ++m;
            co_return;
        }(n);
        bool refused = false;
        try {
            co_await apiary::when_all(std::move(with_an_empty_one));
        } catch (const std::logic_error&) {
            refused = true;
        }
        EXPECT_TRUE(refused);
    }(ran));
    pool.stop();
    EXPECT_EQ(ran, 0) << "none of them begins";
}

struct counts_living {
    const token* all;
    long* seen;
    counts_living(const token& t, long& s) : all(&t), seen(&s) {}
    counts_living(counts_living&& other) noexcept : all(std::exchange(other.all, nullptr)), seen(other.seen) {}
    ~counts_living() {
        if (all != nullptr) *seen = all->use_count();
    }
};
co_task<> holds(token) { co_return; }
// Whichever of the two goes last sees it, in either order of arguments.
co_task<> holds_many(counts_living, std::vector<co_task<>>, counts_living) { co_return; }
co_task<> holds_many(const token& of, long& seen, std::vector<co_task<>> all) {
    return holds_many(counts_living(of, seen), std::move(all), counts_living(of, seen));
}
co_task<> holds_task(co_task<>) { co_return; }

// The depth counts, and not how many there are.
TEST(coro_logic, a_hundred_tasks_beside_each_other_go_before_what_was_made_before_them) {
    const auto held = std::make_shared<int>(0);
    long seen = 0;
    {
        std::vector<co_task<>> children;
        for (int i = 0; i != 100; ++i) children.push_back(holds(held));
        const auto all = holds_many(held, seen, std::move(children));
        EXPECT_EQ(held.use_count(), 101);
    }
    EXPECT_EQ(seen, 1);
}

TEST(coro_logic, of_tasks_too_deep_for_nested_calls_all_go) {
    const auto held = std::make_shared<int>(0);
    long seen = 0;
    for (int depth = 60; depth != 70; ++depth) {
        {
            std::vector<co_task<>> deepest;
            for (int i = 0; i != 3; ++i) deepest.push_back(holds(held));
            auto chain = holds_many(held, seen, std::move(deepest));
            for (int i = 0; i != depth; ++i) chain = holds_task(std::move(chain));
            EXPECT_EQ(held.use_count(), 4);
        }
        EXPECT_EQ(held.use_count(), 1) << depth;
    }
}

}  // namespace
}  // namespace coro_logic_test
