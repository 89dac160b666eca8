// parallel_inclusive_scan, parallel_exclusive_scan: every prefix of a range, combined; divided when a worker is idle.
//
//     apiary::parallel_inclusive_scan(w, a.begin(), a.end(), sums.begin(), 0L, std::plus<>());
//     apiary::parallel_exclusive_scan(w, a.begin(), a.end(), a.begin(), 0L, std::plus<>());  // in place
//
// When to use it. For prefixes of many elements in memory. When not: where the operation is not associative; the order
// is kept, but the groups are not.
//
// Result.  The inclusive scan sets out[i] = init ∘ first[0] ∘ … ∘ first[i]; the exclusive scan leaves first[i] out.
//          `init` need not be neutral. `out` is the beginning of the input, or of a range that does not overlap with
//          it.
// How it divides. A worker goes through the range once, and checks between chunks whether a worker is hungry. If one
// is, it divides what is left into blocks and goes on with the first of them as before. Hungry workers combine later
// blocks without writing outputs; these blocks are then gone through a second time, from their prefixes. Without
// helpers there is one pass.
// Memory.  It allocates nothing. The stack holds a sum for each block.
// Errors.  An exception of `combine`, or of a copy, ends the scan as it ends parallel_for.
// Stop.    As in parallel_for. False: some outputs are missing.
// In both cases each output has either its final value or its value before the call, unless an assignment to it threw.
// Range.   Random-access iterators whose distance fits 64 bits; outputs in memory, so none of std::vector<bool>. A
//          range whose end lies before its beginning is empty.
// Tested by fork_join_scan_test.cpp.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/fork_join/fork_join.hpp>
#include <apiary/schedulers/fork_join/parallel.hpp>

namespace apiary {

namespace detail {

template <class It>
concept scannable_place =
    std::random_access_iterator<It> && sizeof(std::iter_difference_t<It>) <= sizeof(std::ptrdiff_t);

template <bool inclusive, class W, class In, class Out, class T, class Combine, class Course>
class scanning {
    using number = std::ptrdiff_t;
    static constexpr std::size_t room = std::clamp<std::size_t>(4096 / sizeof(T), 3, 256);  // blocks

public:
    scanning(In first, Out out, Combine& combine, Course& course)
        : first_(first), out_(out), combine_(combine), course_(course) {}

    // False: an exception or a stop ended the scan before its last chunk.
    bool all(W& w, number n, T before) {
        const auto chunk = static_cast<number>(std::min<std::uint64_t>(course_.chunk(), PTRDIFF_MAX));
        std::optional<T> prefix(std::move(before));
        for (number done = 0; done != n;) {
            if (course_.ended()) return false;
            const number left = n - done;
            if (left > chunk && w.asked()) {
                const number block = std::max(left / blocks_of(w), chunk);
                blocks here(done, block, std::min(blocks_of(w), left / block));
                if (!in_blocks(w, here, prefix)) return false;
                done += here.size();
            } else {
                const number end = done + std::min(chunk, left);
                prefix = through(done, end, *std::move(prefix));
                done = end;
            }
        }
        return true;
    }

private:
    // Many blocks for each worker: a block that is written takes longer than one that is only summed, and the owner
    // writes blocks until it meets one that another worker has summed.
    static number blocks_of(W& w) { return std::min<number>(16 * w.pool().lists() + 1, room); }

    // Blocks of equal length. After the first pass sums[b] is the sum of all elements up to the end of block b if
    // the block is written, else of block b alone. The second pass finds the sum of all before block b there instead.
    struct blocks {
        number from, block, count;
        std::optional<T> sums[room];
        bool written[room] = {};

        blocks(number at, number length, number n) : from(at), block(length), count(n) {}
        number size() const { return block * count; }
        number begin(number b) const { return from + b * block; }
    };

    bool in_blocks(W& w, blocks& here, std::optional<T>& prefix) {
        const number last = here.count - 1;
        if (!first_pass(w, here, 0, last, &prefix)) return false;
        for (number b = 0; b != last; ++b) {
            if (here.written[b]) {
                prefix = std::move(here.sums[b]);
            } else {
                T end = combine_(*prefix, *std::move(here.sums[b]));
                here.sums[b] = std::exchange(prefix, std::move(end));
            }
        }
        here.sums[last] = std::move(prefix);
        if (!second_pass(w, here, 0, here.count)) return false;
        prefix = std::move(here.sums[last]);
        return true;
    }

