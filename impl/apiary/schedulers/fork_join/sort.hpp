// parallel_sort: sorts a range in place, divided when a worker is idle, and only then.
//
//     apiary::parallel_sort(w, v.begin(), v.end());
//     apiary::parallel_sort(w, v.begin(), v.end(), std::greater<>());
//
// When to use it. For many elements in memory. When not: where equal elements must keep their order. It is not stable.
//
// How it divides. A quicksort. Both sides of a pivot are the branches of a fork. A partition under way gives half of
// its remaining elements to a worker that asks, so the first partitions are divided as well.
// Range.   Random-access iterators over elements in memory (so not std::vector<bool>'s). They may be move-only. A range
//          whose end lies before its beginning is empty.
// Compare. less(a, b), called by several workers at once. If it is no strict weak order, the elements end in some
//          order, and no element outside of the range is touched.
// Memory.  It allocates nothing. The stack holds at most some log n forks; a stack that is nearly used up throws
//          fork_too_deep.
// Errors.  An exception of the comparison, or of a move, ends the sort: the other workers end the steps that they have
//          begun; then the exception leaves the call. The range is a permutation of what it was. For that a move that
//          throws must leave its source unchanged; if the move that puts the element back throws as well, that element
//          is lost.
// Stop.    As in parallel_for: after a request no step begins. A step covers some thousand elements; but a part whose
//          pivots were bad again and again is sorted in one step. False: the range may not be sorted; it is a
//          permutation of what it was.
// Tested by fork_join_sort_test.cpp; step by step by fork_join_sort_exact_test.cpp.
// Papers.  sort_steps.hpp names them.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/fork_join/fork_join.hpp>
#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/sort_steps.hpp>

namespace apiary {

namespace detail {

// The elements lie in memory, so two workers may move different ones at a time. A distance fits 64 bits.
template <class It>
concept sortable_place =
    std::random_access_iterator<It> && std::same_as<std::iter_reference_t<It>, std::iter_value_t<It>&> &&
    std::movable<std::iter_value_t<It>> && sizeof(std::iter_difference_t<It>) <= sizeof(std::ptrdiff_t);

template <class W, class It, class Less, class Course>
class sorting {
    using T = std::iter_value_t<It>;
    static constexpr std::ptrdiff_t small = moves_by_copy<T> ? 24 : 16;
    static constexpr std::ptrdiff_t forks = 1024;      // a part of so many elements is worth a fork and a check
    static constexpr std::ptrdiff_t step = 4096;       // elements of a partition between two checks
    static constexpr std::ptrdiff_t divides = 32'768;  // a partition with fewer elements left is not divided

public:
    sorting(Less& less, Course& course) : less_(less), course_(course) {}

    // False: an exception or a stop ended the sort before this part was sorted.
    bool all(W& w, It first, It last) {
        if (last - first < 2) return true;
        if (course_.ended()) return false;
        if (already(w, first, last)) return true;
        return part(w, first, last, false,
                    static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(last - first))));
    }

private:
    // True if the range is sorted now: it was sorted, or strictly descending and has been reversed. Also false if the
    // sort has ended.
    bool already(W& w, It first, It last) {
        if (!less_(first[1], *first)) return goes_on<false>(first, last);
        if (!goes_on<true>(first, last)) return false;
        const std::ptrdiff_t n = last - first;
        auto change = [&](std::ptrdiff_t i) { swap_elements(first + i, first + (n - 1 - i)); };
        return loop(w, loop_range<std::ptrdiff_t>{0, n / 2}, course_, change);
    }
    template <bool falls>
    bool goes_on(It first, It last) {
        for (It i = first + 2; i < last;) {
            if (course_.ended()) return false;
            for (const It until = last - i < step ? last : i + step; i != until; ++i)
                if (static_cast<bool>(less_(*i, i[-1])) != falls) return false;
        }
        return true;
    }

    // `behind`: the element before `first` is a pivot, and no element of this part is less than it. `bad`: how many
    // more bad pivots are tolerated before a heap sort.
    bool part(W& w, It first, It last, bool behind, unsigned bad) {
        for (;;) {
            const std::ptrdiff_t n = last - first;
            if (n <= small) return insertion_sort(first, last, less_), true;
            if (bad == 0) return heap_sort(first, last, less_), true;
            if (n >= forks && course_.ended()) return false;
            if (const It median = pivot_place(first, last, less_); median != first) swap_elements(first, median);
            if (behind && !less_(first[-1], *first)) {  // then all elements equal to the pivot are in their places
                const auto [whole, end] = around<true>(w, first, last);
                if (!whole) return false;
                first = end;
                continue;
            }
            const auto [whole, end] = around<false>(w, first, last);
            if (!whole) return false;
            const It pivot = end - 1;
            if (pivot != first) swap_elements(first, pivot);
            if (std::min(pivot - first, last - end) < n / 8) {
                --bad;
                stir(first, pivot);
                stir(end, last);
            }
            if (n >= forks) {
                const auto branch = [&](It a, It b, bool is_behind) {
                    return [=, this](W& v) { return course_.run([&] { return part(v, a, b, is_behind, bad); }); };
                };
                const auto [x, y] = fork_join(w, branch(first, pivot, behind), branch(end, last, true));
                return x && y;
            }
            if (!part(w, first, pivot, behind, bad)) return false;
            first = end, behind = true;
        }
    }

