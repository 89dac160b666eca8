// parallel_sort: the order of std::sort for every kind of element; what exceptions, stops, and comparisons that are no
// order leave behind.
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/sort.hpp>
#include <apiary/testing/comes_true.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <ranges>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fork_join_sort_test {
namespace {

using apiary::comes_true;
using apiary::fork_join_pool;
using apiary::parallel_sort;
using context = fork_join_pool::context;

std::vector<std::uint64_t> random_numbers(std::size_t n, std::uint64_t below, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> all(n);
    for (auto& x : all) x = random() % below;
    return all;
}

// 48 bytes: not moved by copy. Moves may throw, and then leave their source as it was.
struct heavy {
    std::uint64_t key = 0, rest[5] = {};
    static inline std::atomic<std::int64_t> moves_until_throw = INT64_MAX;

    heavy() = default;
    explicit heavy(std::uint64_t k) : key(k) {}
    heavy(heavy&& other) : key((may_throw(), std::exchange(other.key, gone))) {}
    heavy& operator=(heavy&& other) {
        EXPECT_NE(this, &other) << "a type may rely on that";
        may_throw();
        key = std::exchange(other.key, gone);
        return *this;
    }
    static constexpr std::uint64_t gone = UINT64_MAX;
    static void may_throw() {
        if (moves_until_throw.fetch_sub(1, std::memory_order_relaxed) == 1) throw std::runtime_error("move");
    }
};

std::uint64_t key_of(std::uint64_t x) { return x; }
std::uint64_t key_of(const heavy& x) { return x.key; }

template <class T>
std::vector<T> elements(const std::vector<std::uint64_t>& keys) {
    std::vector<T> all(keys.size());
    for (std::size_t i = 0; i != keys.size(); ++i) all[i] = T(keys[i]);
    return all;
}
template <class T>
std::vector<std::uint64_t> keys_of(const std::vector<T>& all) {
    std::vector<std::uint64_t> keys;
    for (const auto& x : all) keys.push_back(key_of(x));
    return keys;
}
std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> keys) {
    std::sort(keys.begin(), keys.end());
    return keys;
}

// Trivially copyable, and yet not to be copied.
struct token {
    int key = 0;
    explicit token(int k) : key(k) {}
    token(token&&) = default;
    token& operator=(token&&) = default;
};
static_assert(std::is_trivially_copyable_v<token> && !std::copyable<token>);

// One kind of comparison for each kind of element, so that these tests compile two sorts and no more.
template <class T>
using comparison = std::function<bool(const T&, const T&)>;
const comparison<std::uint64_t> below_it = std::less<std::uint64_t>();
template <class T>
bool sort_in(context& w, std::span<T> all, const comparison<T>& less, const std::stop_token& stop = {}) {
    return parallel_sort(w, all.data(), all.data() + all.size(), std::cref(less), {.stop = stop});
}
template <class T>
bool sort_by(fork_join_pool& pool, std::vector<T>& all, const comparison<T>& less, const std::stop_token& stop = {}) {
    return pool.run([&](context& w) { return sort_in<T>(w, all, less, stop); });
}

template <class T>
void sorts_as_std_does() {
    fork_join_pool alone({.workers = 1}), pool({.workers = 3});
    for (const std::size_t n : {0U, 1U, 2U, 3U, 16U, 17U, 24U, 25U, 100U, 1023U, 50'000U})
        for (const std::uint64_t below : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1} << 40}) {
            const auto keys = random_numbers(n, below, n + below);
            for (fork_join_pool* p : {&alone, &pool}) {
                auto all = elements<T>(keys);
                EXPECT_TRUE(sort_by<T>(*p, all, [](const T& a, const T& b) { return key_of(a) < key_of(b); }));
                ASSERT_EQ(keys_of(all), sorted(keys)) << n << " below " << below;
            }
        }
}
TEST(parallel_sort, sorts_as_std_does) {
    sorts_as_std_does<std::uint64_t>();
    sorts_as_std_does<heavy>();
}

