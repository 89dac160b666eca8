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
//     std::stop_token stop_token() const noexcept;   // asks for the end of the wait
//
// Threads.   resume: any, once for each suspension. It may come while await_suspend still runs: what
//            publishes the waiter publishes last, and touches neither the awaiter nor the frame behind that.
// Endings.   resume never refuses. What a home is to do with a coroutine behind a stop is its own rule.
// Lifetime.  The home outlives what is suspended in it.
#pragma once

#include <apiary/tasks/job.hpp>

namespace apiary {

// Who brings a suspended coroutine back.
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

}  // namespace apiary
