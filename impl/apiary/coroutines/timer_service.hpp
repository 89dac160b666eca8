// timer_service: what sleeping coroutines need of a clock and a thread, as a seam.
//
//   now_ns()               the clock of its deadlines.
//   at(deadline, t, job)   runs the job on a thread of the service when the deadline has come. `t` is the service's
//   record
//                          of it, and lies in the caller's frame. The job is run or dropped, once, and `t` is not
//                          touched from then on. It is dropped if it is cancelled, if the service ends before, and at
//                          once if the service has ended. Throws std::bad_alloc; the job may then be dropped or not.
//   cancel(t)              drops the job unless it has been run or dropped. From any thread, once `at` has returned;
//   while
//                          `t` lives it may come after the job's end.
//
//   timer_thread     on a timer heap, with a thread of its own (timer_thread.hpp)
//   delayed_posts    on a scheduler's post_delayed (delayed_posts.hpp)
#pragma once

#include <concepts>
#include <cstdint>

#include <apiary/tasks/job.hpp>

namespace apiary {

template <class S>
concept timer_service = requires(S& s, typename S::timed& t, std::int64_t deadline_ns, job<typename S::sync>& what) {
    { s.now_ns() } -> std::same_as<std::int64_t>;
    { s.at(deadline_ns, t, what) } -> std::same_as<void>;
    { s.cancel(t) } -> std::same_as<void>;
};

}  // namespace apiary
