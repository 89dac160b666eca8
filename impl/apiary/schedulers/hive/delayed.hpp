// delayed: a callable that waits among a worker's timers, and the handle that cancels it or puts it off.
//
// When to use it. For timeouts, most of which are cancelled or put off. When not: for a periodic task, which posts its
// own successor.
//
// Threads.   delayed_handle: one thread at a time; it may outlive the scheduler. cancel(): any thread. The worker that
//            keeps the timer is called its keeper below.
// Progress.  cancel, put_off, and the end of the task: lock-free, and wait-free unless the handle and the keeper are at
//            it at once. None of them sends a message to the keeper.
//
// How it works. One word says when the timer is due, or how it has ended. The keeper has filed the timer under some
// time, which is never later than the word. So a later time is noted in the word alone; when the filed time comes, the
// keeper finds the word and files the timer again. A cancel on the keeper's own thread takes the timer out at once. A
// cancel on another thread frees the callable at once, and leaves the empty task to the keeper's next sweep
// (io_sources::keep_timer), which comes before the wheel holds twice as many timers as the last sweep left.
//
// Invariants
//   I1  One thread moves `due_` to `ended` or `cancelled`, once: the worker that runs or drops the task, or a
//       canceller. Only this thread touches the callable, and destroys it.
//   I2  The block lives until the task and the handle have both let go of it, and a cancel that has won, which destroys
//       the callable within the block: the callable may own the handle, and the keeper may drop the task meanwhile.
//   I3  While the timer is filed, its filed time is at most `due_`: only the keeper's own thread makes `due_` earlier
//       than the handle has found it, and it files the timer under the new time if that is before the filed one.
//   I4  keeper_ names a keeper only while that keeper has the timer among its timers, and only the keeper's own thread
//       writes its name there, or takes it out. So a thread that reads its own keeper there may touch filed_.
//       The exception: the keeper's name stays in a timer that was cancelled; due_ is looked at first there.
//
// Synchronisation
//   S1  release_one: fetch_sub (acq_rel) by the first owner that lets go -> fetch_sub (acq_rel) by the last one, which
//       frees the block.
//   S2  put_off: CAS of due_ (release) -> claim: CAS (acquire). What came before a put_off that succeeded happens
//       before the callable, or its destruction. The CAS of becomes_due in between continues the release sequence.
//       The store of rearm ends it, and is relaxed all the same. The handle came to rearm's thread after the put_off,
//       and the hand-over of the handle orders the two. The claim comes after rearm on this thread, or on one that has
//       the task or the handle from it.
//       Beyond that due_ needs no order: it decides which thread ends the callable, and that thread got the callable
//       together with the task or the handle.
//
// Checked by model_check/schedulers/hive/{hive_cancel,hive_timers}_check.cpp. Tested by hive_timers_test and
// hive_rules_test.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task.hpp>
#include <apiary/timers/timer_heap.hpp>

namespace apiary {

// What became of a call that gives a pending timer another time.
enum class rearm_result : std::uint8_t {
    rearmed,   // the callable begins no earlier than at the new time
    over,      // too late: it has begun, is about to, has ended, or was cancelled; or the handle is empty
    not_here,  // an earlier time, and this thread is not the worker that keeps the timer: nothing has changed
};

template <class Sync>
class delayed_block;

// The timers of one worker, as a handle knows them. Empty: a member would move what follows in the worker.
template <class Sync>
class timer_keeper {
protected:
    timer_keeper() = default;
    ~timer_keeper() = default;
};

// The task and the handle share this block; the callable stands after it in memory.
template <class Sync>
class delayed_block {
    template <class T>
    using cell = typename Sync::template cell<T>;

public:
    using keeper = timer_keeper<Sync>;
    using end_function = void (*)(delayed_block&, bool run);
    using free_function = void (*)(delayed_block&);
    // Called on the keeper's own thread, for a timer that it has and that was cancelled.
    using forget_function = void (*)(keeper&, delayed_block&);

    // A deadline of 0 is "as soon as possible" (task.hpp): such a timer cannot be put off.
    delayed_block(end_function end_callable, free_function free_block, std::int64_t deadline_ns)
        : end_(end_callable), free_(free_block) {
        due_.store(word_for(deadline_ns), std::memory_order_relaxed);
        keeper_.store(nullptr, std::memory_order_relaxed);
        owners_.store(2, std::memory_order_relaxed);
    }
    delayed_block(const delayed_block&) = delete;
    delayed_block& operator=(const delayed_block&) = delete;

    // Called by the worker that ends the task. Destroys the callable in any case, and passes on its exception.
    job_end end(job_end how) {
        if (!claim(ended)) {
            Sync::reach("delayed.was_cancelled");
            return job_end::cancelled;
        }
        end_(*this, how == job_end::run);
        return how;
    }

    bool cancel() {
        if (!claim(cancelled)) {
            Sync::reach("delayed.cancelled_too_late");
            return false;
        }
        owners_.fetch_add(1, std::memory_order_relaxed);  // I2; no order: the handle's share is not given up yet
        if (keeper* const mine = keeper_here()) filed_.read().forget(*mine, *this);
        end_(*this, false);
        release_one();
        return true;
    }

    // Any thread, as the handle's. Makes the timer due at `deadline_ns` and returns rearmed, or changes nothing.
    // not_here: that is earlier than it is due now.
    rearm_result put_off(std::int64_t deadline_ns) {
        std::int64_t was = due_.load(std::memory_order_relaxed);
        do {
            if (was < 0) {
                Sync::reach("delayed.put_off_too_late");
                return rearm_result::over;
            }
            if (deadline_ns < was) return rearm_result::not_here;
        } while (!due_.compare_exchange_strong(was, deadline_ns, std::memory_order_release,
                                               std::memory_order_relaxed));  // S2
        return rearm_result::rearmed;
    }

