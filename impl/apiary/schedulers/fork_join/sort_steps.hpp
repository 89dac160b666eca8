// sort_steps: the steps of a sort that one worker does alone: partitioning around a pivot, and sorting small parts.
//
// When to use it. In parallel_sort (sort.hpp). When not: in programs.
//
// I1  Between any two calls of the comparison or of a move the range is a permutation of what it was, except for one
//     element, which a `lifted` holds. Its destructor puts the element back, so an exception loses nothing.
// I2  Every walk is bounded by the range, whatever the comparison returns. So a comparison that is no order leaves the
//     elements in some order, and touches none outside.
//
// Threads.   One for each part of the range.
// Tested by fork_join_sort_test.cpp; step by step by fork_join_sort_exact_test.cpp.
// Papers.    Edelkamp and Weiss, BlockQuicksort, 2016; Peters, Pattern-defeating quicksort, 2021.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace apiary::detail {

// Holds an element that was moved out of its place, the gap. If moving it back in the destructor throws, it is lost.
template <class It>
struct lifted {
    using T = std::iter_value_t<It>;
    T value;
    It gap;
    bool up = true;

    explicit lifted(It at) : value(std::move(*at)), gap(at) {}
    void put() {
        *gap = std::move(value);
        up = false;
    }
    ~lifted() {
        if (!up) return;
        if constexpr (std::is_nothrow_move_assignable_v<T>) {
            *gap = std::move(value);
        } else {
            try {
                *gap = std::move(value);
            } catch (...) {  // the destructor runs because of another exception
            }
        }
    }
    lifted(const lifted&) = delete;
    lifted& operator=(const lifted&) = delete;
};

// Swaps the elements of two places.
template <class It>
void swap_elements(It a, It b) {
    lifted<It> one(a);
    *a = std::move(*b);
    one.gap = b;
    one.put();
}

template <class It, class Less>
void insertion_sort(It first, It last, Less& less) {
    if (first == last) return;
    for (It i = first + 1; i != last; ++i) {
        if (!less(*i, i[-1])) continue;
        lifted<It> one(i);
        do {
            *one.gap = std::move(one.gap[-1]);
            --one.gap;
        } while (one.gap != first && less(one.value, one.gap[-1]));
        one.put();
    }
}

// For parts whose pivots were bad again and again. Takes at most on the order of n log n steps.
template <class It, class Less>
void heap_sort(It first, It last, Less& less) {
    using index = std::iter_difference_t<It>;  // it may not hold twice the number of elements
    const auto sink = [&](index at, index n) {
        for (index child; at < n / 2; at = child) {
            child = 2 * at + 1;
            if (child + 1 < n && less(first[child], first[child + 1])) ++child;
            if (!less(first[at], first[child])) return;
            swap_elements(first + at, first + child);
        }
    };
    const index n = last - first;
    for (index at = n / 2; at-- > 0;) sink(at, n);
    for (index end = n; --end > 0;) {
        swap_elements(first, first + end);
        sink(0, end);
    }
}

// The median of three places; of nine in a long part, and of more in a very long one.
template <class It, class Less>
It median_place(It a, It b, It c, std::iter_difference_t<It> apart, Less& less) {
    if (apart >= 8) {
        const auto eighth = apart / 8;
        a = median_place(a, a + 4 * eighth, a + 7 * eighth, eighth, less);
        b = median_place(b, b + 4 * eighth, b + 7 * eighth, eighth, less);
        c = median_place(c, c + 4 * eighth, c + 7 * eighth, eighth, less);
    }
    const bool ab = less(*a, *b);
    if (ab != less(*a, *c)) return a;
    return ab == less(*b, *c) ? b : c;
}
// Looks at no more than 3^5 places.
template <class It, class Less>
It pivot_place(It first, It last, Less& less) {
    constexpr std::iter_difference_t<It> many = 128, deep = 4096;
    const auto n = last - first, eighth = n / 8;
    return median_place(first, first + 4 * eighth, first + 7 * eighth, n < many ? 0 : std::min(eighth, deep), less);
}

// Elements that are copied in a few words. For these a partition without a branch on the comparison's result is faster,
// because half of such branches are mispredicted.
template <class T>
inline constexpr bool moves_by_copy = std::copyable<T> && std::is_trivially_copyable_v<T> && sizeof(T) <= 32;

// A partition of [first, last) under way: elements for which goes_left holds come first. run(n) handles n elements or a
// few more; [rest_first(), rest_last()) are those not handled yet. end() is where the elements that go right begin.
template <class It, bool by_copy = moves_by_copy<std::iter_value_t<It>>>
class partition_walk;

// Each element is moved twice, in a cycle through the gap, whichever side it goes to. In [first, next) the elements
// before `boundary` go left. A run lifts one element, and puts it back at its end. Precondition of run: neither n nor
// left() is 0.
template <class It>
class partition_walk<It, true> {
public:
    partition_walk(It first, It last) : boundary_(first), next_(first), last_(last) {}

    template <class GoesLeft>
    void run(std::ptrdiff_t n, const GoesLeft& goes_left) {
        const It until = n < last_ - next_ ? next_ + n : last_;
        lifted<It> one(next_);
        It boundary = boundary_;
        for (It i = next_ + 1; i != until; ++i) {
            const bool left = goes_left(*i);
            *one.gap = *boundary;
            *boundary = *i;
            one.gap = i;
            boundary += left;
        }
        const bool left = goes_left(one.value);
        *one.gap = *boundary;
        one.gap = boundary;  // the destructor puts it there
        boundary_ = boundary + left;
        next_ = until;
    }
    std::ptrdiff_t left() const { return last_ - next_; }
    It rest_first() const { return next_; }
    It rest_last() const { return last_; }
    It end() const { return boundary_; }

private:
    It boundary_, next_, last_;
};

// Walks from both ends, and swaps only the elements that are on the wrong side.
template <class It>
class partition_walk<It, false> {
public:
    partition_walk(It first, It last) : low_(first), high_(last) {}

    template <class GoesLeft>
    void run(std::ptrdiff_t n, const GoesLeft& goes_left) {
        while (n > 0) {
            for (; low_ != high_ && n > 0 && goes_left(*low_); --n) ++low_;
            for (; low_ != high_ && n > 0 && !goes_left(high_[-1]); --n) --high_;
            if (low_ == high_ || n <= 0) return;
            if (low_ == high_ - 1) return --high_, void();  // the comparison is no order: either side will do
            swap_elements(low_, high_ - 1);
            ++low_, --high_, n -= 2;
        }
    }
    std::ptrdiff_t left() const { return high_ - low_; }
    It rest_first() const { return low_; }
    It rest_last() const { return high_; }
    It end() const { return low_; }

private:
    It low_, high_;
};

}  // namespace apiary::detail
