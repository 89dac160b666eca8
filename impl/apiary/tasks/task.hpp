// task: a job with one callable, in one 64-byte cache line.
//
// What it is. A move-only callable with the end function of a job (job.hpp). A callable of up to 40 bytes lies inside;
// a larger one in a heap object of its own.
//
// Threads.   As a job's.
// Lifetime.  Its end destroys the callable, also if that throws, and then gives the block back to the storage that made
//            it (task_storage.hpp). A task that no storage made frees nothing.
// Endings.   A callable that takes a job_end instead of nothing is called for a drop as well, and answers how it ended.
// Rejected:  std::function in the queues' slots: a thief would tear it (exhibit A07). They hold pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/job.hpp>

namespace apiary {

template <class F>
concept told_of_its_end = std::is_invocable_r_v<job_end, F&, job_end>;

// The storage of a task that lies inside another object.
struct no_storage {
    static void release(void*) noexcept {}
};
// Tag for the constructor: the task is made in a block that Storage::release takes back.
template <class Storage>
struct made_by {};

template <class Sync = real_sync>
class task : public job<Sync> {
    using job_type = job<Sync>;

public:
    static constexpr std::size_t inline_bytes = 40;

    template <class F>
        requires((std::is_invocable_v<std::decay_t<F>&> || told_of_its_end<std::decay_t<F>>) &&
                 !std::is_same_v<std::decay_t<F>, task>)
    explicit task(F&& callable) : task(made_by<no_storage>(), std::forward<F>(callable)) {}

    template <class Storage, class F>
    task(made_by<Storage>, F&& callable) : job_type(end_of<std::decay_t<F>, Storage>()) {
        using callable_type = std::decay_t<F>;
        static_assert(std::is_nothrow_destructible_v<callable_type>, "a task is destroyed where nobody can catch");
        if constexpr (fits<callable_type>)
            ::new (static_cast<void*>(storage_)) callable_type(std::forward<F>(callable));
        else
            ::new (static_cast<void*>(storage_)) callable_type*(new callable_type(std::forward<F>(callable)));
    }

    // The callable, if it is an F that lies inside and Storage made the task; else null.
    template <class F, class Storage>
    const F* target() const {
        static_assert(fits<F>);
        return this->ends_by() == &end_inline<F, Storage> ? std::launder(reinterpret_cast<const F*>(storage_))
                                                          : nullptr;
    }

    // Used by timers and pools. 0: as soon as possible. Negative (only in a pool): a prefetch hint.
    std::int64_t deadline_ns = 0;

    // For a thread that walks a list of tasks that were posted one after another. The hint is the block of a task some
    // steps further on; the walker asks for its cache line early. By then the block may hold anything. Not for a task
    // with a deadline.
    void leave_prefetch_hint(const void* block) noexcept { deadline_ns = -reinterpret_cast<std::intptr_t>(block); }
    const void* prefetch_hint() const noexcept {
        return reinterpret_cast<const void*>(static_cast<std::intptr_t>(-deadline_ns));
    }

private:
    template <class F>
    static constexpr bool fits = sizeof(F) <= inline_bytes && alignof(F) <= alignof(std::max_align_t) / 2;

    template <class F, class Storage>
    static constexpr typename job_type::end_function end_of() {
        if constexpr (fits<F>)
            return &end_inline<F, Storage>;
        else
            return &end_boxed<F, Storage>;
    }

    template <class F>
    static bool finish(F& callable, job_end how) {
        if constexpr (told_of_its_end<F>) {
            return callable(how) == how;
        } else {
            if (how == job_end::run) callable();
            return true;
        }
    }

    template <class F, class Storage>
    static bool end_inline(job_type& self, job_end how, any_worker*) {
        auto& t = static_cast<task&>(self);
        F& callable = *std::launder(reinterpret_cast<F*>(t.storage_));
        const bool as_told = finish(callable, how);
        callable.~F();
        Storage::release(&t);
        return as_told;
    }

    template <class F, class Storage>
    static bool end_boxed(job_type& self, job_end how, any_worker*) {
        auto& t = static_cast<task&>(self);
        F* const callable = *std::launder(reinterpret_cast<F**>(t.storage_));
        const bool as_told = finish(*callable, how);
        delete callable;
        Storage::release(&t);
        return as_told;
    }

    alignas(8) std::byte storage_[inline_bytes];
};

static_assert(sizeof(task<real_sync>) == 64);

}  // namespace apiary
