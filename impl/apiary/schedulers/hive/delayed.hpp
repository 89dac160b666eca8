// delayed: a callable that waits among a worker's timers, and the handle that cancels it.
//
// When to use it. For timeouts, most of which are cancelled. When not: for a periodic task, which posts its own
// successor.
//
// Threads.   delayed_handle: one thread at a time; it may outlive the scheduler. cancel(): any thread.
// Progress.  cancel, and the end of the task: wait-free. Neither sends a message to the worker that keeps the timer.
//
// Invariants
//   I1  One thread moves `state_` away from `pending`, once: the worker that runs or drops the task, or a canceller.
//       Only this thread touches the callable, and destroys it.
//   I2  The block lives until the task and the handle have both let go of it.
//
// A cancel frees the callable at once. The empty task stays in the wheel until its deadline, or until the worker's
// next sweep (io_sources::keep_timer), which comes before the wheel holds twice as many timers as the last sweep left.
//
// Synchronisation
//   S1  release_one: fetch_sub (acq_rel) by the first owner that lets go -> fetch_sub (acq_rel) by the last one, which
//       frees the block. `state_` itself is relaxed: it decides which thread ends the callable, and that thread got the
//       callable together with the task or the handle.
//
// Checked by model_check/schedulers/hive/hive_cancel_check.cpp.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task.hpp>

namespace apiary {

// The task and the handle share this block; the callable stands after it in memory.
template <class Sync>
class delayed_block {
public:
    using end_function = void (*)(delayed_block&, bool run);
    using free_function = void (*)(delayed_block&);

    delayed_block(end_function end_callable, free_function free_block) : end_(end_callable), free_(free_block) {
        state_.store(pending, std::memory_order_relaxed);
        owners_.store(2, std::memory_order_relaxed);
    }
    delayed_block(const delayed_block&) = delete;
    delayed_block& operator=(const delayed_block&) = delete;

    // For the worker. Passes on an exception of the callable, which is destroyed in any case.
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
        end_(*this, false);
        return true;
    }

    // A hint: it is true only if a cancel() has won, and may be false although one has. The thread that ends the task
    // learns the truth from end().
    bool looks_cancelled() const { return state_.load(std::memory_order_relaxed) == cancelled; }

    void release_one() noexcept {
        if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) free_(*this);  // S1
    }

private:
    static constexpr std::uint32_t pending = 0, ended = 1, cancelled = 2;

    bool claim(std::uint32_t as) {
        std::uint32_t expected = pending;
        return state_.compare_exchange_strong(expected, as, std::memory_order_relaxed, std::memory_order_relaxed);
    }

    typename Sync::template atomic<std::uint32_t> state_;
    typename Sync::template atomic<std::uint32_t> owners_;
    const end_function end_;
    const free_function free_;
};

template <class F, class Sync>
class delayed_callable : public delayed_block<Sync> {
    static_assert(std::is_nothrow_destructible_v<F>, "a task is destroyed where nobody can catch");
    using block = delayed_block<Sync>;

public:
    template <class Callable>
    explicit delayed_callable(Callable&& callable) : block(&end_it, &free_it) {
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

// The callable of the task: it ends the user's callable, unless that was cancelled.
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
    bool looks_cancelled() const { return block_->looks_cancelled(); }

private:
    delayed_block<Sync>* block_;
};

// It is true if the post was accepted. The end of a handle does not cancel.
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

    // True: the callable had not begun; this call has destroyed it, and it never runs. False: it has begun, ended or
    // been cancelled before, or the post was refused.
    bool cancel() { return block_ != nullptr && block_->cancel(); }

private:
    delayed_block<Sync>* block_ = nullptr;
};

}  // namespace apiary
