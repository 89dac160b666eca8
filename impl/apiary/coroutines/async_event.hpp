// async_event: coroutines that await it suspend until it is set. It stays set until a reset.
//
//     const awaited how = co_await e.wait();        // done, or cancelled; wait_for has a limit (limited.hpp)
//
// When to use it. To let many coroutines go on at once. When not: to let one at a time go on, or a given number
// (async_semaphore); to hand a value over (channel).
//
// Threads.   all: any.
// Progress.  Each call holds a mutex for a few steps; wait also while it adds its hook to the worker's stop_hooks, and
//            set for one step for each waiter. No coroutine runs under the mutex.
// Order.     Waiters go on in the order of their arrival.
// Bad input. Setting a set event and resetting an unset one change nothing. Destroying the event while a coroutine
//            waits ends the program.
// Lifetime.  The event must live until each coroutine whose await it has ended has gone on: a late cancel of a
//            coroutine that is still on its way looks at the event. So a coroutine that the event let go on may destroy
//            it only if no other coroutine has waited, or if all others are known to have passed their await.
//
// Synchronisation. The mutex: a coroutine sees after its wait all that came before the set.
//
// Checked by model_check/coroutines/waiter_check.cpp. Tested by async_event_test.cpp.
#pragma once

#include <chrono>
#include <cstdint>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/coroutines/limited.hpp>
#include <apiary/coroutines/timer_service.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/timers/clock.hpp>

namespace apiary {

template <class Sync = real_sync>
class async_event {
public:
    class [[nodiscard]] awaiting : public awaiter<awaiting, Sync> {
    public:
        explicit awaiting(async_event& of) : of_(of) {}
        ~awaiting() {
            if (this->left()) (void)of_.forget(*this);
        }

        bool await_ready() const { return false; }
        awaited await_resume() { return this->resumed(); }

        // For the base class awaiter.
        bool wait(stop_hooks<Sync>* stops) {
            const typename Sync::lock held(of_.mutex_);
            if (of_.set_.read()) return false;
            if (!this->listens(stops)) {
                Sync::reach("cancel.came_before");
                this->how.write(awaited::cancelled);
                return false;
            }
            of_.waiting_.append(*this);
            return true;
        }
        void cancel() noexcept {
            if (!of_.forget(*this)) return Sync::reach("async_event.cancelled_too_late");
            this->how.write(awaited::cancelled);
            this->finish();
        }
        // For limited and select.
        bool look() { return of_.is_set(); }
        bool withdraw() noexcept { return of_.forget(*this); }
        joined join(claim<Sync>& by) {
            {
                const typename Sync::lock held(of_.mutex_);
                if (!of_.set_.read()) {
                    of_.waiting_.append(*this, listing::with_claim);
                    return joined::waits;
                }
            }
            return by.take(*this) ? joined::served : joined::lost;
        }
        void give_back() noexcept {}

    private:
        async_event& of_;
    };

    async_event() = default;
    ~async_event() {
        if (!waiting_.empty()) Sync::fail("an event was destroyed while a coroutine waits for it");
    }
    async_event(const async_event&) = delete;
    async_event& operator=(const async_event&) = delete;

    awaiting wait() { return awaiting(*this); }
    // As wait, with a limit (limited.hpp): the result may also be timed_out.
    template <timer_service Timers, class Rep, class Period>
    limited<awaiting, Timers> wait_for(Timers& t, std::chrono::duration<Rep, Period> delay) {
        return {t, deadline_after(t.now_ns(), delay), *this};
    }
    template <timer_service Timers>
    limited<awaiting, Timers> wait_until(Timers& t, std::int64_t deadline_ns) {
        return {t, deadline_ns, *this};
    }

    void set() {
        taken_waiters<Sync> all;
        {
            const typename Sync::lock held(mutex_);
            set_.write(true);
            while (awaiting* w = waiting_.take_first_that_wins()) all.add(*w);
        }
        all.finish_all();
    }
    void reset() {
        const typename Sync::lock held(mutex_);
        set_.write(false);
    }
    bool is_set() const {  // a hint if other threads may reset it
        const typename Sync::lock held(mutex_);
        return set_.read();
    }

private:
    bool forget(awaiting& w) noexcept {
        const typename Sync::lock held(mutex_);
        return waiting_.take(w);
    }

    mutable typename Sync::mutex mutex_;
    // Guarded by mutex_.
    typename Sync::template cell<bool> set_{false};
    wait_list<awaiting> waiting_;
};

}  // namespace apiary
