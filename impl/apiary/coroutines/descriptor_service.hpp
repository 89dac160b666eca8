// descriptor_service: what coroutines that wait for descriptors need beside a clock: a thread that watches descriptors.
//
//   there(t, job)      runs the job on the watching thread, or drops it, as `at` does (timer_service.hpp). Jobs run
//                      in the order of the calls.
//   watch(s, what)     call it on the watching thread; event_source.hpp has the rules. It may throw std::bad_alloc and
//                      std::system_error.
//   unwatch(s)         likewise. False: the source was not watched, or its descriptor has been closed.
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
