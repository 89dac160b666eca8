// parallel_for, parallel_reduce: loops over a range of indices, divided when a worker is idle, and only then.
//
//     apiary::parallel_for(w, 0, n, [&](auto i) { a[i] = f(i); });
//     const double sum = apiary::parallel_reduce(w, 0, n, 0.0, [&](auto i) { return a[i]; }, std::plus<>());
//
// When to use it. For loops whose iterations do not depend on each other. When not: for iterations that wait for each
// other; if no worker is idle they run in order on one thread.
//
// How it divides. A worker runs its range in chunks. Between two chunks it checks whether a worker is hungry, as a fork
// does, and then forks half of what is left. So a loop without helpers is a plain loop, and an uneven loop is divided
// where its work is.
// Grain.   The number of indices in a chunk, that is, between two checks. 0 chooses a 64th of each worker's share,
//          1,024 at most.
// Form, bodies, bounds: tasks/loop_range.hpp describes what all loops have in common.
// Errors.  An exception ends the loop: no chunk begins after it. Chunks that other workers have begun go on to their
//          ends. One of the exceptions leaves the call; the others are counted (fork_join.hpp).
// Stop.    After a request no chunk begins. If some chunk had not begun, parallel_for then returns false, and
//          parallel_reduce, if it was given options, an empty result. Any token type with stop_requested() will do in
//          place of std::stop_token.
// Checked by model_check/schedulers/fork_join. Tested by fork_join_parallel_test.cpp and fork_matrix_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/fork_join/fork_join.hpp>
#include <apiary/tasks/loop_range.hpp>

namespace apiary {

template <class StopToken = std::stop_token>
struct basic_loop_options {
    std::size_t grain = 0;
    StopToken stop = {};
};
using loop_options = basic_loop_options<>;

namespace detail {

// For loops without options. With a std::stop_token, which is in memory, each chunk looks at it.
struct never_stopped {
    static constexpr bool stop_requested() noexcept { return false; }
};

template <class W, class Body, class I>
[[gnu::always_inline]] inline decltype(auto) call_body(W& w, Body& body, I i) {
    if constexpr (std::is_invocable_v<Body&, W&, I>)
        return body(w, i);
    else
        return body(i);
}

// A 64th of each worker's share is long enough to justify a check, and short enough to be divided.
template <class I>
std::uint64_t chunk_of(loop_range<I> r, std::size_t grain, unsigned workers) {
    constexpr std::uint64_t looks = 64, most = 1024;
    return r.chunk(grain, looks * workers, most);
}

// Whether the loop goes on; shared by all its parts. Relaxed: the flag publishes nothing, and joins pass on exceptions.
template <class W, class StopToken>
class loop_course {
public:
    loop_course(std::uint64_t chunk, const StopToken& stop) : chunk_(chunk), stop_(stop) {}

