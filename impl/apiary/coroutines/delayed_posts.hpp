// delayed_posts: a timer service (timer_service.hpp) built from a scheduler's clock and its post_delayed, whose handle
// cancels. It connects coroutines to a hive without including the hive's header.
//
//     delayed_posts timers(my_hive);
//     … co_await sleep_for(timers, 5ms); …
//
// When to use it. For coroutines beside a hive: a worker that has other work, too, keeps the timers. When not: without
// a hive (timer_thread).
//
// Threads.   all: any.
// Lifetime.  The scheduler outlives it. The jobs end with the scheduler at the latest.
// Bad input. A stopped scheduler refuses, and the job is dropped at once. A stop drops the timers that are not due, and
//            their jobs with them.
//
// Invariants
//   I1  The callable that is posted holds the job. It runs the job, or drops it if it is destroyed without having run.
//       The scheduler ends a callable once, so the job ends once.
//
// Tested by schedulers/hive/tests/hive_sleep_test.cpp. model_check/schedulers/hive/hive_cancel_check.cpp checks how the
// handle decides between the worker and a canceller.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <apiary/coroutines/timer_service.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Scheduler, class Sync = real_sync>
class delayed_posts {
protected:
    // The callable that is posted.
    class due {
    public:
        explicit due(job<Sync>& what) : what_(&what) {}
        due(due&& other) noexcept : what_(std::exchange(other.what_, nullptr)) {}
        due& operator=(due&&) = delete;
        ~due() {
            if (what_ != nullptr) what_->drop();
        }
        void operator()() { std::exchange(what_, nullptr)->run(); }

    private:
        job<Sync>* what_;
    };

public:
    using sync = Sync;
    using timed = decltype(std::declval<Scheduler&>().post_delayed(std::declval<due>(), std::chrono::nanoseconds()));

    explicit delayed_posts(Scheduler& s) : scheduler_(s) {}

    std::int64_t now_ns() const { return scheduler_.clock().now_ns(); }

    void at(std::int64_t deadline_ns, timed& t, job<Sync>& what) {
        const std::int64_t now = now_ns();
        const std::int64_t delay = deadline_ns > now ? deadline_ns - now : 0;
        t = scheduler_.post_delayed(due(what), std::chrono::nanoseconds(delay));
    }
    void cancel(timed& t) noexcept { (void)t.cancel(); }

protected:
    Scheduler& scheduler_;
};

}  // namespace apiary
