// when_all, co_scope, with_scope: every branch runs once, results and exceptions, also where branches are stolen or
// suspended.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>

namespace when_all_test {
namespace {

using apiary::co_outcome;
using apiary::co_scope;
using apiary::co_task;
using apiary::comes_true;
using apiary::coro_pool;
using apiary::sync_wait;
using apiary::this_frame;
using apiary::when_all;
using apiary::with_scope;
using apiary::yield_turn;

struct running_pool : coro_pool {
    explicit running_pool(unsigned workers) : coro_pool({.workers = workers}) { start(); }
};

co_task<std::uint64_t> fib(unsigned n) {
    if (n < 2) co_return n;
    const auto [x, y] = co_await when_all(fib(n - 1), fib(n - 2));
    co_return x + y;
}
// Branches are suspended in their midst, so their siblings go elsewhere.
co_task<std::uint64_t> fib_with_rests(unsigned n) {
    if (n % 3 == 0) co_await yield_turn();
    if (n < 2) co_return n;
    const auto [x, y] = co_await when_all(fib_with_rests(n - 1), fib_with_rests(n - 2));
    if (n % 5 == 0) co_await yield_turn();
    co_return x + y;
}
co_task<std::uint64_t> fib_by_scope(unsigned n) {
    if (n < 2) co_return n;
    co_scope<> branches(co_await this_frame());
    co_outcome<std::uint64_t> x;
    branches.fork(fib_by_scope(n - 1), x);
    const std::uint64_t y = co_await fib_by_scope(n - 2);
    co_await branches.join();
    co_return x.take() + y;
}

TEST(when_all, gives_the_results_of_all) {
    for (const unsigned workers : {1U, 2U, 4U}) {
        running_pool pool(workers);
        EXPECT_EQ(sync_wait(pool, fib(20)), 6765U) << workers;
        EXPECT_EQ(sync_wait(pool, fib_with_rests(17)), 1597U) << workers;
        EXPECT_EQ(sync_wait(pool, fib_by_scope(20)), 6765U) << workers;
    }
}

struct four_branches {
    std::atomic<bool> first_runs = false, fourth_runs = false, second_ran = false;

