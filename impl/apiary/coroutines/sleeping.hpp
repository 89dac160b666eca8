// sleep_for, sleep_until: a coroutine suspends until a time has come.
//
//     const awaited how = co_await sleep_for(timers, 5ms);
//     if (how == awaited::cancelled) co_return;
//
// When to use it. With any timer service (timer_service.hpp). When not: to wait for something else with a timeout
// (limited.hpp, select.hpp; for an await without one, a timer asks its stop token).
//
// Threads.   A thread of the service brings the coroutine back; it goes on where its home says.
// Result.    done: the deadline has passed; it never comes earlier. cancelled: a stop was requested, or the service
//            ended.
// Time.      Deadlines are nanoseconds of the service's clock. With a deadline in the past, or a delay of zero or less,
//            the coroutine does not suspend. With a delay beyond the clock's range, only a cancel ends the wait.
// Errors.    The service's std::bad_alloc leaves the await.
//
// Invariants
//   I1  The service ends the job once, by a run or a drop, and that ends the await once.
//
// Synchronisation. The service's, for its job; second_of_two for the coroutine: the service may end the job before the
// coroutine is suspended.
//
// Checked by model_check/coroutines/sleep_check.cpp. Tested by sleep_test.cpp.
#pragma once

#include <chrono>
#include <cstdint>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/coroutines/timer_service.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/timers/clock.hpp>

namespace apiary {

template <timer_service Service>
class [[nodiscard]] sleeping : public awaiter<sleeping<Service>, typename Service::sync>,
                               private job<typename Service::sync> {
    using sync = typename Service::sync;
    using ends = job<sync>;

public:
    sleeping(Service& s, std::int64_t deadline_ns) : ends(&end_it), service_(s), deadline_ns_(deadline_ns) {}
    ~sleeping() {
        if (this->left()) {
            forgotten_.write(true);
            service_.cancel(timed_);
        }
    }

    bool await_ready() const { return deadline_ns_ <= service_.now_ns(); }
    awaited await_resume() { return this->resumed(); }

    // For awaiter.
    bool wait(stop_hooks<sync>* stops) {
        service_.at(deadline_ns_, timed_, *this);
        if (!this->listens(stops)) cancel();
        return this->stays_suspended(suspended_and_over_);
    }
    void cancel() noexcept { service_.cancel(timed_); }

private:
    static bool end_it(job<sync>& self, job_end how, any_worker*) {
        auto& mine = static_cast<sleeping&>(self);
        if (mine.forgotten_.read()) return true;
        mine.how.write(how == job_end::run ? awaited::done : awaited::cancelled);
        if (mine.suspended_and_over_.second()) mine.finish();
        return true;
    }

    Service& service_;
    const std::int64_t deadline_ns_;
    typename Service::timed timed_;
    typename sync::template cell<bool> forgotten_{false};  // true: its frame is being destroyed
    second_of_two<sync> suspended_and_over_;
};

template <timer_service Service>
sleeping<Service> sleep_until(Service& s, std::int64_t deadline_ns) {
    return {s, deadline_ns};
}

template <timer_service Service, class Rep, class Period>
sleeping<Service> sleep_for(Service& s, std::chrono::duration<Rep, Period> delay) {
    return {s, deadline_after(s.now_ns(), delay)};
}

}  // namespace apiary
