// limited: a wait that ends at a deadline at the latest, and loses nothing: it is either served or it leaves.
//
//     if (auto r = co_await c.receive_for(timers, 5ms)) use(*r.value);    // channel.hpp
//     if (auto p = co_await s.acquire_for(timers, 5ms)) work();           // async_semaphore.hpp; `p` gives it back
//     if (auto held = co_await m.lock_for(timers, 5ms)) work();           // async_mutex.hpp
//
// When to use it. For a timeout of one such wait. When not: for the first of several (select.hpp). A when_any of a wait
// and a sleep is no substitute: it loses what its loser was given.
//
// Why it loses nothing. The wait lies in its structure's list like any other, and the thread that takes it out under
// the lock decides how it ends: the thread that serves it, the timer's, or one that requests a stop. So no other word
// is needed to decide, and the serving code knows nothing of limits.
//
// Threads.   As for the wait. The timer's job runs on a thread of the service.
// Progress.  As for the wait; one that must wait adds the service's at and cancel. If the coroutine was served while
//            the timer's job runs on another thread, it waits until the job has returned: for one pass through the
//            structure's lock.
// Result.    The wait's, or timed_out. cancelled: a stop was requested, or the service ended.
// Time.      As in sleeping.hpp: nanoseconds of the service's clock. With a deadline that has passed, or a delay of
//            zero or less, the wait is tried once and never suspends. A delay beyond the clock's range sets no limit.
// Lifetime.  The structure and the service must live until the coroutine has gone on.
// Errors.    The service's std::bad_alloc, unless another thread has ended the wait meanwhile. The wait has left its
//            list then.
// Destroying a frame that waits: as awaiter.hpp says; besides, no thread may be running the timer's job.
//
// Invariants
//   I1  The coroutine goes on after both the thread that suspends it and the one that took the wait out, whichever is
//       second. So `at` has returned when the timer is cancelled.
//   I2  It leaves the awaiter only after the timer's job has ended.
//
// Synchronisation. The structure's lock; second_of_two; and
//   S1  end_it: store over_ (release) -> end: load (acquire). The job's access to the frame comes before the frame goes
//       on.
//
// Checked by model_check/coroutines/limited_check.cpp. Stressed by stress/coroutines/coroutines_stress.cpp. Tested by
// limited_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/coroutines/second_of_two.hpp>
#include <apiary/coroutines/timer_service.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/tasks/suspended.hpp>

namespace apiary {

// A timer in a frame. It competes with the other ends of its Owner's wait. The owner has
//   bool time_ends(awaited why)    true: this ends the wait. `why`: timed_out; cancelled if the service dropped it
//   void goes_on()                 called after time_ends has returned true
template <timer_service Service, class Owner>
class wait_limit : private job<typename Service::sync> {
    using sync = typename Service::sync;

public:
    wait_limit(Service& s, std::int64_t deadline_ns, Owner& o)
        : job<sync>(&end_it), service_(s), deadline_ns_(deadline_ns), owner_(o) {
        over_.store(true, std::memory_order_relaxed);
    }

    bool has_come() const { return deadline_ns_ <= service_.now_ns(); }

    // Call it once. If it throws, no timer is left.
    void begin() {
        over_.store(false, std::memory_order_relaxed);
        try {
            service_.at(deadline_ns_, timed_, *this);
        } catch (...) {
            over_.store(true, std::memory_order_relaxed);
            throw;
        }
    }
    // Called after begin has returned and the end of the wait has been decided.
    void end() noexcept {
        if (over_.load(std::memory_order_acquire)) return;  // S1
        service_.cancel(timed_);
        if (over_.load(std::memory_order_acquire)) return;
        sync::reach("wait_limit.waited_for_the_job");
        (void)sync::spin_until(over_, [](bool over) { return over; });
    }

private:
    static bool end_it(job<sync>& self, job_end how, any_worker*) {
        auto& mine = static_cast<wait_limit&>(self);
        Owner& owner = mine.owner_;
        const bool decides = owner.time_ends(how == job_end::run ? awaited::timed_out : awaited::cancelled);
        mine.over_.store(true, std::memory_order_release);  // S1; unless it decides, it touches nothing after this
        if (decides) owner.goes_on();
        return true;
    }

    Service& service_;
    const std::int64_t deadline_ns_;
    Owner& owner_;
    typename Service::timed timed_;
    typename sync::template atomic<bool> over_;
};

// `Wait` is an awaiter that also has
//   bool look()                 as await_ready, but never false if the wait can be served
//   bool withdraw() noexcept    takes the wait out of its list; false: another thread did
template <class Wait, timer_service Service>
class [[nodiscard]] limited final : public awaiter<limited<Wait, Service>, typename Service::sync>,
                                    private home<typename Service::sync> {
    using sync = typename Service::sync;
    friend wait_limit<Service, limited>;

public:
    template <class... Of>
    limited(Service& s, std::int64_t deadline_ns, Of&... of) : wait_(of...), limit_(s, deadline_ns, *this) {}
    ~limited() {
        if (!this->left()) return;
        (void)leaves(awaited::cancelled);  // before the timer goes: its drop would let the coroutine go on
        limit_.end();
    }

    bool await_ready() {
        if (wait_.await_ready()) return true;
        if (!limit_.has_come()) return false;
        if (!wait_.look()) wait_.how.write(awaited::timed_out);
        return true;
    }
    auto await_resume() {
        (void)this->resumed();
        limit_.end();  // I2
        return wait_.await_resume();
    }

    // For the base class awaiter.
    bool wait(stop_hooks<sync>* stops) {
        wait_.begin(this->by_way_of(*this));
        if (!wait_.wait(nullptr)) return false;
        try {
            limit_.begin();
        } catch (...) {
            // The service may have dropped the job already; that drop has then taken the wait out. If another thread
            // has taken it, that thread lets the coroutine go on.
            if (leaves(awaited::cancelled) || ended_by_limit_.read()) throw;
        }
        if (!this->listens(stops)) cancel();
        return this->stays_suspended(suspended_and_over_);  // I1
    }
    void cancel() noexcept {
        if (leaves(awaited::cancelled)) return wait_.finish();
        sync::reach("limited.cancelled_too_late");
    }

private:
    bool leaves(awaited why) noexcept {
        if (!wait_.withdraw()) return false;
        wait_.how.write(why);
        return true;
    }
    // For wait_limit.
    bool time_ends(awaited why) noexcept {
        if (leaves(why)) {
            ended_by_limit_.write(true);
            return true;
        }
        sync::reach("limited.came_too_late");
        return false;
    }
    void goes_on() noexcept { wait_.finish(); }

    // Called by the thread that took the wait out.
    void resume(job<sync>&) noexcept override {
        if (suspended_and_over_.second()) this->finish();
    }

    Wait wait_;
    wait_limit<Service, limited> limit_;
    second_of_two<sync> suspended_and_over_;
    typename sync::template cell<bool> ended_by_limit_{false};
};

}  // namespace apiary
