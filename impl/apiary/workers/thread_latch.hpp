// thread_latch: a latch for a thread that is no worker: it blocks until a number of others have counted down, and runs
// nothing meanwhile.
//
// When to use it. If a thread outside a crew needs the results of jobs. When not: inside a job, which would block its
// worker; use latch and help_until.
//
// Threads.   count_down: any, `count` times in all. wait: one thread that keeps the latch alive.
// Progress.  Both take a mutex.
// Lifetime.  It may be gone as soon as wait returns. The last count holds the mutex while it notifies, and wait returns
//            with the mutex taken after that: the rest of the count is the end of an unlock, which may overlap with the
//            destructor of a mutex.
//
// Checked by model_check/workers/help_check.cpp. Tested by help_test.cpp.
#pragma once

#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class thread_latch {
public:
    explicit thread_latch(std::uint32_t count = 1) : count_(count) {}
    thread_latch(const thread_latch&) = delete;
    thread_latch& operator=(const thread_latch&) = delete;

    void count_down() {
        const typename Sync::lock held(mutex_);
        if (--count_ == 0) open_.notify_one();
    }
    void wait() {
        typename Sync::lock held(mutex_);
        while (count_ != 0) {
            Sync::reach("thread_latch.waited");
            open_.wait(held);
        }
    }

private:
    typename Sync::mutex mutex_;
    typename Sync::condvar open_;
    std::uint32_t count_;  // guarded by mutex_
};

}  // namespace apiary