    // Breaks patterns that give bad pivots: swaps elements of the middle with elements of the quarters.
    static void stir(It first, It last) {
        const std::ptrdiff_t n = last - first;
        if (n < 8) return;
        swap_elements(first, first + n / 4);
        swap_elements(first + n / 2, first + n / 2 + n / 4);
        swap_elements(last - 1, last - 1 - n / 8);
    }

    struct divided {
        bool whole;  // false: the sort has ended
        It end;      // the first element that goes right
    };
    // Partitions the elements after the pivot, which is *first.
    template <bool equal_go_left>
    divided around(W& w, It first, It last) {
        const auto by = [&](const T& pivot) {
            return [&](const T& x) {
                if constexpr (equal_go_left)
                    return !less_(pivot, x);
                else
                    return static_cast<bool>(less_(x, pivot));
            };
        };
        if constexpr (moves_by_copy<T>) {
            const T pivot = *first;
            return partition(w, first + 1, last, by(pivot));
        } else {
            return partition(w, first + 1, last, by(*first));
        }
    }

    template <class GoesLeft>
    divided partition(W& w, It first, It last, const GoesLeft& goes_left) {
        partition_walk<It> walk(first, last);
        if (last - first < forks) {
            walk.run(last - first, goes_left);
            return {true, walk.end()};
        }
        while (walk.left() != 0) {
            if (course_.ended()) return {false, last};
            if (walk.left() >= divides && w.asked()) return divide(w, walk, goes_left);
            walk.run(step, goes_left);
        }
        return {true, walk.end()};
    }

    // Divides the remaining elements into two halves, partitions each, and swaps the elements on the wrong side of the
    // point where they meet. Then does the same with the part that the walk has partitioned before.
    template <class GoesLeft>
    divided divide(W& w, const partition_walk<It>& walk, const GoesLeft& goes_left) {
        const It from = walk.rest_first(), to = walk.rest_last(), middle = from + (to - from) / 2;
        const auto half = [&](It a, It b) {
            return [=, &goes_left, this](W& v) { return course_.run([&] { return partition(v, a, b, goes_left); }); };
        };
        const auto [x, y] = fork_join(w, half(from, middle), half(middle, to));
        if (!x.whole || !y.whole) return {false, to};
        const divided rest = meet(w, x.end, middle, y.end);
        return rest.whole ? meet(w, walk.end(), from, rest.end) : rest;
    }
    // [right, middle) goes right and [middle, left) goes left: swaps the two.
    divided meet(W& w, It right, It middle, It left) {
        const std::ptrdiff_t n = std::min(middle - right, left - middle);
        auto change = [&](std::ptrdiff_t i) { swap_elements(right + i, left - n + i); };
        return {loop(w, loop_range<std::ptrdiff_t>{0, n}, course_, change), right + (left - middle)};
    }

    Less& less_;
    Course& course_;
};

template <class W, class It, class Less, class Course>
bool sort_all(W& w, It first, It last, Less& less, Course& course) {
    return sorting<W, It, Less, Course>(less, course).all(w, first, last);
}

}  // namespace detail

// True: the range is sorted.
template <class Sync, class Pool, class Limits, class It, class Less = std::less<>, class StopToken = std::stop_token>
    requires detail::sortable_place<It> && std::relation<Less&, std::iter_reference_t<It>, const std::iter_value_t<It>&>
bool parallel_sort(fork_context<Sync, Pool, Limits>& w, It first, It last, Less less = {},
                   const basic_loop_options<StopToken>& options = {}) {
    using course = detail::loop_course<fork_context<Sync, Pool, Limits>, StopToken>;
    typename Sync::template scoped<course> on_stack(std::uint64_t{1024}, options.stop);
    if constexpr (std::contiguous_iterator<It>) {
        auto* const at = std::to_address(first);
        return detail::sort_all(w, at, at + (last - first), less, *on_stack);
    } else {
        return detail::sort_all(w, first, last, less, *on_stack);
    }
}

}  // namespace apiary
