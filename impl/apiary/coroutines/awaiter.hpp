// awaiter: what the awaiters of this rung have in common: how one suspends, and how a stop cancels it.
//
//   class acquiring : public awaiter<acquiring, Sync> {
//       bool await_ready();             // it need not wait at all
//       bool wait(stop_hooks<Sync>*);   // true: it is suspended, and may have ended by now
//       void cancel() noexcept;         // takes itself out, sets `how`, finishes; or is late
//       awaited await_resume() { return this->resumed(); }
//       ~acquiring();                   // if (this->left()): gives back what it was given
//   };
//
// The promise that awaits offers suspended_here() and stops() (suspended.hpp), whatever type it is otherwise.
//
// A stop that was asked for before the await begins cancels it, unless it need not wait: what can
// be had at once is had.
//
// wait() listens and joins the list under the structure's lock, whose unlock is what publishes the coroutine: a cancel
// comes behind it. Where a service ends the wait, second_of_two.hpp decides instead.
//
// Threads.   cancel: the thread that asks for the stop; any. The rest: the awaiting thread, and the one
//            on which the coroutine goes on.
// Lifetime.  An awaiter is awaited once. Its hook is taken out first thing when the coroutine goes
//            on; that waits until a cancel under way on another thread has returned.
// Destruction of a frame that waits: by a thread that knows that nobody brings it back meanwhile
// (no hand-over and no cancel is under way), or whose home has dropped the job.
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
    using comes_home = void;  // what tells a pool that the coroutine goes on at its home

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        auto& promise = coroutine.promise();
        this->begin(promise.suspended_here());
        return mine().wait(promise.stops());  // the last: the frame may be gone
    }

    // For wait, when it must. False: a stop was asked for before, and nobody calls cancel.
    [[nodiscard]] bool listens(stop_hooks<Sync>* stops) {
        stage_.write(stage::waits);
        if (stops == nullptr) return true;
        if (!stops->add(*this, &cancel_it)) return false;
        stage_.write(stage::waits_with_hook);
        return true;
    }
    // The last of a wait that a service ends. False: it has ended it.
    [[nodiscard]] static bool stays_suspended(second_of_two<Sync>& suspended_and_over) {
        if (!suspended_and_over.second()) return true;
        Sync::reach("awaiter.went_on");
        return false;
    }

protected:
    [[gnu::always_inline]] awaiter() {}
    [[gnu::always_inline]] ~awaiter() { (void)left(); }

    // First thing on the way out.
    [[gnu::always_inline]] awaited resumed() {
        (void)left();
        return this->how.read();
    }
    // True once: it waited, and has not come back by await_resume.
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