    std::uint64_t chunk() const { return chunk_; }
    bool ended() const { return stop_.stop_requested() || thrown_.load(std::memory_order_relaxed); }
    // Called by the worker that runs the part. An exception of the part ends the loop before this worker waits for
    // other parts.
    template <class Part>
    auto run(Part part) {
        std::exception_ptr thrown;
        try {
            return part();
        } catch (...) {
            thrown = std::current_exception();
        }
        thrown_.store(true, std::memory_order_relaxed);
        std::rethrow_exception(std::move(thrown));
    }

private:
    const std::uint64_t chunk_;
    const StopToken& stop_;
    typename W::sync::template atomic<bool> thrown_{false};
};

// False: an exception or a stop ended the loop before its last chunk.
template <class W, class I, class Course, class Body>
bool loop(W& w, loop_range<I> r, Course& course, Body& body) {
    while (r.first < r.last) {
        if (course.ended()) return false;
        const std::uint64_t left = r.size();
        if (left > course.chunk() && w.asked()) {
            const auto part = [&](loop_range<I> half) {
                return [&, half](W& v) { return course.run([&] { return loop(v, half, course, body); }); };
            };
            const auto [a, b] = fork_join(w, part(r.front(left / 2)), part(r.behind(left / 2)));
            return a && b;
        }
        const I end = r.at(std::min(course.chunk(), left));
        for (; r.first != end; ++r.first) call_body(w, body, r.first);
    }
    return true;
}

// Empty: an exception or a stop ended the loop before its last chunk.
template <class W, class I, class Course, class T, class Map, class Combine>
std::optional<T> reduce(W& w, loop_range<I> r, Course& course, const T& identity, Map& map, Combine& combine) {
    T sum = identity;
    while (r.first < r.last) {
        if (course.ended()) return std::nullopt;
        const std::uint64_t left = r.size();
        if (left > course.chunk() && w.asked()) {
            const auto part = [&](loop_range<I> half) {
                return [&, half](W& v) {
                    return course.run([&] { return reduce(v, half, course, identity, map, combine); });
                };
            };
            auto [a, b] = fork_join(w, part(r.front(left / 2)), part(r.behind(left / 2)));
            if (!a || !b) return std::nullopt;
            return combine(combine(std::move(sum), std::move(*a)), std::move(*b));
        }
        const I end = r.at(std::min(course.chunk(), left));
        for (; r.first != end; ++r.first) sum = combine(std::move(sum), call_body(w, map, r.first));
    }
    return sum;
}

}  // namespace detail

// True: the body ran for every index.
template <class Sync, class Pool, class Limits, class First, class Last, class Body, class StopToken = std::stop_token>
    requires detail::loop_bounds<First, Last>
bool parallel_for(fork_context<Sync, Pool, Limits>& w, First first, Last last, Body&& body,
                  const basic_loop_options<StopToken>& options) {
    const auto all = detail::range_between(first, last);
    using course = detail::loop_course<fork_context<Sync, Pool, Limits>, StopToken>;
    typename Sync::template scoped<course> on_stack(detail::chunk_of(all, options.grain, w.pool().lists()),
                                                    options.stop);
    return detail::loop(w, all, *on_stack, body);
}

template <class Sync, class Pool, class Limits, class First, class Last, class Body>
    requires detail::loop_bounds<First, Last>
bool parallel_for(fork_context<Sync, Pool, Limits>& w, First first, Last last, Body&& body) {
    return parallel_for(w, first, last, body, basic_loop_options<detail::never_stopped>{});
}

// Combines map(i) for all indices, in their order but grouped at will: combine(… combine(combine(identity, map(first)),
// map(first + 1)) …). So `combine` must be associative, and `identity` must be its neutral element. Empty: a stop came
// before map had run for every index.
template <class Sync, class Pool, class Limits, class First, class Last, class T, class Map, class Combine,
          class StopToken = std::stop_token>
    requires detail::loop_bounds<First, Last>
std::optional<T> parallel_reduce(fork_context<Sync, Pool, Limits>& w, First first, Last last, T identity, Map&& map,
                                 Combine&& combine, const basic_loop_options<StopToken>& options) {
    const auto all = detail::range_between(first, last);
    using course = detail::loop_course<fork_context<Sync, Pool, Limits>, StopToken>;
    typename Sync::template scoped<course> on_stack(detail::chunk_of(all, options.grain, w.pool().lists()),
                                                    options.stop);
    return detail::reduce(w, all, *on_stack, identity, map, combine);
}

// The same without a stop. `grain`: indices in a chunk; 0 chooses.
template <class Sync, class Pool, class Limits, class First, class Last, class T, class Map, class Combine>
    requires detail::loop_bounds<First, Last>
T parallel_reduce(fork_context<Sync, Pool, Limits>& w, First first, Last last, T identity, Map&& map, Combine&& combine,
                  std::size_t grain = 0) {
    return *parallel_reduce(w, first, last, std::move(identity), map, combine,
                            basic_loop_options<detail::never_stopped>{.grain = grain});
}

}  // namespace apiary
