// awaiter: what the awaiters of this rung have in common: how one suspends, and how a stop token
// cancels it.
//
//     class acquiring : public awaiter<acquiring, Sync, Stop> {
//         bool await_ready();             // it need not wait at all
//         bool wait();                    // as a listed waiter; false: it need not wait after all
//         void cancel() noexcept;         // takes itself out, sets `how`, finishes; or is late
//         awaited await_resume() { return this->resumed(); }
//         ~acquiring();                   // if (this->left()): gives back what it was given
//     };
//
// The promise that awaits offers suspended_here() and stop_token() (suspended.hpp), whatever type
// it is otherwise. `Stop` says whose tokens those are: std_stop in programs; a checker brings its
// own, since std::stop_callback blocks outside of its sight.
//
// A stop that was asked for before the await begins cancels it, unless it need not wait: what can
// be had at once is had.
//
// Threads.   cancel: the thread that asks for the stop; any. The rest: the awaiting thread, and the one
//            on which the coroutine goes on.
// Lifetime.  An awaiter is awaited once. The callback is destroyed first thing when the coroutine goes
//            on; that waits until a cancel under way on another thread has returned.
// Destruction of a frame that waits: by a thread that knows that nobody brings it back meanwhile
// (no hand-over and no cancel is under way), or whose home has dropped the job.
//
// Checked by model_check/coroutines/.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <new>
#include <stop_token>
#include <utility>

#include <apiary/coroutines/waiter.hpp>

namespace apiary {

struct std_stop {
    using token = std::stop_token;
    template <class F>
    using callback = std::stop_callback<F>;
};

template <class Mine, class Sync, class Stop>
class awaiter : public waiter<Sync> {
public:
    using node = waiter<Sync>;
    using comes_home = void;  // what tells a pool that the coroutine goes on at its home

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
        auto& promise = coroutine.promise();
        this->begin(promise.suspended_here());
        if (!mine().wait()) return false;
        stage_.write(stage::waits);
        {
            typename Stop::token token = promise.stop_token();
            if (token.stop_possible()) {
                ::new (static_cast<void*>(&stop_)) callback(std::move(token), asked{&mine()});
                stage_.write(stage::waits_with_callback);
            }
        }
        return this->suspend();  // the last: the frame may be gone
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
        if (s == stage::waits_with_callback) std::destroy_at(&stop_);
        stage_.write(stage::fresh);
        return true;
    }

private:
    struct asked {
        Mine* of;
        void operator()() const noexcept { of->cancel(); }
    };
    using callback = typename Stop::template callback<asked>;
    enum class stage : std::uint8_t { fresh, waits, waits_with_callback };

    Mine& mine() { return static_cast<Mine&>(*this); }

    typename Sync::template cell<stage> stage_{stage::fresh};
    // By its stage, not by an optional: a coroutine that need not wait asks once on its way out.
    union {
        callback stop_;
    };
};

}  // namespace apiary