    // Goes through blocks [b, end). `prefix`: the sum of all before block b; null if it is not known yet.
    bool first_pass(W& w, blocks& here, number b, number end, const std::optional<T>* prefix) {
        for (; b != end; ++b) {
            if (course_.ended()) return false;
            if (end - b > 1 && w.asked()) {
                const number middle = b + (end - b) / 2;
                const auto [x, y] = fork_join(
                    w, [&, b](W& v) { return course_.run([&] { return first_pass(v, here, b, middle, prefix); }); },
                    [&, b](W& v) {
                        // On the same worker the first half has ended before this one begins.
                        const bool known = &v == &w && here.written[middle - 1];
                        return course_.run(
                            [&] { return first_pass(v, here, middle, end, known ? &here.sums[middle - 1] : nullptr); });
                    });
                return x && y;
            }
            const number from = here.begin(b), to = here.begin(b + 1);
            if (prefix != nullptr) {
                here.sums[b] = through(from, to, **prefix);
                prefix = &here.sums[b];
            } else {
                here.sums[b] = total(from, to);
            }
            here.written[b] = prefix != nullptr;
        }
        return true;
    }
    // Writes the blocks that are not written yet. The last block comes first, since the worker that summed another may
    // have it in its cache.
    bool second_pass(W& w, blocks& here, number i, number end) {
        for (; i != end; ++i) {
            if (course_.ended()) return false;
            if (end - i > 1 && w.asked()) {
                const number middle = i + (end - i) / 2;
                const auto half = [&](number a, number z) {
                    return [&, a, z](W& v) { return course_.run([&] { return second_pass(v, here, a, z); }); };
                };
                const auto [x, y] = fork_join(w, half(i, middle), half(middle, end));
                return x && y;
            }
            const number b = (i + here.count - 1) % here.count;
            if (!here.written[b]) here.sums[b] = through(here.begin(b), here.begin(b + 1), *std::move(here.sums[b]));
        }
        return true;
    }

    // Writes the outputs of [i, end), and returns the sum of all elements up to `end`.
    T through(number i, number end, T before) {
        for (; i != end; ++i) {
            if constexpr (inclusive) {
                before = combine_(std::move(before), first_[i]);
                out_[i] = before;
            } else {
                T next = combine_(before, first_[i]);
                out_[i] = std::move(before);
                before = std::move(next);
            }
        }
        return before;
    }
    T total(number i, number end) {
        T sum = first_[i];
        while (++i != end) sum = combine_(std::move(sum), first_[i]);
        return sum;
    }

    const In first_;
    const Out out_;
    Combine& combine_;
    Course& course_;
};

template <bool inclusive, class W, class In, class Out, class T, class Combine, class StopToken>
bool scan(W& w, In first, In last, Out out, T init, Combine& combine, const basic_loop_options<StopToken>& options) {
    if (!(first < last)) return true;
    const std::ptrdiff_t n = last - first;
    using course = loop_course<W, StopToken>;
    typename W::sync::template scoped<course> on_stack(
        chunk_of(loop_range<std::ptrdiff_t>{0, n}, options.grain, w.pool().lists()), options.stop);
    return scanning<inclusive, W, In, Out, T, Combine, course>(first, out, combine, *on_stack)
        .all(w, n, std::move(init));
}

template <class In, class Out, class T, class Combine>
concept scan_of =
    scannable_place<In> && scannable_place<Out> && std::is_lvalue_reference_v<std::iter_reference_t<Out>> &&
    std::copyable<T> && std::convertible_to<std::iter_reference_t<In>, T> && std::indirectly_writable<Out, T> &&
    requires(Combine& c, T a, In i) {
        { c(a, a) } -> std::convertible_to<T>;
        { c(a, *i) } -> std::convertible_to<T>;
    };

}  // namespace detail

// True: every output has been written.
template <class Sync, class Pool, class Limits, class In, class Out, class T, class Combine,
          class StopToken = std::stop_token>
    requires detail::scan_of<In, Out, T, Combine>
bool parallel_inclusive_scan(fork_context<Sync, Pool, Limits>& w, In first, In last, Out out, T init, Combine&& combine,
                             const basic_loop_options<StopToken>& options = {}) {
    return detail::scan<true>(w, first, last, out, std::move(init), combine, options);
}
template <class Sync, class Pool, class Limits, class In, class Out, class T, class Combine,
          class StopToken = std::stop_token>
    requires detail::scan_of<In, Out, T, Combine>
bool parallel_exclusive_scan(fork_context<Sync, Pool, Limits>& w, In first, In last, Out out, T init, Combine&& combine,
                             const basic_loop_options<StopToken>& options = {}) {
    return detail::scan<false>(w, first, last, out, std::move(init), combine, options);
}

}  // namespace apiary
