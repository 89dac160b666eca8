// suspended: a coroutine that waits, and its home, which brings it back.
//
// When to use it. By whatever a coroutine waits for: a channel, a mutex, a timer. It keeps what
// suspended_here() of the promise gives, and calls resume(), once, when the wait is over. When not:
// for a child that the coroutine runs itself; its end goes on with the parent.
//
//     template <class Promise>
//     void await_suspend(std::coroutine_handle<Promise> h) {
//         waiter_ = h.promise().suspended_here();
//         …                                          // publish: from here on any thread may resume it
//     }
//
// A promise that can wait so offers
//     suspended<Sync> suspended_here() noexcept;
//     stop_hooks<Sync>* stops() noexcept;   // asks for the end of the wait (stop_hooks.hpp); null: nobody does
//
// An awaiter that brings its coroutine back by this says so: `using comes_home = void;`. What does not
// may resume the handle on whatever thread it likes, so a pool puts a frame of its own between.
//
// Threads.   resume: any, once for each suspension. It may come while await_suspend still runs: what
//            publishes the waiter publishes last, and touches neither the awaiter nor the frame behind that.
// Endings.   resume never refuses. What a home is to do with a coroutine behind a stop is its own rule.
// Lifetime.  The home outlives what is suspended in it.
#pragma once

#include <exception>

#include <apiary/tasks/job.hpp>

namespace apiary {

// What brings a suspended coroutine back: its pool, as a rule.
template <class Sync = real_sync>
class home {
public:
    virtual void resume(job<Sync>& what) noexcept = 0;

protected:
    ~home() = default;
};

template <class Sync = real_sync>
struct suspended {
    job<Sync>* what = nullptr;
    home<Sync>* where = nullptr;

    void resume() const noexcept { where->resume(*what); }
};

// What an await throws that was ended by a stop token. One that leaves a coroutine which nobody awaits is
// counted as cancelled, and not as an error.
struct wait_cancelled : std::exception {
    const char* what() const noexcept override { return "the wait was cancelled"; }
};

}  // namespace apiary
