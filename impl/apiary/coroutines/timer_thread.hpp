// timer_thread: a timer service (timer_service.hpp) on a timer heap. One thread runs its jobs.
//
//     timer_thread<> timers;
//     std::thread t([&] { timers.run(); });
//     … co_await sleep_for(timers, 5ms); …
//     timers.stop();  t.join();
//
// With a driver that watches descriptors, such as epoll_driver, it is also a descriptor service
// (descriptor_service.hpp), which readable.hpp and byte_stream.hpp need.
//
// When to use it. For coroutines whose scheduler has no timers. When not: on a hive, whose workers keep timers of their
// own (delayed_posts); for jobs that take long: they all run on the one thread.
//
// Threads.   at, cancel, stop, now_ns: any, and the jobs themselves. run, run_due: one.
// Lifetime.  It may be destroyed when run has returned, also by another thread than that which asked for the stop and
//            before that call has returned.
// Progress.  A mutex, held for O(log n) steps and never while a job runs. at wakes the thread if its deadline is the
//            earliest.
// Order.     By deadline; equal deadlines in the order of the calls.
// Bad input. A job whose deadline has passed runs on the thread at once. After a stop, at drops its job. A second stop
//            changes nothing. A timer_thread that is destroyed with timers in it, stopped or not, drops them, and tells
//            the sources that it watches.
//
// Invariants
//   I1  A timer is in the heap, or the thread that took it out ends its job: the running thread, or one that cancels.
//   I2  A thread that adds the earliest deadline, or stops, then wakes the running thread; the driver keeps a wake that
//       comes before its wait.
//
// Synchronisation. The mutex; the driver's wake (driver.hpp) only causes a look at the heap.
//
// Checked by model_check/coroutines/sleep_check.cpp. Tested by sleep_test.cpp.
#pragma once

#include <cstdint>

#include <apiary/coroutines/timer_service.hpp>
#include <apiary/events/event_source.hpp>
#include <apiary/events/parker_driver.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/timers/timer_heap.hpp>

namespace apiary {

template <class Sync = real_sync, class Driver = parker_driver<Sync>, class Clock = steady_clock<Sync>>
class timer_thread {
public:
    using sync = Sync;
    struct timed {
        std::int64_t deadline_ns = 0;  // all guarded by mutex_
        timer_handle handle;
        typename Sync::template cell<job<Sync>*> what{nullptr};
    };

    timer_thread() = default;
    ~timer_thread() { end_everything(); }
    timer_thread(const timer_thread&) = delete;
    timer_thread& operator=(const timer_thread&) = delete;

    std::int64_t now_ns() const { return clock_.now_ns(); }
    Clock& clock() { return clock_; }
    Driver& driver() { return driver_; }

    void at(std::int64_t deadline_ns, timed& t, job<Sync>& what) {
        bool refused, earliest;
        {
            const typename Sync::lock held(mutex_);
            refused = stopped_.read();
            earliest = !refused && deadline_ns < heap_.next_deadline();
            if (!refused) {
                t.deadline_ns = deadline_ns;
                t.what.write(&what);
                t.handle = heap_.add(&t);
            }
        }
        if (refused) what.drop();
        if (earliest) driver_.wake();  // I2
    }

    void cancel(timed& t) noexcept {
        timed* mine;
        {
            const typename Sync::lock held(mutex_);
            mine = heap_.cancel(t.handle);
        }
        if (mine != nullptr)
            mine->what.read()->drop();  // I1
        else
            Sync::reach("timer_thread.cancelled_too_late");
    }

    // Only if the driver watches descriptors.
    void there(timed& t, job<Sync>& what) { at(0, t, what); }
    [[nodiscard]] watch_result watch(event_source& s, interest what) { return driver_.watch(s, what); }
    bool unwatch(event_source& s) { return driver_.unwatch(s); }

    // Blocks until stop, and then drops the timers that are left.
    void run() {
        for (std::int64_t next; (next = run_due()) != ended;) {
            driver_.wait(next);
            driver_.poll();
        }
        end_everything();
    }

    // One turn of run between two waits: runs the jobs that are due, and returns when to look again, or `ended`.
    static constexpr std::int64_t ended = -1;
    std::int64_t run_due() {
        std::int64_t next;
        while (job<Sync>* due = take(next)) due->run();
        return next;
    }

    void stop() {
        const typename Sync::lock held(mutex_);
        stopped_.write(true);
        driver_.wake();  // I2; with the mutex held: a thread that sees the stop may destroy this object
    }

private:
    // Takes the next job that is due. Null if none is; `next` is then the time at which to look again.
    job<Sync>* take(std::int64_t& next) {
        const std::int64_t now = clock_.now_ns();
        const typename Sync::lock held(mutex_);
        const bool stopped = stopped_.read();
        next = stopped ? ended : heap_.next_deadline();
        timed* const t = stopped ? nullptr : heap_.pop_due(now);
        return t == nullptr ? nullptr : t->what.read();
    }

    void end_everything() {
        if constexpr (requires { driver_.end_sources(); }) driver_.end_sources();
        end_all();
    }
    void end_all() {
        for (;;) {
            job<Sync>* left;
            {
                const typename Sync::lock held(mutex_);
                timed* const t = heap_.pop();
                if (t == nullptr) return;
                left = t->what.read();
            }
            left->drop();
        }
    }

    [[no_unique_address]] Clock clock_;
    Driver driver_;
    typename Sync::mutex mutex_;
    timer_heap<timed, Sync> heap_;                       // guarded by mutex_
    typename Sync::template cell<bool> stopped_{false};  // guarded by mutex_
};

}  // namespace apiary
