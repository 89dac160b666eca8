// counting_sync: real_sync with counts of what happens at its locks. For tests that show contention by counters and
// never by times.
//
// Counts belong to the whole process: one test at a time, from reset() on. `at_lock` is called with each lock held, so
// that a test can keep a thread inside and see which others come meanwhile.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

struct counting_sync : real_sync {
    struct counts {
        std::atomic<std::uint64_t> locks;                // locks taken
        std::atomic<std::uint64_t> contended;            // not free at the first try; counted before the thread waits
        std::atomic<std::uint64_t> broadcasts;           // calls of notify_all
        std::atomic<std::uint64_t> sleeps, asleep;       // waits on a condition variable so far, and those under way
        std::atomic<std::uint64_t> inside, most_inside;  // threads that hold the lock now, and the most at a time
    };
    static inline counts seen;
    static inline std::function<void()> at_lock;  // set while no other thread runs

    static void reset() {
        for (auto* n : {&seen.locks, &seen.contended, &seen.broadcasts, &seen.sleeps, &seen.asleep, &seen.inside,
                        &seen.most_inside})
            *n = 0;
        at_lock = nullptr;
    }

    class mutex {
    public:
        void lock(site = {}) {
            if (!m_.try_lock()) {
                ++seen.contended;
                m_.lock();
            }
            entered();
        }
        bool try_lock(site = {}) { return m_.try_lock() && (entered(), true); }
        void unlock(site = {}) {
            --seen.inside;
            m_.unlock();
        }

    private:
        friend struct counting_sync;
        void entered() {
            ++seen.locks;
            const std::uint64_t now = ++seen.inside;
            if (now > seen.most_inside) seen.most_inside = now;  // the lock orders this, if it is one
            if (at_lock) at_lock();
        }
        std::mutex m_;
    };

    class lock {
    public:
        explicit lock(mutex& m, site = {}) : mutex_(m) { mutex_.lock(); }
        ~lock() { mutex_.unlock(); }
        lock(const lock&) = delete;
        lock& operator=(const lock&) = delete;

    private:
        friend struct counting_sync;
        mutex& mutex_;
    };

    class condvar {
    public:
        // When wait returns it has taken the lock again; only `inside` counts that.
        void wait(lock& l, site = {}) {
            ++seen.sleeps;
            ++seen.asleep;
            --seen.inside;
            std::unique_lock<std::mutex> held(l.mutex_.m_, std::adopt_lock);
            cv_.wait(held);
            held.release();
            --seen.asleep;
            ++seen.inside;
        }
        void notify_one(site = {}) noexcept { cv_.notify_one(); }
        void notify_all(site = {}) noexcept {
            ++seen.broadcasts;
            cv_.notify_all();
        }

    private:
        std::condition_variable cv_;
    };
};

}  // namespace apiary