    // ---- For the keeper, on its own thread.
    // The timer is filed under that time now.
    void filed(keeper* by, forget_function forget, timer_handle at, std::int64_t deadline_ns) {
        keeper_.store(by, std::memory_order_relaxed);  // I4
        filed_.write({at, deadline_ns, forget});
    }
    void taken_out() { keeper_.store(nullptr, std::memory_order_relaxed); }
    timer_handle place() const { return filed_.read().at; }
    // As put_off, but to an earlier time, too. True in `moves`: it must be filed under that time now (I3).
    rearm_result rearm(std::int64_t deadline_ns, bool& moves) {
        if (due_.load(std::memory_order_relaxed) < 0) return rearm_result::over;
        // No other thread changes the word while the keeper has the timer and this thread the handle.
        due_.store(word_for(deadline_ns), std::memory_order_relaxed);  // S2
        moves = deadline_ns < filed_.read().under_ns;
        return rearm_result::rearmed;
    }
    // The filed time has come. Returns 0 if the task may run now (or finds that it was cancelled), and then no call
    // puts it off any more; else the later time that it has been put off to, which may have come, too.
    std::int64_t becomes_due(std::int64_t filed_ns) {
        std::int64_t due = due_.load(std::memory_order_relaxed);
        do {
            if (due < 0) return 0;
            if (due > filed_ns) {
                Sync::reach("delayed.was_put_off");
                return due;
            }
        } while (!due_.compare_exchange_strong(due, begins, std::memory_order_relaxed, std::memory_order_relaxed));
        return 0;
    }

    // The keeper of the timer, if this thread is the keeper's own; else null.
    keeper* keeper_here() const {
        keeper* const k = keeper_.load(std::memory_order_relaxed);
        return k != nullptr && k == Sync::template current<keeper>() ? k : nullptr;
    }

    // A hint: it is true only if a cancel() has won, and may be false although one has. The thread that ends the task
    // learns the truth from end().
    bool looks_cancelled() const { return due_.load(std::memory_order_relaxed) == cancelled; }

    void release_one() noexcept {
        if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) free_(*this);  // S1
    }

private:
    // The values of due_ that are no time: the callable will begin at once; has begun or was dropped; was cancelled.
    static constexpr std::int64_t begins = -1, ended = -2, cancelled = -3;
    static std::int64_t word_for(std::int64_t deadline_ns) { return deadline_ns <= 0 ? begins : deadline_ns; }

    bool claim(std::int64_t as) {
        std::int64_t was = due_.load(std::memory_order_relaxed);
        do {
            if (was == ended || was == cancelled) return false;
        } while (!due_.compare_exchange_strong(was, as, std::memory_order_acquire, std::memory_order_relaxed));  // S2
        return true;
    }

    struct file {
        timer_handle at;
        std::int64_t under_ns = 0;
        forget_function forget = nullptr;
    };
    // What a call that puts it off touches comes first, in one line.
    typename Sync::template atomic<std::int64_t> due_;
    typename Sync::template atomic<keeper*> keeper_;
    cell<file> filed_;  // I4
    const end_function end_;
    const free_function free_;
    typename Sync::template atomic<std::uint32_t> owners_;
};

template <class F, class Sync>
class delayed_callable : public delayed_block<Sync> {
    static_assert(std::is_nothrow_destructible_v<F>, "a task is destroyed where nobody can catch");
    using block = delayed_block<Sync>;

public:
    template <class Callable>
    delayed_callable(std::int64_t deadline_ns, Callable&& callable) : block(&end_it, &free_it, deadline_ns) {
        ::new (static_cast<void*>(storage_)) F(std::forward<Callable>(callable));
    }

private:
    static void end_it(block& b, bool run) {
        F& callable = *std::launder(reinterpret_cast<F*>(static_cast<delayed_callable&>(b).storage_));
        const struct guard {
            F& f;
            ~guard() { f.~F(); }
        } destroy_at_end{callable};
        if (run) callable();
    }
    static void free_it(block& b) { Sync::destroy(&static_cast<delayed_callable&>(b)); }

    alignas(F) std::byte storage_[sizeof(F)];
};

// The callable that the hive's task holds: it runs the user's callable, unless that was cancelled.
template <class Sync>
class delayed_entry {
public:
    explicit delayed_entry(delayed_block<Sync>* b) : block_(b) {}
    delayed_entry(delayed_entry&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    delayed_entry& operator=(delayed_entry&&) = delete;
    ~delayed_entry() {
        if (block_ != nullptr) block_->release_one();
    }
    job_end operator()(job_end how) { return block_->end(how); }
    delayed_block<Sync>& block() const { return *block_; }

private:
    delayed_block<Sync>* block_;
};

// True if the post was accepted. Destroying the handle does not cancel the task.
template <class Sync = real_sync>
class delayed_handle {
public:
    delayed_handle() = default;
    explicit delayed_handle(delayed_block<Sync>* b) : block_(b) {}
    delayed_handle(delayed_handle&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    delayed_handle& operator=(delayed_handle&& other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~delayed_handle() {
        if (block_ != nullptr) block_->release_one();
    }

    explicit operator bool() const { return block_ != nullptr; }

    // True: the callable had not begun; this call has destroyed it, and it never runs. False: the callable has begun or
    // ended, it was cancelled before, or its post was refused.
    bool cancel() { return block_ != nullptr && block_->cancel(); }

    delayed_block<Sync>* block() const { return block_; }  // for the hive

private:
    delayed_block<Sync>* block_ = nullptr;
};

}  // namespace apiary
