// awaiter: the common base of the awaiters in this folder: how a coroutine suspends, and how a stop cancels its wait.
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
// If a stop was requested before the await begins, the await is cancelled, unless it can be served at once.
//
// wait() adds its hook and joins the list under the structure's lock. The unlock publishes the coroutine, so any cancel
// comes after it. For a wait that a service ends, second_of_two.hpp decides instead.
//
// Threads.   cancel: the thread that asks for the stop, which may be any. The rest: the awaiting thread, and the thread
//            on which the coroutine goes on.
// Lifetime.  An awaiter is awaited once. When the coroutine goes on, it first removes its hook, which waits until a
//            cancel under way on another thread has returned.
// Destroying a frame that waits is allowed to a thread that knows that nothing resumes it meanwhile (no hand-over and
// no cancel is under way), and to its home, which then drops the job.
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
    using comes_home = void;  // tells a pool that the coroutine is resumed through its home

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        auto& promise = coroutine.promise();
        this->begin(promise.suspended_here());
        return mine().wait(promise.stops());  // last: the frame may be gone
    }

    // Called by a wait() that cannot be served at once. False: a stop was requested before, and nothing will call
    // cancel.
    [[nodiscard]] bool listens(stop_hooks<Sync>* stops) {
        stage_.write(stage::waits);
        if (stops == nullptr) return true;
        if (!stops->add(*this, &cancel_it)) return false;
        stage_.write(stage::waits_with_hook);
        return true;
    }
    // The last step of a wait() that a service ends. False: the service has ended the wait already, so do not suspend.
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
    // True, once, if the coroutine has waited and has not returned through await_resume.
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
