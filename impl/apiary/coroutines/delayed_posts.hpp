// delayed_posts: a timer service (timer_service.hpp) on what a scheduler has of its own for delays:
// its post_delayed, whose handle cancels, and its clock. So it is a bridge to a hive that includes
// none.
//
//     delayed_posts timers(my_hive);
//     … co_await sleep_for(timers, 5ms); …
//
// When to use it. For coroutines beside a hive: a worker that has other work, too, tells the time.
// When not: where nothing else runs (timer_thread).
//
// Threads.   all: any.
// Lifetime.  The scheduler outlives it; the jobs end with the scheduler at the latest.
// Bad input. A stopped scheduler refuses: the job is dropped at once. A stop drops the timers that are
//            not due, and with them their jobs.
//
// Invariants
//   I1  The callable that is posted holds the job: it runs it, or drops it where it is destroyed
//       without having run. The scheduler ends a callable once, so the job ends once.
//
// Tested by schedulers/hive/tests/hive_sleep_test.cpp. The handle's own decision between the
// worker and a canceller is checked by model_check/schedulers/hive/hive_cancel_check.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <apiary/coroutines/timer_service.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Scheduler, class Sync = real_sync>
class delayed_posts {
    // What is posted.
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

private:
    Scheduler& scheduler_;
};

}  // namespace apiary
