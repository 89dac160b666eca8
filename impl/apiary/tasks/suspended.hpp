// suspended: a coroutine that waits, and its home, which brings it back.
//
// When to use it. In an awaitable: a channel, a mutex, a timer. It keeps the result of the promise's suspended_here()
// and calls resume(), once, when the wait is over. When not: for a child that the coroutine runs itself; the child's
// end resumes the parent.
//
//     template <class Promise>
//     void await_suspend(std::coroutine_handle<Promise> h) {
//         waiter_ = h.promise().suspended_here();
//         …                                          // publish: from here on any thread may resume it
//     }
//
// A promise that can wait in this way offers
//     suspended<Sync> suspended_here() noexcept;
//     stop_hooks<Sync>* stops() noexcept;   // through these a stop ends the wait (stop_hooks.hpp); null: no stop does
//
// An awaiter that resumes its coroutine through its home says so: `using comes_home = void;`. Any other awaiter may
// resume the handle on any thread, so a pool awaits it in a frame of its own.
//
// Threads.   resume: any, once for each suspension. It may come while await_suspend still runs: an awaiter publishes
//            its waiter as its last step, and then touches neither itself nor the frame.
// Endings.   resume never refuses. Each home has its own rule for a coroutine that comes back after a stop.
// Lifetime.  The home outlives every coroutine that is suspended in it.
#pragma once

#include <exception>

#include <apiary/tasks/job.hpp>

namespace apiary {

// Resumes a suspended coroutine. Usually a coroutine's home is its pool.
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

// Thrown by an await that a stop token ended. If it leaves a coroutine that nothing awaits, it counts as a cancellation
// and not as an error.
struct wait_cancelled : std::exception {
    const char* what() const noexcept override { return "the wait was cancelled"; }
};

}  // namespace apiary
