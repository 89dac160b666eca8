// parallel_inclusive_scan, parallel_exclusive_scan: every prefix, in order, in place or elsewhere; what exceptions and
// stops leave behind.
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/scan.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace fork_join_scan_test {
namespace {

using apiary::comes_true;
using apiary::fork_join_pool;
using apiary::parallel_exclusive_scan;
using apiary::parallel_inclusive_scan;
using context = fork_join_pool::context;

// x -> a·x + b modulo 2^64, one after the other: associative, and not commutative.
struct line {
    std::uint64_t a = 1, b = 0;
    bool operator==(const line&) const = default;
};
constexpr auto then = [](const line& f, const line& g) { return line{f.a * g.a, f.b * g.a + g.b}; };

std::vector<line> lines(std::size_t n) {
    std::vector<line> all(n);
    for (std::size_t i = 0; i != n; ++i) all[i] = {2 * i + 3, i * i + 1};
    return all;
}
// By the definition, one element after the other.
template <bool inclusive, class T, class Combine>
std::vector<T> expected(const std::vector<T>& all, T before, Combine combine) {
    std::vector<T> out;
    for (const T& x : all) {
        if (!inclusive) out.push_back(before);
        before = combine(before, x);
        if (inclusive) out.push_back(before);
    }
    return out;
}
// One kind of combination, so that these tests compile two scans of lines and no more.
using combination = std::function<line(const line&, const line&)>;
template <bool inclusive>
bool scan(context& w, std::span<const line> in, std::vector<line>& out, line init, const combination& combine,
          const apiary::loop_options& options) {
    const line *const first = in.data(), *const last = first + in.size();
    if constexpr (inclusive)
        return parallel_inclusive_scan(w, first, last, out.data(), init, combine, options);
    else
        return parallel_exclusive_scan(w, first, last, out.data(), init, combine, options);
}

template <bool inclusive>
void gives_each_prefix() {
    constexpr line init{5, 7};  // no identity
    for (const unsigned workers : {1U, 4U}) {
        fork_join_pool pool({.workers = workers});
        for (const std::size_t n : {0U, 1U, 2U, 17U, 1000U, 30'000U, 200'000U})
            for (const std::size_t grain : {0U, 1U, 1'000'000U}) {
                if (grain == 1 && n > 1000) continue;
                const auto in = lines(n);
                const auto right = expected<inclusive>(in, init, then);
                std::vector<line> out(n);
                auto place = in;
                pool.run([&](context& w) {
                    const apiary::loop_options by{.grain = grain};
                    EXPECT_TRUE(scan<inclusive>(w, in, out, init, then, by));
                    EXPECT_TRUE(scan<inclusive>(w, place, place, init, then, by));
                });
                ASSERT_EQ(out, right) << n << ", grain " << grain;
                ASSERT_EQ(place, right) << n << " in place, grain " << grain;
            }
    }
}
TEST(parallel_scan, gives_each_prefix) {
    gives_each_prefix<true>();
    gives_each_prefix<false>();
}

TEST(parallel_scan, takes_any_range_of_results_in_memory) {
    fork_join_pool pool({.workers = 3});
    const std::vector<std::string> letters{"a", "b", "c", "d", "e"};
    std::deque<std::string> out(5);
    pool.run([&](context& w) {
        const auto append = [&](auto first, auto last) {
            return parallel_inclusive_scan(w, first, last, out.begin(), std::string("-"), std::plus<>(), {.grain = 1});
        };
        EXPECT_TRUE(append(letters.begin(), letters.end()));
        EXPECT_TRUE(append(letters.end(), letters.begin()));
        EXPECT_TRUE(append(letters.begin(), letters.begin()));
    });
    EXPECT_EQ(out, (std::deque<std::string>{"-a", "-ab", "-abc", "-abcd", "-abcde"}))
        << "and reversed ranges are empty";
}
template <class In, class Out>
constexpr bool can_scan = requires(context& w, In in, Out out) {
    parallel_inclusive_scan(w, in, in, out, 0UL, std::plus<>());
    parallel_exclusive_scan(w, in, in, out, 0UL, std::plus<>());
};
using beyond_64_bits = decltype(std::views::iota(std::uint64_t{0}, UINT64_MAX).begin());
static_assert(can_scan<const int*, long*> && !can_scan<int*, const int*> && !can_scan<beyond_64_bits, long*> &&
              !can_scan<int*, std::vector<bool>::iterator>);
// Nor one whose results are made of inputs by an explicit constructor, as a vector of so many zeros is.
using bag = std::vector<std::size_t>;
template <class Combine>
constexpr bool can_collect =
    requires(context& w, std::size_t* in, bag* out, Combine c) { parallel_inclusive_scan(w, in, in, out, bag(), c); };
static_assert(!can_collect<decltype([](bag b, const auto&) { return b; })>);

// The owner is at its first block when the thief is awaited.
template <bool inclusive>
void divides() {
    fork_join_pool pool({.workers = 2});
    const auto in = lines(1000);
    std::vector<line> out(1000);
    pool.run([&](context& w) {
        while (!w.asked()) std::this_thread::yield();
        const auto owner = std::this_thread::get_id();
        std::atomic<bool> helped = false;
        std::uint64_t turns = 0;
        const auto combine = [&](const line& f, const line& g) {
            if (std::this_thread::get_id() != owner) helped = true;
            if (!helped && ++turns == 50) {
                EXPECT_TRUE(comes_true([&] { return helped.load(); }));
            }
            return then(f, g);
        };
        EXPECT_TRUE(scan<inclusive>(w, in, out, line{}, combine, {.grain = 10}));
    });
    EXPECT_EQ(out, expected<inclusive>(in, line{}, then));
}
TEST(parallel_scan, divides_for_a_worker_that_is_idle) {
    divides<true>();
    divides<false>();
}

TEST(parallel_scan, makes_one_pass_where_nobody_helps) {
    fork_join_pool pool({.workers = 1});
    const auto in = lines(50'000);
    std::uint64_t turns = 0;
    std::vector<line> out(in.size());
    const auto combine = [&](const line& f, const line& g) { return ++turns, then(f, g); };
    // Every worker begins with a request. Nobody comes: the blocks are its own again, and their prefixes known.
    for (const bool asked : {true, false}) {
        turns = 0;
        pool.run([&](context& w) {
            EXPECT_EQ(w.asked(), asked);
            EXPECT_TRUE(scan<true>(w, in, out, line{}, combine, {}));
        });
        EXPECT_EQ(turns, in.size());
        EXPECT_EQ(out, expected<true>(in, line{}, then));
    }
}

// A sum that counts how often one is made of another, or set to it.
struct counted_sum {
    std::uint64_t value = 0;
    static inline std::uint64_t moved = 0;

    explicit counted_sum(std::uint64_t v = 0) : value(v) {}
    counted_sum(const counted_sum& other) : value(other.value) { ++moved; }
    counted_sum& operator=(const counted_sum& other) {
        value = other.value;
        ++moved;
        return *this;
    }
};

// On one worker, to which another seems to ask at each combination (`hungry`): so what can be divided is, and the
// worker takes all back. Each number is the same in each run; a block, a fork or a look at the stop more or less shows.
TEST(parallel_scan, takes_so_many_steps_and_no_more_once_a_stop_is_requested) {
    struct row {
        std::size_t n, grain;
        bool hungry;
        std::uint64_t until;  // a stop is requested at this combination; 0: none
        std::uint64_t combined, moved, handed_out;
    };
    const row rows[] = {
        {1700, 10, true, 0, 1700, 3472, 5},         {1700, 10, false, 0, 1700, 3913, 0},
        {1701, 10, true, 0, 1701, 3477, 5},         {1720, 20, true, 0, 1720, 3515, 5},
        {100, 100, true, 0, 100, 206, 0},           {101, 100, true, 0, 101, 213, 0},
        {200, 100, true, 0, 200, 412, 1},           {300, 100, true, 0, 300, 616, 3},
        {170'000, 0, true, 0, 170'000, 340'072, 5}, {1700, 10, true, 1, 100, 206, 1},
        {1700, 10, true, 50, 100, 206, 1},          {1700, 10, true, 100, 100, 206, 1},
        {1700, 10, true, 150, 200, 409, 1},         {1700, 10, true, 750, 800, 1627, 1},
        {1700, 10, true, 1500, 1500, 3048, 4},      {1700, 10, true, 1600, 1600, 3268, 4},
        {1700, 10, true, 1601, 1700, 3471, 5},      {1700, 10, true, 1700, 1700, 3471, 5},
        {1000, 10, false, 55, 60, 141, 0},
    };
    for (const row& r : rows) {
        fork_join_pool pool({.workers = 1});
        std::vector<counted_sum> in(r.n, counted_sum(1)), out(r.n);
        std::stop_source stop;
        std::uint64_t combined = 0, moved = 0, handed_out = 0;
        bool whole = false;
        pool.run([&](context& w) {
            apiary::fork_join(w, [] {}, [] {});  // answers the request that every worker begins with
            const auto combine = [&](const counted_sum& a, const counted_sum& b) {
                if (r.hungry) w.jobs().ask();
                if (++combined == r.until) stop.request_stop();
                return counted_sum(a.value + b.value);
            };
            if (r.hungry) w.jobs().ask();
            const std::uint64_t before = w.handed_out();
            counted_sum::moved = 0;
            whole = parallel_inclusive_scan(w, in.data(), in.data() + r.n, out.data(), counted_sum(), combine,
                                            {.grain = r.grain, .stop = stop.get_token()});
            moved = counted_sum::moved;
            handed_out = w.handed_out() - before;
        });
        std::size_t written = 0;
        while (written != r.n && out[written].value == written + 1) ++written;
        EXPECT_EQ(whole, r.until == 0) << "stopped at " << r.until;
        EXPECT_TRUE(!whole || written == r.n);
        EXPECT_EQ(combined, r.combined) << r.n << " stopped at " << r.until;
        EXPECT_EQ(moved, r.moved) << r.n << " stopped at " << r.until;
        EXPECT_EQ(handed_out, r.handed_out) << r.n << " stopped at " << r.until;
    }
}

// Ended at any turn of combine, by an exception or a stop, each output has its last value or the one from before.
template <bool inclusive>
void leaves_each_output_old_or_new(bool in_place, bool throws) {
    constexpr std::size_t n = 5000;
    const auto in = lines(n);
    const auto right = expected<inclusive>(in, line{}, then);
    for (const unsigned workers : {1U, 3U}) {
        fork_join_pool pool({.workers = workers});
        for (std::int64_t at = 1; at < static_cast<std::int64_t>(n); at += at / 3 + 1) {
            auto out = in_place ? in : std::vector<line>(n, line{0, 0});
            const auto old = out;
            const std::span<const line> from = in_place ? out : in;
            std::atomic<std::int64_t> left = at;
            std::stop_source stop;
            const auto combine = [&](const line& f, const line& g) {
                if (left.fetch_sub(1, std::memory_order_relaxed) == 1) {
                    if (throws) throw std::runtime_error("combine");
                    stop.request_stop();
                }
                return then(f, g);
            };
            const auto run = [&](context& w) {
                return scan<inclusive>(w, from, out, line{}, combine, {.grain = 16, .stop = stop.get_token()});
            };
            if (throws) {
                EXPECT_THROW(pool.run(run), std::runtime_error);
            } else {
                EXPECT_EQ(pool.run(run), out == right);
                if (workers == 1 && at < static_cast<std::int64_t>(n) / 2) {
                    EXPECT_NE(out, right) << "stopped at " << at;
                }
            }
            for (std::size_t i = 0; i != n; ++i)
                ASSERT_TRUE(out[i] == right[i] || out[i] == old[i]) << i << ", at " << at;
        }
    }
}
TEST(parallel_scan, leaves_each_output_old_or_new_after_an_exception) {
    leaves_each_output_old_or_new<true>(true, true);
    leaves_each_output_old_or_new<false>(true, true);
    leaves_each_output_old_or_new<false>(false, true);
}
TEST(parallel_scan, leaves_each_output_old_or_new_after_a_stop) {
    leaves_each_output_old_or_new<true>(true, false);
    leaves_each_output_old_or_new<false>(false, false);
}
TEST(parallel_scan, begins_nothing_after_a_stop) {
    fork_join_pool pool({.workers = 2});
    std::stop_source stop;
    stop.request_stop();
    std::vector<line> out(1), none;
    pool.run([&](context& w) {
        const auto never = [](const line& f, const line&) { return ADD_FAILURE(), f; };
        EXPECT_FALSE(scan<true>(w, lines(1), out, line{}, never, {.stop = stop.get_token()}));
        EXPECT_TRUE(scan<true>(w, none, none, line{}, never, {.stop = stop.get_token()})) << "nothing is left out";
    });
}

TEST(parallel_scan, throws_where_no_stack_is_left) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    fork_join_pool pool({.workers = 1, .stack_reserve = std::size_t{1} << 40});
    const auto in = lines(5000), right = expected<true>(in, line{}, then);
    auto out = in;
    EXPECT_THROW(pool.run([&](context& w) { scan<true>(w, out, out, line{}, then, {}); }), apiary::fork_too_deep);
    for (std::size_t i = 0; i != in.size(); ++i) ASSERT_TRUE(out[i] == in[i] || out[i] == right[i]);
}

TEST(parallel_scan, nests_and_is_called_by_many) {
    fork_join_pool pool({.workers = 2, .callers = 1});
    const auto in = lines(2000), right = expected<false>(in, line{}, then);
    // An operation that scans.
    const auto combine = [&](const line& f, const line& g) {
        if (f.b % 64 != 0) return then(f, g);
        std::vector<line> two{f, g};
        pool.run([&](context& w) { scan<true>(w, two, two, line{}, then, {.grain = 1}); });
        return two[1];
    };
    const auto scan_many = [&] {
        pool.run([&](context& w) {
            const auto body = [&](context& v, int) {
                std::vector<line> out(in.size());
                EXPECT_TRUE(scan<false>(v, in, out, line{}, combine, {.grain = 50}));
                EXPECT_EQ(out, right);
            };
            apiary::parallel_for(w, 0, 20, body, {.grain = 1});
        });
    };
    std::jthread other(scan_many);
    scan_many();
}

}  // namespace
}  // namespace fork_join_scan_test
