// task_body: the part of a slot that a task_graph needs beside the window's: the job that workers run, and the
// callable.
//
// A callable of up to `room` bytes, aligned to 8, lies in the slot; any other lies on the heap. It is destroyed when it
// has run or was cancelled, before the task completes.
//
// Threads. One at a time: the submitter, then the worker that runs the task.
// Errors.  fill passes on an exception of the callable's copy, or std::bad_alloc. call passes on an exception of the
//          callable, which is destroyed first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/task_graph/ready_board.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/job.hpp>

namespace apiary {

template <class Graph>
class task_body : public job<typename Graph::sync> {
    using base = job<typename Graph::sync>;
    using context = typename Graph::context;

public:
    static constexpr std::size_t room = 40;

    task_body() : base(&Graph::run_job) {}

    template <class F>
    void fill(F&& f, std::uint8_t type, std::int8_t priority, std::int64_t ahead_ns) {
        using callable = std::decay_t<F>;
        if constexpr (sizeof(callable) <= room && alignof(callable) <= alignof(void*)) {
            ::new (static_cast<void*>(callable_)) callable(std::forward<F>(f));
            act_ = &act_on<callable>;
        } else {
            ::new (static_cast<void*>(callable_)) boxed<callable>(std::forward<F>(f));
            act_ = &act_on<boxed<callable>>;
        }
        const std::int64_t ahead = clamped_ahead(ahead_ns);
        type_ = type, priority_ = priority;
        ahead_high_ = static_cast<std::int32_t>(ahead >> 16), ahead_low_ = static_cast<std::uint16_t>(ahead & 0xFFFF);
    }
    // Runs the callable, and then destroys it.
    void call(context& c) { act_(*this, &c); }
    // Destroys the callable.
    void forget() { act_(*this, nullptr); }

    std::uint8_t type() const { return type_; }
    std::int8_t priority() const { return priority_; }
    std::int64_t ahead() const { return std::int64_t{ahead_high_} * 65536 + ahead_low_; }

private:
    template <class F>
    struct boxed {
        template <class G>
        explicit boxed(G&& g) : f(new F(std::forward<G>(g))) {}
        boxed(const boxed&) = delete;
        boxed& operator=(const boxed&) = delete;
        ~boxed() { delete f; }
        template <class C>
        void operator()(C& c) {
            invoke(*f, c);
        }
        F* f;
    };

    template <class F>
    static void invoke(F& f, context& c) {
        if constexpr (std::is_invocable_v<F&, context&>)
            f(c);
        else
            f();
    }
    template <class F>
    static void act_on(task_body& b, context* c) {
        F& f = *std::launder(reinterpret_cast<F*>(b.callable_));
        const struct guard {
            F& of;
            ~guard() { of.~F(); }
        } destroy_at_end{f};
        if (c != nullptr) invoke(f, *c);
    }

    void (*act_)(task_body&, context*) = nullptr;
    alignas(void*) std::byte callable_[room];
    std::uint8_t type_ = 0;
    std::int8_t priority_ = 0;
    std::uint16_t ahead_low_ = 0;  // with the high part 48 bits; the slot has no room for more
    std::int32_t ahead_high_ = 0;
};

}  // namespace apiary
