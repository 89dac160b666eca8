// clock: where a worker gets the time from, so that a test can hold it still.
//
//   steady_clock<Sync>   the policy's monotonic clock; under a checker, its virtual one.
//   manual_clock<Sync>   stands still until it is moved. For tests.
//
// Units.    Nanoseconds since an arbitrary start, never negative.
// Threads.  now_ns, advance, set: any.
// Progress. wait-free.
// Memory.   The clock orders nothing: it tells the time, and not what has happened by then.
// Source:   seed 002 section 14.1.
#pragma once

#include <concepts>
#include <cstdint>

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

}  // namespace apiary