    co_task<> first() {  // stolen
        first_runs = true;
        while (!fourth_runs) std::this_thread::yield();
        co_return;
    }
    co_task<> second() {
        second_ran = true;
        co_return;
    }
    co_task<> third() {
        EXPECT_TRUE(comes_true([this] { return second_ran.load(); })) << "nobody was given the second";
        co_return;
    }
    co_task<> fourth() {
        fourth_runs = true;
        EXPECT_TRUE(comes_true([this] { return first_runs && apiary::co_context<apiary::real_sync>::here()->asked(); }))
            << "the thief is hungry again";
        co_return;
    }
    co_task<> all() {
        co_scope<> branches(co_await this_frame());
        branches.fork(first());
        branches.fork(second());
        branches.fork(third());
        branches.fork(fourth());
        co_await branches.join();
    }
};

// No branch forks, and the request comes when all of them are forked already.
TEST(when_all, hands_branches_to_a_worker_that_asks_behind_the_last_fork) {
    four_branches four;
    running_pool pool(2);
    sync_wait(pool, four.all());
}

co_task<std::string> text() { co_return "text"; }
co_task<> nothing() { co_return; }
co_task<int> number(int n) { co_return n; }
co_task<> several() {
    const auto [s, v, n] = co_await when_all(text(), nothing(), number(3));
    static_assert(std::is_same_v<decltype(v), const std::monostate>);
    EXPECT_EQ(s, "text");
    EXPECT_EQ(n, 3);
    const auto [alone] = co_await when_all(number(4));
    EXPECT_EQ(alone, 4);
}

TEST(when_all, takes_tasks_of_several_types) {
    running_pool pool(2);
    sync_wait(pool, several());
}

co_task<std::vector<int>> of_a_vector(int n) {
    std::vector<co_task<int>> tasks;
    for (int i = 0; i != n; ++i) tasks.push_back(number(i));
    co_return co_await when_all(std::move(tasks));
}

TEST(when_all, takes_a_vector_and_keeps_its_order) {
    running_pool pool(2);
    EXPECT_TRUE(sync_wait(pool, of_a_vector(0)).empty());
    const auto all = sync_wait(pool, of_a_vector(1000));
    ASSERT_EQ(all.size(), 1000U);
    for (int i = 0; i != 1000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

co_task<> says(std::string& order, char c) {
    order += c;
    co_return;
}
co_task<> in_order(std::string& order) {
    co_await when_all(says(order, 'a'), says(order, 'b'), says(order, 'c'));
    order += '|';
    co_scope<> branches(co_await this_frame());
    for (const char c : {'x', 'y', 'z'}) branches.fork(says(order, c));
    order += '-';
    co_await branches.join();
    branches.fork(says(order, '2'));
    co_await branches.join();
}

TEST(when_all, runs_branches_that_nobody_takes_from_the_first_on_and_a_scope_from_the_newest) {
    std::string order;
    running_pool pool(1);
    sync_wait(pool, in_order(order));
    // Nobody asks a lone worker, so nothing is handed out.
    EXPECT_EQ(order, "abc|-zyx2");
}

// Two branches that wait for each other without suspension: only different workers can run them.
co_task<> meets(std::atomic<int>& there) {
    ++there;
    while (there != 2) std::this_thread::yield();
    co_return;
}
co_task<> meeting(std::atomic<int>& there) {
    while (!apiary::co_context<apiary::real_sync>::here()->asked()) std::this_thread::yield();
    co_await when_all(meets(there), meets(there));
}

TEST(when_all, two_coarse_branches_run_at_the_same_time_when_a_worker_is_hungry) {
    running_pool pool(2);
    for (int i = 0; i != 20; ++i) {
        std::atomic<int> there = 0;
        sync_wait(pool, meeting(there));
    }
}

co_task<int> fails(const char* what) {
    throw std::runtime_error(what);
    co_return 0;
}
co_task<> rest_then_fail(const char* what) {
    co_await yield_turn();
    throw std::runtime_error(what);
}
co_task<std::string> first_of_two(std::atomic<int>& ran) {
    const auto counts = [](std::atomic<int>& n) -> co_task<> {
        ++n;
        co_return;
    };
    try {
        co_await when_all(counts(ran), fails("second"), rest_then_fail("third"), counts(ran));
    } catch (const std::runtime_error& e) {
        co_return e.what();
    }
    co_return "";
}

TEST(when_all, throws_the_first_exception_behind_all_branches_and_counts_the_others) {
    for (const unsigned workers : {1U, 2U}) {
        std::atomic<int> ran = 0;
        running_pool pool(workers);
        EXPECT_EQ(sync_wait(pool, first_of_two(ran)), "second");
        EXPECT_EQ(ran, 2);
        EXPECT_EQ(pool.report().lost_exceptions, 1U);
    }
}

co_task<std::vector<int>> three_of_a_vector_fail() {
    std::vector<co_task<int>> tasks;
    tasks.push_back(number(1));
    for (const char* what : {"a", "b", "c"}) tasks.push_back(fails(what));
    co_return co_await when_all(std::move(tasks));
}

TEST(when_all, of_a_vector_throws_the_first_exception_and_counts_the_others) {
    running_pool pool(1);
    try {
        (void)sync_wait(pool, three_of_a_vector_fail());
        FAIL() << "the exceptions were lost";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "a");
    }
    EXPECT_EQ(pool.report().lost_exceptions, 2U);
}

co_task<std::string> scope_throws() {
    co_scope<> branches(co_await this_frame());
    co_outcome<int> kept;
    branches.fork(fails("kept"), kept);
    branches.fork(rest_then_fail("a"));
    branches.fork(rest_then_fail("b"));
    std::string said;
    try {
        co_await branches.join();
    } catch (const std::runtime_error& e) {
        said = e.what();
    }
    EXPECT_TRUE(kept.failed());
    co_return said;
}

TEST(co_scope, join_throws_one_exception_of_the_branches_without_an_outcome) {
    running_pool pool(2);
    const std::string said = sync_wait(pool, scope_throws());
    EXPECT_TRUE(said == "a" || said == "b") << said;
    EXPECT_EQ(pool.report().lost_exceptions, 1U);
}

co_task<> rests_and_counts(std::atomic<int>& ran) {
    co_await yield_turn();
    ++ran;
}
co_task<> joins_again(std::atomic<int>& threw, std::atomic<int>& ran) {
    co_scope<> branches(co_await this_frame());
    for (int i = 0; i != 2; ++i) branches.fork(rest_then_fail("one of the first"));
    try {
        co_await branches.join();
    } catch (const std::runtime_error&) {
        ++threw;
    }
    for (int i = 0; i != 2; ++i) branches.fork(rests_and_counts(ran));
    co_await branches.join();
}

TEST(co_scope, a_join_behind_one_that_threw_waits_for_its_branches_and_throws_nothing) {
    for (const unsigned workers : {1U, 2U}) {
        std::atomic<int> threw = 0, ran = 0;
        running_pool pool(workers);
        sync_wait(pool, joins_again(threw, ran));
        EXPECT_EQ(threw, 1);
        EXPECT_EQ(ran, 2);
    }
}

co_task<> branch_throws() {
    co_await with_scope([](co_scope<>& branches) -> co_task<> {
        branches.fork(rest_then_fail("a branch"));
        co_return;
    });
}

TEST(with_scope, throws_what_a_branch_throws) {
    running_pool pool(1);
    EXPECT_THROW(sync_wait(pool, branch_throws()), std::runtime_error);
    EXPECT_EQ(pool.report().lost_exceptions, 0U);
}

co_task<> body_throws(std::atomic<int>& ran) {
    co_await with_scope([&](co_scope<>& branches) -> co_task<> {
        for (int i = 0; i != 10; ++i)
            branches.fork([](std::atomic<int>& n) -> co_task<> {
                co_await yield_turn();
                ++n;
            }(ran));
        co_await yield_turn();
        throw std::runtime_error("the body");
    });
}

TEST(with_scope, joins_its_branches_although_the_body_throws) {
    for (const unsigned workers : {1U, 3U}) {
        std::atomic<int> ran = 0;
        running_pool pool(workers);
        EXPECT_THROW(sync_wait(pool, body_throws(ran)), std::runtime_error);
        EXPECT_EQ(ran, 10);
    }
}

co_task<> spawns_and_forks_lambdas(running_pool& pool, std::atomic<int>& sum) {
    co_await with_scope([&](co_scope<>& branches) -> co_task<> {
        for (const int n : {1, 2}) {
            const auto adds = [&sum, kept = std::make_shared<int>(n)]() -> co_task<> {
                co_await yield_turn();
                sum += *kept;
            };
            branches.fork(adds);
            EXPECT_TRUE(pool.spawn(adds));
        }
        co_return;
    });
}

TEST(with_scope, lambdas_are_kept_with_what_they_have_captured) {
    std::atomic<int> sum = 0;
    running_pool pool(1);
    sync_wait(pool, spawns_and_forks_lambdas(pool, sum));
    pool.stop();
    EXPECT_EQ(sum, 6);
}

struct notes_its_end {
    bool& gone;
    ~notes_its_end() { gone = true; }
};
co_task<> counts(std::atomic<int>& ran) {
    ++ran;
    co_return;
}
co_task<> joins_in_the_body(std::atomic<int>& ran, int& at_the_join, bool& gone) {
    co_await with_scope([&](co_scope<>& branches) -> co_task<> {
        const notes_its_end local{gone};
        branches.fork(counts(ran));
        co_await branches.join();
        at_the_join = ran;
        branches.fork(counts(ran));
    });
}

TEST(with_scope, its_body_may_join_and_fork_again) {
    for (const unsigned workers : {1U, 3U}) {
        std::atomic<int> ran = 0;
        int at_the_join = 0;
        bool gone = false;
        running_pool pool(workers);
        sync_wait(pool, joins_in_the_body(ran, at_the_join, gone));
        EXPECT_EQ(at_the_join, 1);
        EXPECT_EQ(ran, 2);
        EXPECT_TRUE(gone) << "the frame of the body";
    }
}

co_task<> leaves_its_branches() {
    co_scope<> branches(co_await this_frame());
    branches.fork(rest_then_fail("never"));
}

TEST(co_scope, destroyed_with_branches_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            running_pool pool(1);
            sync_wait(pool, leaves_its_branches());
        },
        "destroyed with branches");
}

TEST(co_outcome, take_throws_where_there_is_nothing) {
    co_outcome<int> number_to_come;
    EXPECT_THROW((void)number_to_come.take(), std::logic_error);
    co_outcome<void> nothing_to_come;
    EXPECT_THROW((void)nothing_to_come.take_value(), std::logic_error);
}

TEST(co_outcome, an_exception_goes_with_it) {
    const auto kept = std::make_shared<int>(1);
    {
        co_outcome<int> failed;
        failed.fail(std::make_exception_ptr(kept));
        EXPECT_EQ(kept.use_count(), 2);
    }
    EXPECT_EQ(kept.use_count(), 1);
}

co_task<> forks_twice_into(co_outcome<std::string>& out, bool& refused) {
    co_scope<> branches(co_await this_frame());
    branches.fork(text(), out);
    try {
        branches.fork(text(), out);
    } catch (const std::logic_error&) {
        refused = true;
    }
    co_await branches.join();
    EXPECT_THROW(branches.fork(text(), out), std::logic_error) << "a result lies there";
    co_await branches.join();
}

TEST(co_scope, a_second_fork_into_an_outcome_is_refused_and_the_first_goes_on) {
    bool refused = false;
    co_outcome<std::string> out;
    running_pool pool(1);
    sync_wait(pool, forks_twice_into(out, refused));
    EXPECT_TRUE(refused);
    EXPECT_EQ(out.take(), "text");
}

co_task<> forks_an_empty_task_into(co_outcome<std::string>& out, bool& refused) {
    co_scope<> branches(co_await this_frame());
    try {
        branches.fork(co_task<std::string>(), out);
    } catch (const std::logic_error&) {
        refused = true;
    }
    branches.fork(text(), out);
    co_await branches.join();
}

TEST(co_scope, an_outcome_can_be_forked_into_behind_an_empty_task) {
    bool refused = false;
    co_outcome<std::string> out;
    running_pool pool(1);
    sync_wait(pool, forks_an_empty_task_into(out, refused));
    EXPECT_TRUE(refused);
    EXPECT_EQ(out.take(), "text");
}

struct throws_when_it_goes {
    ~throws_when_it_goes() noexcept(false) { throw std::runtime_error("a destructor"); }
};
using counted = std::shared_ptr<int>;
co_task<counted> fails_behind_its_result(counted result) {
    const throws_when_it_goes local;
    co_return counted(result);
}
co_task<counted> has_two_results(counted result) {
    try {
        const throws_when_it_goes local;
        co_return counted(result);
    } catch (const std::runtime_error&) {
    }
    co_return result;
}

TEST(co_outcome, what_comes_behind_a_value_takes_its_place) {
    const auto result = std::make_shared<int>(1);
    running_pool pool(1);
    EXPECT_THROW((void)sync_wait(pool, fails_behind_its_result(result)), std::runtime_error);
    EXPECT_EQ(result.use_count(), 1);
    EXPECT_EQ(sync_wait(pool, has_two_results(result)), result);
    EXPECT_EQ(result.use_count(), 1);
}

co_task<> empty_branch() {
    co_task<int> t = number(1);
    co_await std::move(t);
    co_await when_all(number(2), std::move(t));
}

TEST(when_all, an_empty_task_throws_before_any_branch_runs) {
    running_pool pool(1);
    EXPECT_THROW(sync_wait(pool, empty_branch()), std::logic_error);
}

co_task<> awaits_twice(int& sum) {
    auto both = when_all(number(1), number(2));
    const auto [one, two] = co_await both;
    sum = one + two;
    (void)co_await both;
}

TEST(when_all, is_awaited_once) {
    int sum = 0;
    running_pool pool(1);
    EXPECT_THROW(sync_wait(pool, awaits_twice(sum)), std::logic_error);
    EXPECT_EQ(sum, 3);
}

co_task<> keeps(std::shared_ptr<int>) { co_return; }
co_task<> never_awaits(std::shared_ptr<int> kept, bool& all_there) {
    [[maybe_unused]] const auto branches = when_all(keeps(kept), keeps(kept));
    all_there = kept.use_count() == 4;
    co_return;
}

TEST(when_all, that_nobody_awaits_takes_its_branches_with_it) {
    const auto kept = std::make_shared<int>(1);
    bool all_there = false;
    running_pool pool(1);
    sync_wait(pool, never_awaits(kept, all_there));
    EXPECT_TRUE(all_there);
    EXPECT_EQ(kept.use_count(), 1);
}

TEST(when_all, several_roots_at_a_time_from_several_threads) {
    running_pool pool(3);
    std::vector<std::thread> callers;
    std::atomic<int> right = 0;
    for (int i = 0; i != 3; ++i)
        callers.emplace_back([&] {
            for (int k = 0; k != 20; ++k)
                if (sync_wait(pool, fib_with_rests(13)) == 233U) ++right;
        });
    for (std::thread& t : callers) t.join();
    EXPECT_EQ(right, 60);
}

}  // namespace
}  // namespace when_all_test
