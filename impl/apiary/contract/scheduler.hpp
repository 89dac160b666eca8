// scheduler: what a scheduler is here, as concepts: the least that a subject of this suite offers, and what it may
// offer beyond that.
//
// scheduler            post(f): f runs once, on some worker, or post returns false and f never runs.
//                      request_stop(drain): every task accepted before runs; later posts are refused.
//                      request_stop(discard): tasks not yet begun are dropped, and counted.
//                      report(): after the scheduler has stopped; accepted = run + discarded + cancelled.
// batch_posting        post_batch(span): all or none of the callables are accepted, in order.
// targeted_posting     post_to_worker(id, f): f runs on that worker.
// delayed_posting      post_delayed(f, d): f runs no earlier than d from the call. True when accepted.
// cancellable_posting  post_delayed returns a handle: cancel() is true once, when f will then never run.
// compute_posting      post_compute(f): f runs on a thread that serves no events.
//
// All posting calls are allowed from any thread and from tasks. None blocks for longer than a few instructions of
// another thread, unless a scheduler promises back-pressure.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace apiary {

enum class stop_mode : std::uint8_t { drain = 1, discard = 2 };

// How the accepted tasks ended. accepted = run + discarded + cancelled.
struct stop_report {
    std::uint64_t run = 0;         // begun and ended, by return or by exception
    std::uint64_t discarded = 0;   // dropped by the stop: never begun; timers not yet due are among them
    std::uint64_t cancelled = 0;   // by their handle, before they began
    std::uint64_t refused = 0;     // posts after the stop
    std::uint64_t exceptions = 0;  // of those run, how many ended by an exception
};

namespace detail {
struct any_callable {
    void operator()() const {}
};
}  // namespace detail

template <class S>
concept scheduler = requires(S& s, detail::any_callable f, stop_mode how) {
    { s.post(f) } -> std::same_as<bool>;
    { s.request_stop(how) };
    { s.report() } -> std::same_as<stop_report>;
};

template <class S>
concept batch_posting = scheduler<S> && requires(S& s, std::span<detail::any_callable> batch) {
    { s.post_batch(batch) } -> std::same_as<std::size_t>;
};

template <class S>
concept targeted_posting = scheduler<S> && requires(S& s, detail::any_callable f) {
    { s.post_to_worker(0U, f) } -> std::same_as<bool>;
};

template <class S>
concept delayed_posting = scheduler<S> && requires(S& s, detail::any_callable f, std::chrono::nanoseconds d) {
    static_cast<bool>(s.post_delayed(f, d));
};

template <class S>
concept cancellable_posting = delayed_posting<S> && requires(S& s, detail::any_callable f, std::chrono::nanoseconds d) {
    { s.post_delayed(f, d).cancel() } -> std::same_as<bool>;
};

template <class S>
concept compute_posting = scheduler<S> && requires(S& s, detail::any_callable f) {
    { s.post_compute(f) } -> std::same_as<bool>;
};

}  // namespace apiary
