// Exceptions of children, and parallel_for: what it covers, what travels out of it, what it answers to bad input.
#include <apiary/schedulers/global_queue/parallel_for.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace global_queue_throws_test {
namespace {

using apiary::global_queue;
using apiary::parallel_for;
using apiary::stop_mode;
using scope = global_queue::task_scope;

template <class F>
std::string thrown_by(F f) {
    try {
        f();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "nothing";
}

// After all have ended.
apiary::stop_report report_of(global_queue& q) {
    q.request_stop();
    q.run();
    return q.report();
}

TEST(global_queue_exceptions, the_first_of_the_children_travels_and_all_are_counted) {
    global_queue q({.workers = 1});
    scope s(q);
    int ran = 0;
    for (const char* what : {"first", "second", "third"})
        ASSERT_TRUE(s.run([&ran, what] {
            ++ran;
            throw std::runtime_error(what);
        }));
    EXPECT_EQ(thrown_by([&] { s.wait(); }), "first");
    EXPECT_EQ(ran, 3) << "the wait goes on until all have ended";
    EXPECT_EQ(thrown_by([&] { s.wait(); }), "nothing") << "it travels once";
    EXPECT_EQ(report_of(q).exceptions, 3U);
}

// Until then its worker would keep it, asleep.
TEST(global_queue_exceptions, those_that_do_not_travel_have_ended_before_their_tasks) {
    global_queue q({.workers = 1});
    q.start();
    int alive = 0;  // the caller may destroy it after the wait
    struct counted {
        std::shared_ptr<int> until_the_end;
    };
    for (int round = 0; round < 10; ++round) {
        scope s(q);
        std::atomic<int> ran{0};
        for (int i = 0; i < 3; ++i)
            ASSERT_TRUE(s.run([&] {
                ++ran;
                throw counted{std::shared_ptr<int>(&++alive, [](int* n) { --*n; })};
            }));
        while (ran != 3) std::this_thread::yield();
        EXPECT_THROW(s.wait(), counted);
        EXPECT_EQ(alive, 0) << "round " << round;
    }
}

TEST(global_queue_exceptions, that_of_a_grandchild_leaves_the_child_too) {
    global_queue q({.workers = 1});
    scope s(q);
    ASSERT_TRUE(s.run([&](scope& children) { ASSERT_TRUE(children.run([] { throw std::runtime_error("deep"); })); }));
    EXPECT_EQ(thrown_by([&] { s.wait(); }), "deep");
    EXPECT_EQ(report_of(q).exceptions, 2U) << "two tasks ended by it";
}

TEST(global_queue_exceptions, a_parent_may_catch_it) {
    global_queue q({.workers = 1});
    scope s(q);
    ASSERT_TRUE(s.run([&](scope& children) {
        ASSERT_TRUE(children.run([] { throw std::runtime_error("caught"); }));
        EXPECT_EQ(thrown_by([&] { children.wait(); }), "caught");
    }));
    EXPECT_EQ(thrown_by([&] { s.wait(); }), "nothing");
    EXPECT_EQ(report_of(q).exceptions, 1U);
}

TEST(global_queue_exceptions, of_a_parent_travels_when_its_children_have_ended) {
    global_queue q({.workers = 1});
    scope s(q);
    bool ended = false;
    ASSERT_TRUE(s.run([&](scope& children) {
        ASSERT_TRUE(children.run([&] {
            ended = true;
            throw std::runtime_error("child");
        }));
        throw std::runtime_error("parent");
    }));
    EXPECT_EQ(thrown_by([&] { s.wait(); }), "parent");
    EXPECT_TRUE(ended);
    EXPECT_EQ(report_of(q).exceptions, 2U);
}

TEST(global_queue_exceptions, nobody_waits_for_are_swallowed_and_freed) {
    const auto token = std::make_shared<int>(0);
    struct holds : std::runtime_error {
        std::shared_ptr<int> token;
        explicit holds(std::shared_ptr<int> t) : std::runtime_error("holds"), token(std::move(t)) {}
    };
    global_queue q({.workers = 1});
    {
        scope s(q);
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(s.run([&] { throw holds(token); }));
    }
    ASSERT_TRUE(q.post([&] { throw holds(token); }));
    EXPECT_EQ(thrown_by([&] { q.wait(); }), "nothing") << "a task without a scope tells nobody";
    EXPECT_EQ(report_of(q).exceptions, 3U);
    EXPECT_EQ(token.use_count(), 1);
}

TEST(global_queue_parallel_for, covers_its_range_once_in_chunks_of_the_grain) {
    global_queue q({.workers = 2});
    q.start();
    for (const std::size_t size : {1U, 2U, 9U, 10U, 11U, 1000U})
        for (const std::size_t grain : {1U, 3U, 10U, 5000U}) {
            std::vector<std::atomic<int>> seen(size);
            std::atomic<std::size_t> chunks{0};
            EXPECT_TRUE(parallel_for(q, 0, size,
                                     [&](std::size_t from, std::size_t to) {
                                         ++chunks;
                                         EXPECT_LT(from, to);
                                         EXPECT_LE(to - from, grain);
                                         for (std::size_t i = from; i != to; ++i) ++seen[i];
                                     },
                                     {.grain = grain}));
            for (const auto& n : seen) EXPECT_EQ(n, 1);
            EXPECT_EQ(chunks, (size + grain - 1) / grain);
        }
}

TEST(global_queue_parallel_for, a_body_may_change_the_index_that_it_is_given) {
    global_queue q({.workers = 1});
    std::atomic<int> calls{0};
    EXPECT_TRUE(parallel_for(q, 0, 100, [&](auto& i) {
        for (; i != 0; i /= 2) {}
        ++calls;
    }));
    EXPECT_EQ(calls, 100);
}

TEST(global_queue_parallel_for, goes_up_to_the_largest_index) {
    global_queue q({.workers = 1});
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t covered = 0;
    EXPECT_TRUE(parallel_for(q, most - 5, most, [&](std::uint64_t from, std::uint64_t to) { covered += to - from; },
                             {.grain = 4}));
    EXPECT_EQ(covered, 5U);
    covered = 0;
    EXPECT_TRUE(parallel_for(q, -3, 4, [&](int from, int to) { covered += static_cast<std::uint64_t>(to - from); },
                             {.grain = 2}));
    EXPECT_EQ(covered, 7U);
    covered = 0;
    EXPECT_TRUE(parallel_for(q, 0, 7, [&](int from, int to) { covered += static_cast<std::uint64_t>(to - from); },
                             {.grain = most}));
    EXPECT_EQ(covered, 7U) << "a grain above the range";
}

// More indices than the type has positive numbers.
TEST(global_queue_parallel_for, covers_the_whole_range_of_a_signed_type) {
    global_queue q({.workers = 1});
    q.start();
    std::atomic<std::uint64_t> covered{0}, chunks{0};
    const auto count = [&](auto from, auto to) {
        EXPECT_LT(from, to);
        covered += static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
        ++chunks;
    };
    EXPECT_TRUE(parallel_for(q, INT_MIN, INT_MAX, count, {.grain = 100'000'000}));
    EXPECT_EQ(covered, UINT32_MAX);
    EXPECT_EQ(chunks, 43U);
    covered = 0;
    EXPECT_TRUE(parallel_for(q, INT64_MIN, INT64_MAX, count, {.grain = std::size_t{1} << 60}));
    EXPECT_EQ(covered, UINT64_MAX);
    EXPECT_TRUE(parallel_for(q, static_cast<signed char>(-128), static_cast<signed char>(127), count, {.grain = 200}));
    EXPECT_EQ(covered, 254U);
}

TEST(global_queue_parallel_for, of_an_empty_range_does_nothing) {
    global_queue q({.workers = 1});
    const auto fails = [](int, int) { FAIL() << "nothing is in the range"; };
    for (const std::size_t grain : {0U, 1U, 3U}) EXPECT_TRUE(parallel_for(q, 5, 5, fails, {.grain = grain}));
    EXPECT_TRUE(parallel_for(q, 5, 4, fails)) << "a range that runs backwards is empty";
}

TEST(global_queue_parallel_for, without_a_grain_has_some_chunks_for_each_worker) {
    global_queue q({.workers = 3});
    for (const std::uint64_t size : {1U, 24U, 47U, 48U, 1000U, 1'000'003U}) {
        std::uint64_t chunks = 0, covered = 0;
        EXPECT_TRUE(parallel_for(q, 0, size, [&](std::uint64_t from, std::uint64_t to) {
            ++chunks;
            covered += to - from;
        }));
        EXPECT_EQ(covered, size);
        EXPECT_GE(chunks, std::min<std::uint64_t>(size, 24));
        EXPECT_LE(chunks, 48U);
    }
}

// Not of the type of its first bound: a literal 0 would cut the last one down to an int.
TEST(global_queue_parallel_for, has_an_index_of_the_common_type_of_its_bounds) {
    global_queue q({.workers = 1});
    std::uint64_t covered = 0;
    const auto count = [&](auto from, auto to) {
        static_assert(sizeof(from) == 8);
        covered += static_cast<std::uint64_t>(to - from);
    };
    EXPECT_TRUE(parallel_for(q, 0, std::size_t{3'000'000'000}, count));
    EXPECT_EQ(covered, 3'000'000'000U);
    covered = 0;
    EXPECT_TRUE(parallel_for(q, 0, (std::int64_t{1} << 32) + 10, count, {.grain = 1'000'000'000}));
    EXPECT_EQ(covered, (std::uint64_t{1} << 32) + 10);
    covered = 0;
    EXPECT_TRUE(parallel_for(q, -2'000'000'000, std::int64_t{2'000'000'000}, count));
    EXPECT_EQ(covered, 4'000'000'000U);
    const std::vector<int> all(1000, 1);
    int sum = 0;
    EXPECT_TRUE(parallel_for(q, 0, all.size(), [&](auto i) { sum += all[i]; }, {.grain = 7})) << "a body of an index";
    EXPECT_EQ(sum, 1000);
}

template <class First, class Last>
constexpr bool can_be_bounds =
    requires(global_queue& q, First first, Last last, void (&body)(long)) { (void)parallel_for(q, first, last, body); };
static_assert(can_be_bounds<int, std::size_t> && !can_be_bounds<double, double> && !can_be_bounds<int, bool>);

// As unsigned numbers, -5 is above 5.
TEST(global_queue_parallel_for, refuses_a_negative_bound_beside_an_unsigned_one) {
    global_queue q({.workers = 1});
    const auto no_turn = [](auto) { FAIL(); };
    EXPECT_THROW((void)parallel_for(q, -5, 5U, no_turn), std::invalid_argument);
    EXPECT_THROW((void)parallel_for(q, std::size_t{5}, -5, no_turn), std::invalid_argument);
    EXPECT_THROW((void)parallel_for(q, std::size_t{0}, std::int64_t{-1}, no_turn), std::invalid_argument);
}

TEST(global_queue_parallel_for, runs_inside_a_task) {
    global_queue q({.workers = 1});
    int sum = 0;
    ASSERT_TRUE(q.post([&] {
        EXPECT_TRUE(parallel_for(
            q, 0, 10,
            [&](int from, int to) { EXPECT_TRUE(parallel_for(q, from, to, [&](int i) { sum += i; }, {.grain = 1})); },
            {.grain = 3}));
        EXPECT_EQ(sum, 45);
    }));
    EXPECT_TRUE(q.wait());
    EXPECT_EQ(report_of(q).exceptions, 0U);
    EXPECT_EQ(sum, 45);
}

TEST(global_queue_parallel_for, lets_the_first_exception_out_when_all_chunks_have_ended) {
    global_queue q({.workers = 1});
    int ran = 0;
    EXPECT_EQ(thrown_by([&] {
                  (void)parallel_for(q, 0, 10,
                                     [&](int from, int) {
                                         ++ran;
                                         if (from % 4 == 1) throw std::runtime_error(std::to_string(from));
                                     },
                                     {.grain = 1});
              }),
              "1");
    EXPECT_EQ(ran, 10);
    EXPECT_EQ(report_of(q).exceptions, 3U);
}

TEST(global_queue_parallel_for, tells_of_a_stop) {
    global_queue q({.workers = 1});
    int ran = 0;
    EXPECT_FALSE(parallel_for(q, 0, 4,
                              [&](int from, int) {
                                  ++ran;
                                  if (from == 1) q.request_stop(stop_mode::discard);
                              },
                              {.grain = 1}));
    EXPECT_EQ(ran, 2) << "in order, as nobody else takes any";
    EXPECT_FALSE(parallel_for(q, 0, 4, [](int, int) { FAIL() << "refused tasks do not run"; }, {.grain = 1}));
    q.run();
    EXPECT_EQ(q.report().run, 2U);
    EXPECT_EQ(q.report().discarded, 2U);
    EXPECT_EQ(q.report().refused, 4U);
}

}  // namespace
}  // namespace global_queue_throws_test
