// async_semaphore: a number of permits. A coroutine that finds none free suspends until it gets one.
//
//     const awaited how = co_await s.acquire();
//     if (how == awaited::done) { …; s.release(); }
//
//     if (auto p = co_await s.acquire_permit()) work();            // given back where `p` ends
//     if (auto p = co_await s.acquire_for(timers, 5ms)) work();  // with a limit (limited.hpp); else p.how says why not
//
// A permit object gives its permit back wherever it is destroyed: by an exception, or as the result of a task that lost
// a when_any. A permit that `acquire` gave must be released by the caller; if the loser of a when_any got it, it is
// lost.
//
// When to use it. To bound how many coroutines do something at a time. When not: for threads, which it would not block;
// for one permit with an owner (async_mutex).
//
// Threads.   all: any.
// Progress.  try_acquire, acquire of a free permit, release without waiters: lock-free, one compare-exchange. Otherwise
//            a mutex, held for a few steps, and not while a coroutine runs.
// Order.     First come, first served: a released permit goes to the coroutine that has waited longest, and to no
//            newcomer.
// Memory.    None of its own: a waiter lies in its coroutine's frame.
// Lifetime.  It must live until each coroutine whose await it has ended has gone on (async_event.hpp). A coroutine that
//            has got the permit of a release may destroy it, although that release has not returned.
// Bad input. Destroying it while a coroutine waits ends the program. A release without an acquire adds a permit.
//
// Invariants
//   I1  The word is twice the number of free permits, plus `waits` while the list is not empty. After a cancel, even
//       one that came before its await, `waits` may be set although the list is empty. While `waits` is set no permit
//       is free. `waits` is set and cleared with the mutex held.
//   I2  A permit is free, or held, or belongs to a waiter that was taken with the result `done`.
//
// Why the list has a mutex: a cancel takes a waiter out of the middle, because its frame is about to go. The links of a
// lock-free list would have to outlive the frames in which they lie.
//
// Synchronisation
//   S1  release: compare-exchange (release) -> try_acquire, wait: compare-exchange (acquire). All changes are
//       read-modify-writes, so a permit publishes all that came before its release.
//   The mutex orders a permit that is handed over, together with its waiter. No wake is lost, whatever the orders:
//   release and wait change one word, and the second of them sees the first.
//
// Checked by model_check/coroutines/async_semaphore_check.cpp. Stressed by stress/coroutines/coroutines_stress.cpp.
// Tested by async_semaphore_test.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/coroutines/limited.hpp>
#include <apiary/coroutines/timer_service.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/timers/clock.hpp>

namespace apiary {

template <class Sync = real_sync>
class async_semaphore {
public:
    class [[nodiscard]] acquiring : public awaiter<acquiring, Sync> {
    public:
        explicit acquiring(async_semaphore& from) : from_(from) {}
        ~acquiring() {
            if (this->left() && from_.gave_it_to(*this)) from_.release();
        }

        bool await_ready() { return from_.try_acquire(); }
        // Returns done or cancelled.
        awaited await_resume() { return this->resumed(); }

        // For the base class awaiter.
        bool wait(stop_hooks<Sync>* stops) {
            const typename Sync::lock held(from_.mutex_);
            if (from_.had_one_after_all()) return false;
            if (!this->listens(stops)) {
                this->how.write(awaited::cancelled);
                return false;
            }
            from_.waiting_.append(*this);
            return true;
        }
        void cancel() noexcept { from_.cancel(*this); }
        // For limited and select.
        bool look() { return from_.try_acquire(); }
        bool withdraw() noexcept { return from_.forget(*this); }
        joined join(claim<Sync>& by) {
            {
                const typename Sync::lock held(from_.mutex_);
                if (!from_.had_one_after_all()) {
                    from_.waiting_.append(*this, listing::with_claim);
                    return joined::waits;
                }
            }
            if (by.take(*this)) return joined::served;
            from_.release();
            return joined::lost;
        }
        void give_back() noexcept { from_.release(); }

    private:
        async_semaphore& from_;
    };

    // A permit, or the reason why there is none. Assignment swaps.
    class [[nodiscard]] permit {
    public:
        explicit permit(awaited why_none) : how(why_none) {}
        explicit permit(async_semaphore& from) : from_(&from) {}
        permit(permit&& other) noexcept : how(other.how), from_(std::exchange(other.from_, nullptr)) {}
        permit& operator=(permit&& other) noexcept {
            std::swap(how, other.how);
            std::swap(from_, other.from_);
            return *this;
        }
        ~permit() { release(); }