// Inputs on which a quicksort takes bad pivots; and ends on time all the same, as the comparisons say.
TEST(parallel_sort, takes_n_log_n_comparisons_of_any_pattern) {
    fork_join_pool pool({.workers = 2});
    constexpr std::size_t n = 20'000;
    const std::function<std::uint64_t(std::size_t)> patterns[] = {
        [](std::size_t i) { return i; },
        [](std::size_t i) { return n - i; },
        [](std::size_t i) { return i < n / 2 ? i : n - i; },
        [](std::size_t i) { return i % 2 == 0 ? i : n - i; },
        [](std::size_t i) { return i % 100; },
        [](std::size_t i) { return i + 1 == n ? 0 : i; },
    };
    for (const auto& pattern : patterns) {
        std::vector<std::uint64_t> all(n);
        for (std::size_t i = 0; i != n; ++i) all[i] = pattern(i);
        const auto expected = sorted(all);
        std::atomic<std::uint64_t> compared = 0;
        sort_by<std::uint64_t>(pool, all, [&](auto a, auto b) { return ++compared, a < b; });
        EXPECT_EQ(all, expected);
        EXPECT_LT(compared, 3 * n * 15);
    }
    // An adversary (McIlroy, 1999): it decides what is small only when it must.
    std::vector<std::uint64_t> all(n), worth(n, n);
    for (std::size_t i = 0; i != n; ++i) all[i] = i;
    worth[1] = 0;  // otherwise it would let the first walk find all in order
    std::uint64_t frozen = 1, candidate = 0, compared = 0;
    fork_join_pool alone({.workers = 1});
    sort_by<std::uint64_t>(alone, all, [&](auto a, auto b) {
        ++compared;
        if (worth[a] == n && worth[b] == n) worth[a == candidate ? a : b] = frozen++;
        if (worth[a] == n) candidate = a;
        if (worth[b] == n) candidate = b;
        return worth[a] < worth[b];
    });
    EXPECT_GT(compared, 20 * n);
    EXPECT_LT(compared, 60 * n);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [&](auto a, auto b) { return worth[a] < worth[b]; }));
}

TEST(parallel_sort, takes_any_range_of_elements_in_memory) {
    fork_join_pool pool({.workers = 2});
    const auto keys = random_numbers(3000, 1000);
    std::deque<std::uint64_t> deque(keys.begin(), keys.end());
    pool.run([&](context& w) {
        EXPECT_TRUE(parallel_sort(w, deque.begin(), deque.end()));
        EXPECT_TRUE(parallel_sort(w, deque.end(), deque.begin()));
        EXPECT_TRUE(parallel_sort(w, deque.begin(), deque.begin()));
    });
    std::vector<token> tokens;
    for (int i = 0; i != 100; ++i) tokens.emplace_back(i * 37 % 100);
    const auto by_key = [](const token& a, const token& b) { return a.key < b.key; };
    EXPECT_TRUE(pool.run([&](context& w) { return parallel_sort(w, tokens.begin(), tokens.end(), by_key); }));
    for (int i = 0; i != 100; ++i) EXPECT_EQ(tokens[static_cast<std::size_t>(i)].key, i);
    const auto right = sorted(keys);
    EXPECT_TRUE(std::equal(deque.begin(), deque.end(), right.begin(), right.end())) << "and reversed ranges are empty";
}
template <class It>
constexpr bool can_sort = requires(context& w, It i) { parallel_sort(w, i, i); };
using beyond_64_bits = decltype(std::views::iota(std::uint64_t{0}, UINT64_MAX).begin());
static_assert(can_sort<int*> && !can_sort<const int*> && !can_sort<std::vector<bool>::iterator> &&
              !can_sort<beyond_64_bits>);

template <class Less>
constexpr bool can_sort_by = requires(context& w, int* i, Less less) { parallel_sort(w, i, i, less); };
static_assert(can_sort_by<bool (*)(int, const int&)> && !can_sort_by<bool (*)(int&, int&)>);

