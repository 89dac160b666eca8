// descriptor_service: what coroutines that wait for descriptors need, beside a clock: a thread that watches.
//
//   there(t, job)      runs the job on the thread that watches, or drops it, as `at` does (timer_service.hpp). Jobs
//                      run in the order of the calls.
//   watch(s, what)     on that thread; event_source.hpp has the rules. It may throw std::bad_alloc and
//                      std::system_error.
//   unwatch(s)         on that thread. False: it was not watched, or its descriptor has been closed.
//
//   timer_thread     with a driver that watches, such as epoll_driver (timer_thread.hpp)
//   one_worker       one IO worker of a hive (one_worker.hpp)
#pragma once

#include <concepts>

#include <apiary/coroutines/timer_service.hpp>
#include <apiary/events/event_source.hpp>
#include <apiary/tasks/job.hpp>

namespace apiary {

template <class S>
concept descriptor_service =
    timer_service<S> && requires(S& s, typename S::timed& t, job<typename S::sync>& j, event_source& e, interest what) {
        { s.there(t, j) } -> std::same_as<void>;
        { s.watch(e, what) } -> std::same_as<watch_result>;
        { s.unwatch(e) } -> std::same_as<bool>;
    };

}  // namespace apiary
