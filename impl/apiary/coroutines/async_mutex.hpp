// async_mutex: one coroutine holds it at a time. Another one that locks it suspends, and its thread goes on.
//
//     if (auto held = co_await m.lock()) { … }      // unlocked where `held` ends; false: cancelled
//
// With a limit: lock_for (limited.hpp); if that is false, `how` says why.
//
// When to use it. For data that coroutines share across an await. When not: if the critical section has no await; a
// std::mutex held for a few steps costs less.
//
// Threads.   all: any; one thread may unlock what another has locked.
// Progress, order, memory: as async_semaphore, of which this is one permit.
// Bad input. An unlock of a mutex that is not locked ends the program.
//
// Checked by model_check/coroutines/async_semaphore_check.cpp. Tested by async_semaphore_test.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <apiary/coroutines/async_semaphore.hpp>

namespace apiary {

template <class Sync = real_sync>
class async_mutex {
    using semaphore = async_semaphore<Sync>;

public:
    // Holds the mutex, unless it is empty. Assignment swaps: the mutex held before goes with the other holder.
    class [[nodiscard]] holder {
    public:
        holder() = default;
        explicit holder(async_mutex& m) : mutex_(&m) {}
        holder(holder&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
        holder& operator=(holder&& other) noexcept {
            std::swap(mutex_, other.mutex_);
            return *this;
        }
        ~holder() { unlock(); }

        explicit operator bool() const { return mutex_ != nullptr; }
        void unlock() {
            if (mutex_ != nullptr) std::exchange(mutex_, nullptr)->unlock();
        }

    private:
        async_mutex* mutex_ = nullptr;
    };

    class [[nodiscard]] locking : public semaphore::acquiring {
    public:
        explicit locking(async_mutex& m) : semaphore::acquiring(m.permit_), mutex_(m) {}
        holder await_resume() { return this->resumed() == awaited::done ? holder(mutex_) : holder(); }

    private:
        async_mutex& mutex_;
    };

    // A holder that also says why it holds nothing.
    struct [[nodiscard]] holder_or_why : holder {
        awaited how;

        explicit holder_or_why(async_mutex& m) : holder(m), how(awaited::done) {}
        explicit holder_or_why(awaited why_not) : how(why_not) {}
    };

    class [[nodiscard]] locking_or_why : public semaphore::acquiring {
    public:
        explicit locking_or_why(async_mutex& m) : semaphore::acquiring(m.permit_), mutex_(m) {}
        holder_or_why await_resume() {
            const awaited end = this->resumed();
            return end == awaited::done ? holder_or_why(mutex_) : holder_or_why(end);
        }

    private:
        async_mutex& mutex_;
    };

    async_mutex() = default;

    locking lock() { return locking(*this); }
    // The delay begins with the call. The deadline is in nanoseconds of the service's clock.
    template <timer_service Timers, class Rep, class Period>
    limited<locking_or_why, Timers> lock_for(Timers& t, std::chrono::duration<Rep, Period> delay) {
        return {t, deadline_after(t.now_ns(), delay), *this};
    }
    template <timer_service Timers>
    limited<locking_or_why, Timers> lock_until(Timers& t, std::int64_t deadline_ns) {
        return {t, deadline_ns, *this};
    }
    holder try_lock() { return permit_.try_acquire() ? holder(*this) : holder(); }

    // Called by the holder's destructor.
    void unlock() {
        if (permit_.available() != 0) Sync::fail("an async_mutex was unlocked that was not locked");
        permit_.release();
    }

private:
    semaphore permit_{1};
};

}  // namespace apiary
