// timer_service: the clock and the timers that sleeping coroutines need, as a concept.
//
//   now_ns()               the clock of its deadlines.
//   at(deadline, t, job)   runs the job on a thread of the service when the deadline has come. `t` is the service's
//                          record of the job, and lies in the caller's frame. The job is run or dropped, once; after
//                          that the service does not touch `t`. The job is dropped if it is cancelled, if the service
//                          ends first, and at once if the service has ended already. Throws std::bad_alloc; the job
//                          may have been dropped or not.
//   cancel(t)              drops the job unless it has been run or dropped. Any thread may call it once `at` has
//                          returned, also after the job's end, as long as `t` lives.
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
