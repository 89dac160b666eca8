// awaiter: what the awaiters of this rung have in common: how one suspends, and how a stop cancels it.
//
//   class acquiring : public awaiter<acquiring, Sync> {
//       bool await_ready();             // true: it need not wait at all
//       bool wait(stop_hooks<Sync>*);   // true: it is suspended, and may have ended by now
//       void cancel() noexcept;         // takes itself out, sets `how`, finishes; or comes too late
//       awaited await_resume() { return this->resumed(); }
//       ~acquiring();                   // if (this->left()): gives back what it was given
//   };
//
// The promise of the coroutine may be of any type that offers suspended_here() and stops() (suspended.hpp).
//
// A stop that was asked for before the await begins cancels it, unless it need not wait: an await that can be served at
// once is served.
//
// wait() adds its hook and joins the list under the structure's lock. The unlock publishes the coroutine, so a cancel
// comes after it. If a service ends the wait, second_of_two.hpp decides instead.
//
// Threads.   cancel: the thread that asks for the stop, which may be any. The rest: the awaiting thread, and the thread
//            on which the coroutine goes on.
// Lifetime.  An awaiter is awaited once. When the coroutine goes on, it first takes its hook out, and that waits until
//            a cancel under way on another thread has returned.
// Destruction of a frame that waits: by a thread that knows that nothing brings it back meanwhile (no hand-over and no
// cancel is under way), or by its home, which drops the job.
//
// Checked by model_check/coroutines/.
#pragma once

#include <coroutine>
#include <cstdint>

#include <apiary/coroutines/second_of_two.hpp>
#include <apiary/coroutines/stop_hooks.hpp>
#include <apiary/coroutines/waiter.hpp>

namespace apiary {

template <class Mine, class Sync>
class awaiter : public waiter<Sync>, private stop_hook<Sync> {
public:
    using node = waiter<Sync>;
    using comes_home = void;  // tells a pool that the coroutine goes on at its home

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        auto& promise = coroutine.promise();
        this->begin(promise.suspended_here());
        return mine().wait(promise.stops());  // the last: the frame may be gone
    }

    // For a wait() that must wait. False: a stop was asked for before, and nothing will call cancel.
    [[nodiscard]] bool listens(stop_hooks<Sync>* stops) {
        stage_.write(stage::waits);
        if (stops == nullptr) return true;
        if (!stops->add(*this, &cancel_it)) return false;
        stage_.write(stage::waits_with_hook);
        return true;
    }
    // The last step of a wait() that a service ends. False: the service has ended the wait already.
    [[nodiscard]] static bool stays_suspended(second_of_two<Sync>& suspended_and_over) {
        if (!suspended_and_over.second()) return true;
        Sync::reach("awaiter.went_on");
        return false;
    }

protected:
    [[gnu::always_inline]] awaiter() {}
    [[gnu::always_inline]] ~awaiter() { (void)left(); }

    // The first step of await_resume.
    [[gnu::always_inline]] awaited resumed() {
        (void)left();
        return this->how.read();
    }
    // True, once, if it waited and has not come back by await_resume.
    [[gnu::always_inline]] bool left() {
        const stage s = stage_.read();
        if (s == stage::fresh) [[likely]]
            return false;
        if (s == stage::waits_with_hook) stop_hooks<Sync>::remove(*this);
        stage_.write(stage::fresh);
        return true;
    }

private:
    enum class stage : std::uint8_t { fresh, waits, waits_with_hook };

    static void cancel_it(stop_hook<Sync>& h) noexcept { static_cast<awaiter&>(h).mine().cancel(); }
    Mine& mine() { return static_cast<Mine&>(*this); }

    typename Sync::template cell<stage> stage_{stage::fresh};
};

}  // namespace apiary
