// on_compute: a coroutine suspends while another scheduler computes something for it.
//
//     const std::string digest = co_await on_compute(h, [&] { return sha256(file); });  // a hive with compute workers
//
// When to use it. For a call that takes long or blocks, so that the coroutine's own workers stay free. When not: for
// work that another coroutine of the same pool can do (when_all).
//
// Threads.   The callable runs on a compute worker; the coroutine goes on where its home brings it.
// Result.    The callable's result, by value, or its exception. wait_cancelled: the callable has not run, because a
//            stop was requested before its turn, or because the scheduler refused or dropped it. A callable that has
//            begun runs to its end.
// Errors.    If the scheduler's post throws (std::bad_alloc, for example), the exception leaves the await, and the
//            callable does not run.
// Lifetime.  The callable and its result lie in the frame. Destroying a frame that waits ends the program; its home may
//            drop it once the computation is over. The scheduler outlives the pool: a worker of the pool may still be
//            inside its post when the task has run and the coroutine has gone on elsewhere.
//
// Synchronisation. The scheduler's, for its task; second_of_two for the coroutine. asked_ needs no order: it decides
// only whether the callable runs.
//
// Checked by model_check/coroutines/on_compute_check.cpp. Tested by schedulers/side_by_side_test.cpp,
// on_compute_test.cpp and service_matrix_test.cpp.
#pragma once

#include <atomic>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <apiary/coroutines/awaiter.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/suspended.hpp>

namespace apiary {

template <class Scheduler, class F, class Sync = real_sync>
class [[nodiscard]] computing : public awaiter<computing<Scheduler, F, Sync>, Sync> {
    using result = std::invoke_result_t<F&>;
    static_assert(!std::is_reference_v<result>, "on_compute gives its result by value");

    // The callable that is posted.
    class call {
    public:
        explicit call(computing& c) : of_(&c) {}
        call(call&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        call& operator=(call&&) = delete;
        ~call() {
            if (of_ != nullptr) of_->end(awaited::cancelled);
        }
        void operator()() { std::exchange(of_, nullptr)->run(); }

    private:
        computing* of_;
    };

public:
    computing(Scheduler& s, F f) : scheduler_(s), callable_(std::move(f)) {
        asked_.store(false, std::memory_order_relaxed);
    }
    ~computing() {
        if (this->left() && !over_.read()) Sync::fail("a frame was destroyed while it waits for a computation");
    }

    bool await_ready() const { return false; }
    result await_resume() {
        if (this->resumed() == awaited::cancelled) throw wait_cancelled();
        if (error_.read()) std::rethrow_exception(error_.take());
        if constexpr (!std::is_void_v<result>) return std::move(*value_);
    }

    // For the base class awaiter.
    bool wait(stop_hooks<Sync>* stops) {
        (void)scheduler_.post_compute(call(*this));  // if it is refused, its destructor ends the await
        if (!this->listens(stops)) cancel();
        return this->stays_suspended(suspended_and_over_);
    }
    void cancel() noexcept { asked_.store(true, std::memory_order_relaxed); }

private:
    void run() noexcept {
        if (asked_.load(std::memory_order_relaxed)) return end(awaited::cancelled);
        try {
            if constexpr (std::is_void_v<result>)
                callable_();
            else
                value_.emplace(callable_());
        } catch (...) {
            error_.write(std::current_exception());
        }
        end(awaited::done);
    }
    void end(awaited how_it_ended) noexcept {
        this->how.write(how_it_ended);
        over_.write(true);
        if (suspended_and_over_.second()) this->finish();
    }

    Scheduler& scheduler_;
    F callable_;
    // The compute worker writes these; the coroutine reads them when it has gone on. `how`, a cell, is written after
    // both and read before both.
    std::optional<std::conditional_t<std::is_void_v<result>, std::monostate, result>> value_;
    typename Sync::template cell<std::exception_ptr> error_{nullptr};
    typename Sync::template atomic<bool> asked_;
    second_of_two<Sync> suspended_and_over_;
    typename Sync::template cell<bool> over_{false};
};

template <class Scheduler, class F>
computing<Scheduler, F> on_compute(Scheduler& s, F f) {
    return {s, std::move(f)};
}

}  // namespace apiary