        explicit operator bool() const { return from_ != nullptr; }
        void release() {
            if (from_ != nullptr) std::exchange(from_, nullptr)->release();
        }
        awaited how = awaited::done;

    private:
        async_semaphore* from_ = nullptr;
    };

    class [[nodiscard]] acquiring_permit : public acquiring {
    public:
        explicit acquiring_permit(async_semaphore& from) : acquiring(from), from_(from) {}
        permit await_resume() {
            const awaited end = this->resumed();
            return end == awaited::done ? permit(from_) : permit(end);
        }

    private:
        async_semaphore& from_;
    };

    explicit async_semaphore(std::uint32_t permits) { word_.store(permits * one, std::memory_order_relaxed); }
    ~async_semaphore() {
        if (!waiting_.empty()) Sync::fail("a semaphore was destroyed while a coroutine waits for it");
    }
    async_semaphore(const async_semaphore&) = delete;
    async_semaphore& operator=(const async_semaphore&) = delete;

    [[nodiscard]] bool try_acquire() {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        while (seen >= one)
            if (word_.compare_exchange_weak(seen, seen - one, std::memory_order_acquire, std::memory_order_relaxed))
                return true;  // S1
        return false;
    }

    acquiring acquire() { return acquiring(*this); }
    acquiring_permit acquire_permit() { return acquiring_permit(*this); }

    // The delay begins with the call. The deadline is in nanoseconds of the service's clock.
    template <timer_service Timers, class Rep, class Period>
    limited<acquiring_permit, Timers> acquire_for(Timers& t, std::chrono::duration<Rep, Period> delay) {
        return {t, deadline_after(t.now_ns(), delay), *this};
    }
    template <timer_service Timers>
    limited<acquiring_permit, Timers> acquire_until(Timers& t, std::int64_t deadline_ns) {
        return {t, deadline_ns, *this};
    }

    void release(std::uint32_t permits = 1) {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        while ((seen & waits) == 0)
            if (word_.compare_exchange_weak(seen, seen + permits * one, std::memory_order_release,
                                            std::memory_order_relaxed))
                return;  // S1
        hand_over(permits);
    }

    // The number of free permits: a hint.
    std::uint64_t available() const { return word_.load(std::memory_order_relaxed) / one; }

private:
    static constexpr std::uint64_t waits = 1, one = 2;

    // Precondition: the mutex is held. True: a permit was free after all, and the caller has it. False: the word now
    // says that a coroutine waits.
    bool had_one_after_all() {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        while (seen != waits) {
            const std::uint64_t wanted = seen >= one ? seen - one : waits;
            if (!word_.compare_exchange_strong(seen, wanted, std::memory_order_acquire, std::memory_order_relaxed))
                continue;
            if (wanted == waits) break;
            Sync::reach("async_semaphore.need_not_wait");
            return true;  // S1
        }
        return false;
    }

    void hand_over(std::uint32_t permits) {
        taken_waiters<Sync> next;
        {
            const typename Sync::lock held(mutex_);
            for (; permits != 0; --permits) {
                acquiring* const w = waiting_.take_first_that_wins();
                if (w == nullptr) break;
                next.add(*w);
            }
            if (waiting_.empty()) word_.fetch_and(~waits, std::memory_order_relaxed);  // I1
        }
        if (permits != 0) {
            // Without the mutex: the coroutine that takes a free permit may destroy the semaphore at once.
            Sync::reach("async_semaphore.none_waits_any_more");
            release(permits);
        }
        next.finish_all();
    }

    void cancel(acquiring& w) noexcept {
        if (!forget(w)) {
            Sync::reach("async_semaphore.cancelled_too_late");
            return;
        }
        w.how.write(awaited::cancelled);
        w.finish();
    }

    // Takes the waiter out of the list. False: another thread took it before.
    bool forget(acquiring& w) noexcept {
        const typename Sync::lock held(mutex_);
        return waiting_.take(w);
    }

    // For a waiter whose frame is destroyed: whether it was given a permit.
    bool gave_it_to(acquiring& w) noexcept { return !forget(w) && w.how.read() == awaited::done; }

    typename Sync::template atomic<std::uint64_t> word_;
    typename Sync::mutex mutex_;
    wait_list<acquiring> waiting_;  // guarded by mutex_
};

}  // namespace apiary
