// loop_range: the indices of a loop, and what the loops of all schedulers have in common.
//
//     parallel_for(queue, first, last, body);                     // global_queue/parallel_for.hpp
//     parallel_for(w, first, last, body, {.grain = 100});         // fork_join/parallel.hpp
//
// When to use it. In a scheduler, for a loop over [first, last) that it divides. When not: in a program that has a
// loop; it calls the scheduler's parallel_for.
//
// Form.      The scheduler, the range, the body, then options. A grain of n makes chunks of n indices; 0, or no grain,
//            chooses automatically.
// Body.      Every scheduler takes body(i). A global_queue also takes body(from, to), which gets a chunk at a time;
//            fork_join also takes body(w, i), which gets its worker.
// Bounds.    Integers of at most 64 bits, but not bool. The index has their common type: from int 0 to std::size_t n it
//            is std::size_t. A range whose first index is not below its last is empty. One of more than 2^63
//            indices is a range like any other: INT64_MIN to INT64_MAX has 2^64 - 1. A bound that the common type
//            cannot hold, that is, a negative one beside an unsigned one, throws std::invalid_argument.
//
// Threads.   It is a value; each thread has its own.
// Tested by the tests of both loops.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

namespace apiary::detail {

template <class Bound>
concept loop_bound = std::integral<Bound> && !std::same_as<std::remove_cv_t<Bound>, bool> && sizeof(Bound) <= 8;
template <class First, class Last>
concept loop_bounds = loop_bound<First> && loop_bound<Last>;

// A negative bound, as an unsigned number, would be larger than all others.
template <class I, class Bound>
I index_of_bound(Bound b) {
    if constexpr (std::is_signed_v<Bound> && std::is_unsigned_v<I>)
        if (b < 0) throw std::invalid_argument("parallel_for: a bound is negative, and the other one is unsigned");
    return static_cast<I>(b);
}

template <class I>
struct loop_range {
    I first, last;
    // Unsigned: the whole range of a signed type has more elements than it has positive numbers.
    std::uint64_t size() const {
        return first < last ? static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) : 0;
    }
    I at(std::uint64_t n) const { return static_cast<I>(static_cast<std::uint64_t>(first) + n); }
    loop_range front(std::uint64_t n) const { return {first, at(n)}; }
    loop_range behind(std::uint64_t n) const { return {at(n), last}; }

    // The size of a chunk: the grain if it is not 0; otherwise the size that makes `parts` chunks, but at most `most`.
    std::uint64_t chunk(std::size_t grain, std::uint64_t parts, std::uint64_t most = UINT64_MAX) const {
        if (grain != 0) return grain;
        if (size() < 2 * parts) return 1;  // without a division, which takes as long as a loop of one index
        return std::min(size() / parts, most);
    }
};

template <class First, class Last>
auto range_between(First first, Last last) {
    using index = std::common_type_t<First, Last>;
    return loop_range<index>{index_of_bound<index>(first), index_of_bound<index>(last)};
}

}  // namespace apiary::detail