// The first partition has more than 65,536 steps left when the thief is awaited.
TEST(parallel_sort, divides_the_first_partition_for_a_worker_that_is_idle) {
    fork_join_pool pool({.workers = 2});
    auto all = random_numbers(200'000, UINT64_MAX);
    const auto expected = sorted(all);
    pool.run([&](context& w) {
        while (!w.asked()) std::this_thread::yield();
        const auto owner = std::this_thread::get_id();
        std::atomic<bool> helped = false;
        std::uint64_t compared = 0;
        sort_in<std::uint64_t>(w, all, [&](auto a, auto b) {
            if (std::this_thread::get_id() != owner) helped = true;
            if (!helped && ++compared == 50'000) {
                EXPECT_TRUE(comes_true([&] { return helped.load(); }));
            }
            return a < b;
        });
    });
    EXPECT_EQ(all, expected);
}

template <class T>
void keeps_all_when_it_throws(std::size_t n, bool in_moves) {
    for (const unsigned workers : {1U, 3U}) {
        fork_join_pool pool({.workers = workers});
        const auto keys = random_numbers(n, n / 2 + 1, n);
        std::size_t threw = 0;
        for (std::int64_t at = 1; at < static_cast<std::int64_t>(40 * n); at += at / 4 + 1) {
            auto all = elements<T>(keys);
            std::atomic<std::int64_t> left = in_moves ? INT64_MAX : at;
            heavy::moves_until_throw = in_moves ? at : INT64_MAX;
            bool whole = false;
            try {
                whole = sort_by<T>(pool, all, [&](const T& a, const T& b) {
                    if (left.fetch_sub(1, std::memory_order_relaxed) == 1) throw std::runtime_error("compare");
                    return key_of(a) < key_of(b);
                });
            } catch (const std::runtime_error&) {
                ++threw;
            }
            heavy::moves_until_throw = INT64_MAX;
            ASSERT_EQ(sorted(keys_of(all)), sorted(keys)) << "thrown at " << at;
            if (whole) {
                ASSERT_EQ(keys_of(all), sorted(keys));
            }
        }
        EXPECT_GE(threw, 10U);
    }
}
TEST(parallel_sort, loses_nothing_when_a_comparison_throws) {
    keeps_all_when_it_throws<std::uint64_t>(20, false);
    keeps_all_when_it_throws<std::uint64_t>(8000, false);
    keeps_all_when_it_throws<heavy>(3000, false);
}
TEST(parallel_sort, loses_nothing_when_a_move_throws) {
    keeps_all_when_it_throws<heavy>(16, true);
    keeps_all_when_it_throws<heavy>(3000, true);
}
TEST(parallel_sort, loses_nothing_while_it_sorts_by_a_heap) {
    const auto keys = random_numbers(200, 50);
    for (int at = 1; at < 2500; at += 7) {
        auto all = elements<heavy>(keys);
        int left = at;
        const comparison<heavy> less = [&](const heavy& a, const heavy& b) {
            if (--left == 0) throw std::runtime_error("compare");
            return a.key < b.key;
        };
        try {
            apiary::detail::heap_sort(all.begin(), all.end(), less);
            ASSERT_EQ(keys_of(all), sorted(keys));
        } catch (const std::runtime_error&) {
            ASSERT_EQ(sorted(keys_of(all)), sorted(keys));
        }
    }
}

// Elements beside the range have a key that the comparison must never see, and keep it.
template <class T>
void survives_what_is_no_order(std::size_t n) {
    fork_join_pool pool({.workers = 2});
    const auto keys = random_numbers(n, n);
    std::atomic<std::uint64_t> turn = 0;
    const comparison<std::uint64_t> no_orders[] = {
        [](auto, auto) { return true; },
        [](auto, auto) { return false; },
        [](auto a, auto b) { return a <= b; },
        [](auto a, auto b) { return (a ^ b) % 3 == 0; },
        [&](auto, auto) { return (++turn * 0x9E3779B97F4A7C15U) >> 63 != 0; },
    };
    constexpr std::uint64_t outside = heavy::gone - 1;
    for (const auto& no_order : no_orders) {
        auto with_edges = keys;
        with_edges.insert(with_edges.begin(), 8, outside);
        with_edges.insert(with_edges.end(), 8, outside);
        auto all = elements<T>(with_edges);
        std::atomic<bool> strayed = false;
        EXPECT_TRUE(pool.run([&](context& w) {
            return sort_in<T>(w, std::span(all).subspan(8, n), [&](const T& a, const T& b) {
                if (key_of(a) >= outside || key_of(b) >= outside) strayed = true;
                return no_order(key_of(a), key_of(b));
            });
        }));
        EXPECT_FALSE(strayed);
        const auto left = keys_of(all);
        EXPECT_EQ(std::count(left.begin(), left.begin() + 8, outside), 8);
        EXPECT_EQ(std::count(left.end() - 8, left.end(), outside), 8);
        EXPECT_EQ(sorted(left), sorted(with_edges));
    }
}
TEST(parallel_sort, stays_in_its_range_whatever_the_comparison_says) {
    for (const std::size_t n : {2U, 30U, 700U, 40'000U}) survives_what_is_no_order<std::uint64_t>(n);
    for (const std::size_t n : {2U, 30U, 700U, 4000U}) survives_what_is_no_order<heavy>(n);
}

TEST(parallel_sort, begins_no_step_after_a_stop) {
    const auto keys = random_numbers(60'000, UINT64_MAX);
    for (const unsigned workers : {1U, 3U}) {
        fork_join_pool pool({.workers = workers});
        for (const std::uint64_t at : {0U, 1U, 1000U, 50'000U, 200'000U}) {
            auto all = keys;
            std::stop_source stop;
            if (at == 0) stop.request_stop();
            std::atomic<std::uint64_t> compared = 0;
            const auto less = [&](std::uint64_t a, std::uint64_t b) {
                if (++compared == at) stop.request_stop();
                return a < b;
            };
            const bool whole = sort_by<std::uint64_t>(pool, all, less, stop.get_token());
            EXPECT_FALSE(whole);
            EXPECT_LT(compared, at == 0 ? 1 : at + workers * 40'000)
                << "a step of each worker, or a part that forks no more";
            EXPECT_EQ(sorted(all), sorted(keys));
        }
    }
}
TEST(parallel_sort, ends_at_a_stop_also_where_the_range_rises_or_falls) {
    constexpr std::uint64_t n = 100'000;
    fork_join_pool pool({.workers = 1});
    for (const bool falls : {false, true}) {
        std::vector<std::uint64_t> all(n);
        for (std::uint64_t i = 0; i != n; ++i) all[i] = falls ? n - i : i;
        std::stop_source stop;
        std::uint64_t compared = 0;
        const auto less = [&](std::uint64_t a, std::uint64_t b) {
            if (++compared == 1000) stop.request_stop();
            return a < b;
        };
        EXPECT_FALSE(sort_by<std::uint64_t>(pool, all, less, stop.get_token()));
        EXPECT_LT(compared, 6000U);
    }
}
TEST(parallel_sort, of_one_element_or_none_is_whole_beside_a_stop) {
    fork_join_pool pool({.workers = 1});
    std::stop_source stop;
    stop.request_stop();
    std::vector<std::uint64_t> none, one{1};
    EXPECT_TRUE(sort_by(pool, none, below_it, stop.get_token()));
    EXPECT_TRUE(sort_by(pool, one, below_it, stop.get_token()));
}

TEST(parallel_sort, loses_nothing_where_no_stack_is_left) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    fork_join_pool pool({.workers = 1, .stack_reserve = std::size_t{1} << 40});
    const auto keys = random_numbers(5000, 5000);
    auto all = keys;
    EXPECT_THROW(sort_by(pool, all, below_it), apiary::fork_too_deep);
    EXPECT_EQ(sorted(all), sorted(keys));
}

TEST(parallel_sort, nests_and_is_called_by_many) {
    fork_join_pool pool({.workers = 2, .callers = 1});
    const auto keys = random_numbers(3000, 1 << 20);
    const auto sort_many = [&] {
        pool.run([&](context& w) {
            apiary::parallel_for(w, 0, 8,
                                 [&](context& v, int) {
                                     auto all = keys;
                                     // A comparison that sorts.
                                     sort_in<std::uint64_t>(v, all, [&](auto a, auto b) {
                                         if (a % 256 != 0) return a < b;
                                         std::vector<std::uint64_t> two{b, a};
                                         sort_by(pool, two, below_it);
                                         return two[0] != b;
                                     });
                                     EXPECT_EQ(all, sorted(keys));
                                 },
                                 {.grain = 1});
        });
    };
    std::jthread other(sort_many);
    sort_many();
}

}  // namespace
}  // namespace fork_join_sort_test
