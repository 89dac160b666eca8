// parallel_for and parallel_reduce: every index once, divided where a worker is idle; grains, bounds, exceptions,
// stops.
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace fork_join_parallel_test {
namespace {

using apiary::comes_true;
using apiary::fork_join_pool;
using apiary::parallel_for;
using apiary::parallel_reduce;
using context = fork_join_pool::context;

TEST(parallel_for, gives_every_index_one_turn) {
    fork_join_pool pool({.workers = 4});
    for (const std::size_t grain : {0U, 1U, 3U, 1000U, 1'000'000U}) {
        constexpr std::size_t n = 10'000;
        const auto turns = std::make_unique<std::atomic<int>[]>(n);
        EXPECT_TRUE(pool.run(
            [&](context& w) { return parallel_for(w, 0U, n, [&](std::size_t i) { ++turns[i]; }, {.grain = grain}); }));
        for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(turns[i], 1) << i << ", grain " << grain;
    }
}

TEST(parallel_for, goes_in_order_where_nobody_helps) {
    fork_join_pool pool({.workers = 1});
    std::vector<int> seen;
    pool.run([&](context& w) { parallel_for(w, -3, 3, [&](int i) { seen.push_back(i); }); });
    EXPECT_EQ(seen, (std::vector<int>{-3, -2, -1, 0, 1, 2}));
}

// A fork leaves a job in the worker's list while its first branch runs.
TEST(parallel_for, divides_nothing_that_nobody_has_asked_for) {
    fork_join_pool pool({.workers = 1});
    pool.run([](context& w) {
        fork_join(w, [] {}, [] {});  // answers the request that every worker begins with
        apiary::parallel_for(w, 0, 100, [](context& v, int) { EXPECT_TRUE(v.jobs().empty()); }, {.grain = 1});
        const auto map = [](context& v, int i) {
            EXPECT_TRUE(v.jobs().empty());
            return i;
        };
        EXPECT_EQ(apiary::parallel_reduce(w, 0, 100, 0, map, std::plus<>(), 1), 4950);
    });
}

TEST(parallel_for, looks_as_often_as_the_grain_says) {
    const auto chunk = [](int n, std::size_t grain, unsigned workers) {
        return apiary::detail::chunk_of(apiary::detail::loop_range<int>{0, n}, grain, workers);
    };
    EXPECT_EQ(chunk(100, 0, 2), 1U) << "behind every index of a short loop";
    EXPECT_EQ(chunk(255, 0, 2), 1U);
    EXPECT_EQ(chunk(256, 0, 2), 2U);
    EXPECT_EQ(chunk(1280, 0, 2), 10U);
    EXPECT_EQ(chunk(10'000'000, 0, 2), 1024U);
    EXPECT_EQ(chunk(100, 7, 2), 7U);
    EXPECT_EQ(chunk(0, 0, 2), 1U);
    EXPECT_EQ((apiary::detail::loop_range<int>{5, 5}.size()), 0U);
    EXPECT_EQ((apiary::detail::loop_range<int>{5, 4}.size()), 0U);
}

TEST(parallel_for, of_an_empty_range_does_nothing) {
    fork_join_pool pool({.workers = 2});
    pool.run([&](context& w) {
        EXPECT_TRUE(parallel_for(w, 0, 0, [](int) { ADD_FAILURE(); }));
        EXPECT_TRUE(parallel_for(w, 5, -5, [](int) { ADD_FAILURE(); }, {.grain = 1}));
        EXPECT_EQ(parallel_reduce(w, 7U, 7U, 42, [](unsigned) { return 1; }, std::plus<>()), 42);
        EXPECT_EQ(parallel_reduce(w, 5, -5, 42, [](int) { return 1; }, std::plus<>()), 42);
    });
}

template <class First, class Last>
constexpr bool can_be_bounds = requires(context& w, First first, Last last, void (&body)(long), long (&map)(long)) {
    parallel_for(w, first, last, body);
    parallel_reduce(w, first, last, 0L, map, std::plus<>());
};
static_assert(can_be_bounds<int, std::size_t> && !can_be_bounds<double, double> && !can_be_bounds<bool, int>);

// As unsigned numbers, -5 is above 5.
TEST(parallel_for, refuses_a_negative_bound_beside_an_unsigned_one) {
    fork_join_pool pool({.workers = 2});
    pool.run([&](context& w) {
        const auto no_turn = [](auto) { ADD_FAILURE(); };
        EXPECT_THROW(parallel_for(w, -5, 5U, no_turn), std::invalid_argument);
        EXPECT_THROW(parallel_for(w, std::size_t{5}, -5, no_turn), std::invalid_argument);
        const auto none = [](auto) { return 1; };
        EXPECT_THROW(parallel_reduce(w, -5, 5U, 0, none, std::plus<>()), std::invalid_argument);
        const std::vector<int> all(1000, 1);
        EXPECT_EQ(parallel_reduce(w, 0, all.size(), 0, [&](std::size_t i) { return all[i]; }, std::plus<>()), 1000);
        EXPECT_EQ(parallel_reduce(w, -500, 500L, 0, [](std::int64_t) { return 1; }, std::plus<>()), 1000);
    });
}

TEST(parallel_for, knows_the_ends_of_its_type) {
    fork_join_pool pool({.workers = 2});
    pool.run([&](context& w) {
        std::atomic<int> turns = 0;
        parallel_for(w, INT64_MAX - 5, INT64_MAX, [&](std::int64_t) { ++turns; }, {.grain = 1});
        parallel_for(w, static_cast<std::int8_t>(-128), static_cast<std::int8_t>(127), [&](std::int8_t) { ++turns; });
        EXPECT_EQ(turns, 5 + 255);
    });
}

// Nobody ends such a loop: it stops when it has been divided and both halves have begun.
TEST(parallel_for, divides_a_range_of_more_than_2_to_the_63_indices) {
    constexpr apiary::detail::loop_range<std::int64_t> all{INT64_MIN, INT64_MAX};
    EXPECT_EQ(all.size(), UINT64_MAX);
    EXPECT_EQ(all.front(all.size() / 2).last, -1);
    fork_join_pool pool({.workers = 2});
    std::stop_source stop;
    std::atomic<bool> lower = false, upper = false;
    EXPECT_FALSE(pool.run([&](context& w) {
        return parallel_for(w, all.first, all.last,
                            [&](std::int64_t i) {
                                (i < -1 ? lower : upper) = true;
                                if (lower && upper) stop.request_stop();
                            },
                            {.stop = stop.get_token()});
    }));
    EXPECT_TRUE(lower && upper);
}

// It stops when both halves have begun, and has no sum to give.
TEST(parallel_reduce, divides_a_range_of_more_than_2_to_the_63_indices) {
    fork_join_pool pool({.workers = 2});
    std::stop_source stop;
    std::atomic<bool> lower = false, upper = false;
    const auto sum = pool.run([&](context& w) {
        return parallel_reduce(w, std::uint64_t{0}, UINT64_MAX, 0,
                               [&](std::uint64_t i) {
                                   (i < UINT64_MAX / 2 ? lower : upper) = true;
                                   if (lower && upper) stop.request_stop();
                                   return 0;
                               },
                               std::plus<>(), {.stop = stop.get_token()});
    });
    EXPECT_EQ(sum, std::nullopt);
    EXPECT_TRUE(lower && upper);
}

// The first index ends only when the last has begun: the loop is divided between two chunks, for the worker that is
// idle.
TEST(parallel_for, divides_a_loop_that_is_under_way) {
    fork_join_pool pool({.workers = 2});
    for (int run = 0; run != 20; ++run) {
        std::atomic<bool> last_began = false;
        pool.run([&](context& w) {
            parallel_for(w, 0, 100,
                         [&](context& v, int i) {
                             if (i == 99) last_began = true;
                             if (i == 0)
                                 while (!v.asked()) std::this_thread::yield();
                             if (i == 1)
                                 while (!last_began) std::this_thread::yield();
                         },
                         {.grain = 1});
        });
    }
    EXPECT_GE(pool.counters().stolen, 20U);
}

// A caller in a seat is asked before its first fork, and answers with none here.
TEST(parallel_for, divides_nothing_that_is_no_more_than_its_grain) {
    fork_join_pool pool({.workers = 1, .callers = 1});
    std::atomic<int> turns = 0;
    pool.run([&](context& w) {
        EXPECT_TRUE(w.asked());
        EXPECT_TRUE(parallel_for(w, 0, 4, [&](int) { ++turns; }, {.grain = 4}));
        EXPECT_EQ(parallel_reduce(w, 0, 4, 0, [](int i) { return i; }, std::plus<>(), 4), 6);
    });
    EXPECT_EQ(turns, 4);
    EXPECT_EQ(pool.counters().handed_out, 0U);
}

TEST(parallel_reduce, keeps_the_order_of_its_parts) {
    fork_join_pool pool({.workers = 4});
    std::string expected;
    for (int i = 0; i != 500; ++i) expected += std::to_string(i) + ' ';
    for (const std::size_t grain : {0U, 1U, 7U})
        for (int run = 0; run != 20; ++run)
            ASSERT_EQ(pool.run([&](context& w) {
                return parallel_reduce(
                    w, 0, 500, std::string(),
                    [](int i) {
                        if (i % 50 == 0) std::this_thread::yield();
                        return std::to_string(i) + ' ';
                    },
                    std::plus<>(), grain);
            }),
                      expected);
}

TEST(parallel_for, lets_an_exception_out_when_all_that_began_is_over) {
    fork_join_pool pool({.workers = 4});
    for (int run = 0; run != 50; ++run) {
        std::atomic<int> inside = 0;
        EXPECT_THROW(pool.run([&](context& w) {
            parallel_for(w, 0, 300,
                         [&](int i) {
                             ++inside;
                             std::this_thread::yield();
                             --inside;
                             if (i % 100 == 50) throw std::runtime_error("iteration");
                         },
                         {.grain = 1});
        }),
                     std::runtime_error);
        ASSERT_EQ(inside, 0);
    }
}

// Indices of a loop that is divided between two workers, the first of each half at the same time. One of the two
// throws; the other goes on only when the thrower's worker sleeps, which is after all that it does about the
// exception.
struct thrown_beside_another_half {
    static constexpr int indices = 10'000;
    fork_join_pool pool{{.workers = 2, .linger_ns = 0}};
    std::atomic<bool> threw = false, other_began = false;
    std::atomic<int> turns = 0;

    void turn(int i, bool owner_throws) {
        ++turns;
        const int thrower = owner_throws ? 0 : indices / 2, other = indices / 2 - thrower;
        if (i == thrower) {
            while (!other_began) std::this_thread::yield();
            threw = true;
            throw std::runtime_error("iteration");
        }
        if (i == other) {
            other_began = true;
            while (!threw) std::this_thread::yield();
            EXPECT_TRUE(comes_true([&] { return owner_throws ? pool.counters().slept != 0 : pool.somebody_sleeps(); }));
        }
    }
    template <class Loop>
    void run(Loop loop) {
        EXPECT_THROW(pool.run([&](context& w) {
            while (!w.asked()) std::this_thread::yield();
            loop(w);
        }),
                     std::runtime_error);
        EXPECT_EQ(turns, 2) << "one began after the exception";
        EXPECT_EQ(pool.counters().lost_exceptions, 0U);
    }
};

TEST(parallel_for, begins_no_chunk_behind_an_exception_of_either_half) {
    for (int run = 0; run != 20; ++run) {
        thrown_beside_another_half of;
        of.run([&](context& w) {
            parallel_for(w, 0, of.indices, [&](int i) { of.turn(i, run % 2 == 0); }, {.grain = 1});
        });
    }
}

TEST(parallel_reduce, begins_no_chunk_behind_an_exception_of_either_half) {
    for (int run = 0; run != 20; ++run) {
        thrown_beside_another_half of;
        of.run([&](context& w) {
            (void)parallel_reduce(
                w, 0, of.indices, 0, [&](int i) { return of.turn(i, run % 2 == 0), i; }, std::plus<>(), 1);
        });
    }
}

TEST(parallel_for, begins_no_chunk_behind_a_stop) {
    fork_join_pool pool({.workers = 3});
    std::stop_source stop;
    std::atomic<int> turns = 0;
    const bool whole = pool.run([&](context& w) {
        return parallel_for(w, 0, 1'000'000,
                            [&](int i) {
                                ++turns;
                                if (i == 10) stop.request_stop();
                            },
                            {.grain = 1, .stop = stop.get_token()});
    });
    EXPECT_FALSE(whole);
    EXPECT_LT(turns, 1'000'000);
    const bool any = pool.run([&](context& w) {
        return parallel_for(w, 0, 10, [](int) { ADD_FAILURE() << "began after the stop"; },
                            {.stop = stop.get_token()});
    });
    EXPECT_FALSE(any);
    EXPECT_TRUE(pool.run([&](context& w) { return parallel_for(w, 0, 0, [](int) {}, {.stop = stop.get_token()}); }))
        << "nothing was left out";
}

// The thief's half is through when the stop comes: what is left out is in the other one.
TEST(parallel_for, says_of_a_stop_that_met_one_half_alone) {
    fork_join_pool pool({.workers = 2});
    for (int n = 0; n != 20; ++n) {
        std::stop_source stop;
        std::atomic<int> turns = 0;
        const bool whole = pool.run([&](context& w) {
            while (!w.asked()) std::this_thread::yield();
            return parallel_for(w, 0, 4,
                                [&](int i) {
                                    ++turns;
                                    while (i == 0 && turns < 3) std::this_thread::yield();
                                    if (i == 0) stop.request_stop();
                                },
                                {.grain = 1, .stop = stop.get_token()});
        });
        EXPECT_EQ(whole, turns == 4);
    }
}

TEST(parallel_reduce, gives_nothing_where_a_stop_left_something_out) {
    fork_join_pool pool({.workers = 1});
    std::stop_source stop;
    int turns = 0;
    const auto sum_of = [&](int n) {
        return pool.run([&, n](context& w) {
            return parallel_reduce(w, 0, n, 0,
                                   [&](int i) {
                                       ++turns;
                                       if (i == 5) stop.request_stop();
                                       return i;
                                   },
                                   std::plus<>(), {.grain = 2, .stop = stop.get_token()});
        });
    };
    EXPECT_EQ(sum_of(5), 10);
    EXPECT_EQ(turns, 5);
    EXPECT_EQ(sum_of(6), 15) << "the stop came when all had begun";
    turns = 0;
    EXPECT_EQ(sum_of(1), std::nullopt);
    EXPECT_EQ(turns, 0) << "began after the stop";
    EXPECT_EQ(sum_of(0), 0) << "nothing was left out";
}

// Either half may be the one that the stop meets; the other one's sum is not given out for the whole.
TEST(parallel_reduce, says_of_a_stop_that_met_one_half_alone) {
    fork_join_pool pool({.workers = 2});
    for (int n = 0; n != 40; ++n) {
        std::stop_source stop;
        std::atomic<int> turns = 0;
        const int stopper = n % 2 == 0 ? 0 : 2;  // the first index of the first half, or of the second
        const auto sum = pool.run([&](context& w) {
            while (!w.asked()) std::this_thread::yield();
            return parallel_reduce(w, 0, 4, 0,
                                   [&](int i) {
                                       ++turns;
                                       while (i == stopper && turns < 3) std::this_thread::yield();
                                       if (i == stopper) stop.request_stop();
                                       return i;
                                   },
                                   std::plus<>(), {.grain = 1, .stop = stop.get_token()});
        });
        EXPECT_EQ(sum.has_value(), turns == 4);
        EXPECT_EQ(sum.value_or(6), 6);
    }
}

TEST(parallel_for, nests) {
    fork_join_pool pool({.workers = 4});
    std::atomic<int> turns = 0;
    pool.run([&](context& w) {
        parallel_for(w, 0, 30, [&](context& v, int) { parallel_for(v, 0, 30, [&](int) { ++turns; }, {.grain = 1}); },
                     {.grain = 1});
    });
    EXPECT_EQ(turns, 900);
}

}  // namespace
}  // namespace fork_join_parallel_test
