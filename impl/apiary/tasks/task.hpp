// task: one callable, to be run once, in one 64-byte cache line.
//
// What it is. A move-only callable behind one function pointer, and the link by which queues hold it.
// Callables of up to 40 bytes live inside; larger ones in a heap object of their own.
//
// Threads.   A task belongs to one thread at a time; queues hand it over.
//            It must return or throw; pthread_exit inside it is not supported.
// Lifetime.  Exactly one of run() and drop() is called, once; either destroys the callable, also when
//            it throws. The memory of the task itself is the storage's business (task_storage.hpp).
// Endings.   A callable that takes a task_end in place of nothing is told of its drop as well, and
//            answers how it ended: a cancelled timer, for one, is neither run nor dropped.
// Source:    seed 002 section 3.1, with a pointer in the queues in place of std::function (a thief
//            would tear the latter: exhibit A07).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

enum class task_end : std::uint8_t { run, drop, cancelled };

template <class F>
concept told_of_its_end = std::is_invocable_r_v<task_end, F&, task_end>;

template <class Sync = real_sync>
class task {
public:
    static constexpr std::size_t inline_bytes = 40;

    template <class F>
        requires((std::is_invocable_v<std::decay_t<F>&> || told_of_its_end<std::decay_t<F>>) &&
                 !std::is_same_v<std::decay_t<F>, task>)
    explicit task(F&& callable) {
        using callable_type = std::decay_t<F>;
        static_assert(std::is_nothrow_destructible_v<callable_type>, "a task is destroyed where nobody can catch");
        if constexpr (fits<callable_type>) {
            ::new (static_cast<void*>(storage_)) callable_type(std::forward<F>(callable));
            end_ = &end_inline<callable_type>;
        } else {
            ::new (static_cast<void*>(storage_)) callable_type*(new callable_type(std::forward<F>(callable)));
            end_ = &end_boxed<callable_type>;
        }
    }
    task(const task&) = delete;
    task& operator=(const task&) = delete;

    // Runs the callable and destroys it. Lets its exceptions out.
    task_end run() { return end_(*this, task_end::run); }

    // Destroys the callable without running it.
    task_end drop() { return end_(*this, task_end::drop); }

    // The callable, when it is an F that lies inside; else null.
    template <class F>
    const F* target() const {
        static_assert(fits<F>);
        return end_ == &end_inline<F> ? std::launder(reinterpret_cast<const F*>(storage_)) : nullptr;
    }

    // For queues and timers.
    typename Sync::template cell<task*> next;
    std::int64_t deadline_ns = 0;  // 0: as soon as possible. Negative, in a pool alone: a prefetch hint

    // For a thread that walks a list of tasks that were posted one after the other: the block of one that lies some steps further,
    // only to ask for its line early. It may hold anything by now. Not for a task with a deadline.
    void leave_prefetch_hint(const void* block) noexcept { deadline_ns = -reinterpret_cast<std::intptr_t>(block); }
    const void* prefetch_hint() const noexcept {
        return reinterpret_cast<const void*>(static_cast<std::intptr_t>(-deadline_ns));
    }

private:
    template <class F>
    static constexpr bool fits = sizeof(F) <= inline_bytes && alignof(F) <= alignof(std::max_align_t) / 2;

    template <class F>
    static task_end finish(F& callable, task_end how) {
        if constexpr (told_of_its_end<F>) {
            return callable(how);
        } else {
            if (how == task_end::run) callable();
            return how;
        }
    }

    template <class F>
    static task_end end_inline(task& t, task_end how) {
        F& callable = *std::launder(reinterpret_cast<F*>(t.storage_));
        const struct guard {
            F& f;
            ~guard() { f.~F(); }
        } destroy_at_end{callable};
        return finish(callable, how);
    }

    template <class F>
    static task_end end_boxed(task& t, task_end how) {
        const std::unique_ptr<F> callable(*std::launder(reinterpret_cast<F**>(t.storage_)));
        return finish(*callable, how);
    }

    task_end (*end_)(task&, task_end);
    alignas(8) std::byte storage_[inline_bytes];
};

static_assert(sizeof(task<real_sync>) == 64);

}  // namespace apiary
