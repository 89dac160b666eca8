// parallel_sort on one worker, counted: comparisons and hand-outs are the same in each run, so a step at another
// threshold, a pivot from another place or a check that is missed shows in a number.
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/sort.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

namespace fork_join_sort_exact_test {
namespace {

using apiary::fork_join_pool;
using context = fork_join_pool::context;
using numbers = std::vector<std::uint64_t>;

numbers random_numbers(std::size_t n, std::uint64_t below) {
    std::mt19937_64 random(n);
    numbers all(n);
    for (auto& x : all) x = random() % below;
    return all;
}
numbers shuffled(std::size_t n) {
    numbers all(n);
    for (std::size_t i = 0; i != n; ++i) all[i] = i;
    std::mt19937_64 random(n);
    for (std::size_t i = n; i > 1; --i) std::swap(all[i - 1], all[random() % i]);
    return all;
}

// Not moved by copy.
struct heavy {
    std::uint64_t key = 0, rest[5] = {};
    static inline std::uint64_t moved = 0;

    heavy() = default;
    heavy(heavy&& other) noexcept : key(other.key) { ++moved; }
    heavy& operator=(heavy&& other) noexcept {
        key = other.key;
        ++moved;
        return *this;
    }
};
std::uint64_t key_of(std::uint64_t x) { return x; }
std::uint64_t key_of(const heavy& x) { return x.key; }

struct counts {
    std::uint64_t compared = 0, handed_out = 0;
    bool operator==(const counts&) const = default;
};
void PrintTo(const counts& c, std::ostream* to) { *to << "{" << c.compared << ", " << c.handed_out << "}"; }

template <class T>
using comparison = std::function<bool(const T&, const T&)>;

// `hungry`: at each comparison another worker seems to ask, so each fork is offered, and what can be divided is. The
// one worker takes all back. `until`: a stop is requested at this comparison.
struct how {
    bool hungry = false;
    std::uint64_t until = 0;
};
template <class T>
counts sort_alone(
    std::vector<T>& all, how options = {},
    const comparison<T>& less = [](const T& a, const T& b) { return key_of(a) < key_of(b); }) {
    fork_join_pool pool({.workers = 1});
    std::stop_source stop;
    counts seen;
    pool.run([&](context& w) {
        apiary::fork_join(w, [] {}, [] {});  // answers the request that every worker begins with
        const std::uint64_t before = w.handed_out();
        const comparison<T> counted = [&](const T& a, const T& b) {
            if (options.hungry) w.jobs().ask();
            if (++seen.compared == options.until) stop.request_stop();
            return less(a, b);
        };
        const bool whole = apiary::parallel_sort(w, all.data(), all.data() + all.size(), std::cref(counted),
                                                 {.stop = stop.get_token()});
        EXPECT_EQ(whole, std::is_sorted(all.begin(), all.end(), less)) << "stopped at " << options.until;
        seen.handed_out = w.handed_out() - before;
    });
    return seen;
}
template <class T>
counts sort_numbers(const numbers& keys, how options = {}) {
    std::vector<T> all(keys.size());
    for (std::size_t i = 0; i != keys.size(); ++i) {
        if constexpr (std::is_same_v<T, heavy>)
            all[i].key = keys[i];
        else
            all[i] = keys[i];
    }
    const counts seen = sort_alone(all, options);
    numbers left, expected = keys;
    for (const T& x : all) left.push_back(key_of(x));
    if (options.until != 0) std::sort(left.begin(), left.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(left, expected);
    return seen;
}

TEST(sort_exact, a_range_that_rises_or_falls_is_compared_once_from_end_to_end) {
    for (const std::size_t n : {2U, 3U, 24U, 25U, 1000U, 4096U, 4097U, 4098U, 10'000U}) {
        numbers rises(n), falls(n), level(n, 7);
        for (std::size_t i = 0; i != n; ++i) rises[i] = i, falls[i] = n - i;
        EXPECT_EQ(sort_numbers<std::uint64_t>(rises), (counts{n - 1, 0}));
        EXPECT_EQ(sort_numbers<std::uint64_t>(falls), (counts{n - 1, 0}));
        EXPECT_EQ(sort_numbers<std::uint64_t>(level), (counts{n - 1, 0}));
    }
}

// At each threshold, and one beside it: the parts that are sorted by insertion, that fork, that are divided.
TEST(sort_exact, takes_so_many_comparisons_of_a_shuffled_range) {
    struct row {
        std::size_t n;
        std::uint64_t different, different_heavy, equal, equal_heavy;
        counts hungry, hungry_heavy;
    };
    const row rows[] = {
        {16, 84, 84, 65, 65, {84, 0}, {65, 0}},
        {17, 75, 70, 84, 62, {75, 0}, {62, 0}},
        {24, 184, 94, 147, 91, {184, 0}, {91, 0}},
        {25, 116, 112, 82, 92, {116, 0}, {92, 0}},
        {26, 91, 133, 155, 99, {91, 0}, {99, 0}},
        {100, 670, 701, 521, 457, {670, 0}, {457, 0}},
        {127, 1031, 889, 559, 583, {1031, 0}, {583, 0}},
        {128, 1033, 880, 657, 571, {1033, 0}, {571, 0}},
        {129, 1058, 990, 668, 583, {1058, 0}, {583, 0}},
        {500, 5375, 4843, 2346, 2337, {5375, 0}, {2337, 0}},
        {1023, 11'641, 10'863, 4698, 4712, {11'641, 0}, {4712, 0}},
        {1024, 11'337, 10'582, 4819, 4823, {11'337, 1}, {4823, 1}},
        {1025, 11'449, 10'842, 4783, 4734, {11'449, 1}, {4734, 1}},
        {2048, 25'188, 23'655, 9379, 9376, {25'188, 2}, {9376, 2}},
        {4095, 54'395, 51'178, 18'624, 18'577, {54'395, 2}, {18'577, 3}},
        {4096, 54'876, 51'685, 19'058, 19'064, {54'876, 3}, {19'064, 2}},
        {4097, 54'751, 52'005, 18'986, 19'605, {54'751, 2}, {19'605, 4}},
        {5000, 68'000, 64'088, 22'931, 22'959, {68'000, 2}, {22'959, 3}},
        {32'767, 535'621, 513'510, 147'007, 146'806, {535'621, 5}, {146'806, 4}},
        {32'768, 537'958, 513'193, 143'387, 147'138, {537'958, 6}, {147'138, 4}},
        {32'769, 538'639, 513'159, 150'569, 150'594, {538'723, 8}, {150'652, 7}},
        {32'770, 536'297, 513'973, 143'400, 143'415, {537'221, 7}, {143'415, 5}},
        {70'000, 1'222'244, 1'175'301, 314'132, 305'809, {1'223'061, 11}, {313'458, 8}},
    };
    for (const row& r : rows) {
        const numbers different = shuffled(r.n), equal = random_numbers(r.n, 9);
        const counts a = sort_numbers<std::uint64_t>(different), b = sort_numbers<heavy>(different),
                     c = sort_numbers<std::uint64_t>(equal), d = sort_numbers<heavy>(equal),
                     e = sort_numbers<std::uint64_t>(different, {.hungry = true}),
                     f = sort_numbers<heavy>(equal, {.hungry = true});
        EXPECT_EQ(a, (counts{r.different, 0})) << r.n;
        EXPECT_EQ(b, (counts{r.different_heavy, 0})) << r.n;
        EXPECT_EQ(c, (counts{r.equal, 0})) << r.n;
        EXPECT_EQ(d, (counts{r.equal_heavy, 0})) << r.n;
        EXPECT_EQ(e, r.hungry) << r.n;
        EXPECT_EQ(f, r.hungry_heavy) << r.n;
    }
}

// An adversary (McIlroy, 1999) decides what is small only when it must: each pivot is as bad as can be, until a heap
// sort ends it.
TEST(sort_exact, takes_so_many_comparisons_where_each_pivot_is_bad) {
    const std::pair<std::size_t, std::uint64_t> rows[] = {
        {100, 1433}, {1000, 23'451}, {1100, 26'929}, {5000, 154'820}, {20'000, 773'831}};
    for (const auto& [n, expected] : rows) {
        numbers all(n), worth(n, n);
        for (std::size_t i = 0; i != n; ++i) all[i] = i;
        worth[1] = 0;  // otherwise it would let the first walk find all in order
        std::uint64_t frozen = 1, candidate = 0;
        const counts seen = sort_alone<std::uint64_t>(all, {}, [&](const std::uint64_t& a, const std::uint64_t& b) {
            if (worth[a] == n && worth[b] == n) worth[a == candidate ? a : b] = frozen++;
            if (worth[a] == n) candidate = a;
            if (worth[b] == n) candidate = b;
            return worth[a] < worth[b];
        });
        EXPECT_EQ(seen, (counts{expected, 0})) << n;
        EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [&](auto a, auto b) { return worth[a] < worth[b]; }));
    }
}

TEST(sort_exact, compares_so_often_once_a_stop_is_requested) {
    struct row {
        std::size_t n;
        std::uint64_t below,  // 0: all differ
            until, whole, divided, heavy_compared, heavy_moved;
    };
    const row rows[] = {
        {1023, 0, 2, 11'641, 11'641, 10'863, 8864},
        {1024, 0, 2, 2, 2, 2, 0},
        {1024, 0, 10, 11'337, 11'337, 10'582, 8785},
        {1025, 0, 10, 37, 37, 37, 3},
        {2000, 0, 2, 2, 2, 2, 0},
        {2000, 0, 100, 8257, 8257, 7848, 6224},
        {2000, 0, 2100, 24'652, 24'652, 23'377, 18'771},
        {2000, 0, 20'000, 24'652, 24'652, 23'377, 18'771},
        {5000, 0, 100, 107, 107, 107, 3},
        {5000, 0, 4300, 5106, 5106, 5107, 3639},
        {60'000, 0, 2, 2, 2, 2, 0},
        {60'000, 0, 100, 326, 326, 326, 3},
        {60'000, 0, 5000, 8518, 8518, 8518, 6060},
        {60'000, 0, 59'000, 60'325, 60'325, 60'332, 44'499},
        {60'000, 0, 62'000, 64'528, 64'526, 64'535, 47'547},
        {60'000, 0, 200'000, 203'363, 208'199, 223'625, 172'425},
        {60'000, 0, 900'000, 900'156, 906'848, 912'165, 719'367},
        {60'000, 9, 2000, 4417, 4417, 4418, 3060},
        {60'000, 9, 100'000, 100'203, 100'346, 100'224, 64'122},
        {60'000, 9, 160'000, 162'356, 162'444, 162'311, 90'045},
        {60'000, 9, 200'000, 200'088, 200'175, 200'046, 117'615},
        {60'000, 9, 230'000, 231'404, 231'488, 231'278, 129'426},
        {60'000, 9, 250'000, 250'219, 250'300, 250'091, 138'117},
    };
    for (const row& r : rows) {
        const numbers keys = r.below == 0 ? shuffled(r.n) : random_numbers(r.n, r.below);
        const counts whole = sort_numbers<std::uint64_t>(keys, {.until = r.until}),
                     divided = sort_numbers<std::uint64_t>(keys, {.hungry = true, .until = r.until});
        heavy::moved = 0;
        const counts heavies = sort_numbers<heavy>(keys, {.until = r.until});
        EXPECT_EQ(whole.compared, r.whole) << r.n << " stopped at " << r.until;
        EXPECT_EQ(divided.compared, r.divided) << r.n << " stopped at " << r.until;
        EXPECT_EQ(heavies.compared, r.heavy_compared) << r.n << " stopped at " << r.until;
        EXPECT_EQ(heavy::moved, r.heavy_moved) << r.n << " stopped at " << r.until;
    }
}

// The places are spread by eighths of the range, and again by eighths of those; the pivot is the median of the medians.
TEST(sort_exact, chooses_a_pivot_among_these_places) {
    for (const std::ptrdiff_t n : {25, 127, 128, 511, 512, 4096, 32'767, 32'768, 100'000}) {
        std::vector<std::ptrdiff_t> places{0};
        for (std::ptrdiff_t apart = n / 8, next = n < 128 ? 0 : std::min<std::ptrdiff_t>(n / 8, 4096); apart != 0;
             apart = next >= 8 ? next / 8 : 0, next = apart) {
            std::vector<std::ptrdiff_t> finer;
            for (const std::ptrdiff_t at : places)
                for (const std::ptrdiff_t steps : {0, 4, 7}) finer.push_back(at + steps * apart);
            places = std::move(finer);
        }
        const numbers all = shuffled(static_cast<std::size_t>(n));
        std::set<std::ptrdiff_t> seen;
        const auto less = [&](const std::uint64_t& a, const std::uint64_t& b) {
            seen.insert({&a - all.data(), &b - all.data()});
            return a < b;
        };
        const std::uint64_t* const pivot = apiary::detail::pivot_place(all.data(), all.data() + n, less);
        EXPECT_EQ(seen, std::set<std::ptrdiff_t>(places.begin(), places.end())) << n;
        EXPECT_LE(places.size(), 243U);
        while (places.size() != 1) {
            std::vector<std::ptrdiff_t> medians;
            for (std::size_t i = 0; i != places.size(); i += 3) {
                std::sort(&places[i], &places[i] + 3, [&](auto a, auto b) {
                    return all[static_cast<std::size_t>(a)] < all[static_cast<std::size_t>(b)];
                });
                medians.push_back(places[i + 1]);
            }
            places = std::move(medians);
        }
        EXPECT_EQ(pivot - all.data(), places[0]) << n;
    }
}

TEST(sort_exact, a_heap_sorts_each_order_of_a_few) {
    for (std::size_t n = 1; n != 8; ++n) {
        numbers order(n);
        for (std::size_t i = 0; i != n; ++i) order[i] = i;
        const numbers expected = order;
        const auto less = std::less<>();
        do {
            numbers all = order;
            apiary::detail::heap_sort(all.begin(), all.end(), less);
            ASSERT_EQ(all, expected);
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

}  // namespace
}  // namespace fork_join_sort_exact_test
