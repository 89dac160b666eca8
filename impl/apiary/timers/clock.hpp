// clock: where a worker gets the time from, so that a test can hold it still; and when a delay ends.
//
//   steady_clock<Sync>   the policy's monotonic clock; under a checker, its virtual one.
//   manual_clock<Sync>   stands still until it is moved; for tests.
//   deadline_after       the time at which a delay that begins now will end.
//
// Units.    Nanoseconds since an arbitrary start, never negative.
// Threads.  now_ns, advance, set: any.
// Progress. Wait-free.
// Memory.   The clock orders nothing: it tells the time, not what has happened by then.
#pragma once

#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <ratio>
#include <type_traits>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class C>
concept clock_source = requires(const C& c) {
    { c.now_ns() } -> std::same_as<std::int64_t>;
};

template <class Sync = real_sync>
struct steady_clock {
    std::int64_t now_ns() const noexcept { return Sync::now_ns(); }
};

template <class Sync = real_sync>
class manual_clock {
public:
    explicit manual_clock(std::int64_t start_ns = 0) { now_.store(start_ns, std::memory_order_relaxed); }

    std::int64_t now_ns() const { return now_.load(std::memory_order_relaxed); }
    void advance(std::int64_t by_ns) { now_.fetch_add(by_ns, std::memory_order_relaxed); }
    void set(std::int64_t now_ns) { now_.store(now_ns, std::memory_order_relaxed); }  // may also go back

private:
    typename Sync::template atomic<std::int64_t> now_;
};

static_assert(clock_source<steady_clock<>> && clock_source<manual_clock<>>);

// Rounds up, so that nothing is early. A delay beyond the clock gives INT64_MAX, which means never; one that is
// negative or no number counts as zero. Computes in wide numbers: the count of a delay times the nanoseconds of its
// unit may exceed 64 bits for a delay of an hour, if its ticks are 2^-30 seconds or a processor's cycles.
template <class Rep, class Period>
std::int64_t deadline_after(std::int64_t now_ns, std::chrono::duration<Rep, Period> delay) {
    if (!(delay > delay.zero())) return now_ns;
    constexpr bool fractions = std::chrono::treat_as_floating_point_v<Rep>;
    __extension__ using wide_integer = __int128;
    using wide = std::conditional_t<fractions, std::common_type_t<Rep, double>, wide_integer>;
    using nanoseconds = std::chrono::duration<wide, std::nano>;
    wide ns;
    if constexpr (fractions)
        ns = std::ceil(nanoseconds(delay).count());
    else
        ns = std::chrono::ceil<nanoseconds>(delay).count();
    const std::int64_t left = INT64_MAX - now_ns;
    if (ns >= static_cast<wide>(left)) return INT64_MAX;
    return now_ns + static_cast<std::int64_t>(ns);
}

}  // namespace apiary
