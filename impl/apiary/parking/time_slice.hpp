// time_slice: how long a thread may keep the processor before others have their turn, and how soon it gets it when
// woken.
//
// Linux since 6.12 lets a thread of the ordinary policies ask for its own slice. A thread that asks for less than the
// running ones gets the processor as soon as it is woken, and gives it up correspondingly sooner: its share stays the
// same. No privilege is needed.
//
// When to use it. For threads that work in short pieces beside threads that compute. When not: for threads that
// compute; a short slice would only interrupt them more often.
//
// Threads. Each for itself; threads that it starts meanwhile inherit its slice.
// Errors.  None: if the kernel does not know slices, or the thread has another policy, nothing happens.
// Source:  sched_setattr(2), sched_runtime for SCHED_OTHER; the kernel's EEVDF scheduler. impl/DECISIONS.md D48.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace apiary {

// The kernel's side: the calling thread's slice in nanoseconds; none if the kernel does not know slices or the thread
// has another policy.
class linux_slices {
public:
    static std::optional<std::uint64_t> get() {
        attributes now{};
        return get(now) ? std::optional(now.runtime_ns) : std::nullopt;
    }
    static void set(std::uint64_t ns) {
        attributes now{};  // holds the thread's other attributes too, such as its nice value
        if (!get(now)) return;
        now.runtime_ns = ns;
        (void)::syscall(SYS_sched_setattr, 0, &now, 0);
    }

private:
    // The kernel's struct sched_attr in its first version, which no header of the C library declares.
    struct attributes {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime_ns, deadline_ns, period_ns;
    };
    static_assert(sizeof(attributes) == 48);

    static bool get(attributes& a) {
        if (::syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0) return false;
        return (a.policy == SCHED_OTHER || a.policy == SCHED_BATCH) && a.runtime_ns != 0;
    }
};

// For policies whose threads are not the system's (workers/thread_team.hpp).
struct no_slices {
    static std::optional<std::uint64_t> get() { return std::nullopt; }
    static void set(std::uint64_t) {}
};

// `Slices`: the kernel's side, or a test's, or none.
template <class Slices>
class basic_time_slice {
public:
    // From now on this thread's slice is ns, which the kernel clamps to 100 us … 100 ms. 0 changes nothing.
    explicit basic_time_slice(std::int64_t ns) {
        if (ns == 0) return;
        before_ns_ = Slices::get().value_or(unknown);
        if (before_ns_ != unknown) Slices::set(static_cast<std::uint64_t>(ns));
    }
    // Restores the former slice.
    ~basic_time_slice() {
        if (before_ns_ != unknown) Slices::set(before_ns_);
    }
    basic_time_slice(const basic_time_slice&) = delete;
    basic_time_slice& operator=(const basic_time_slice&) = delete;

    // In nanoseconds; 0 if the kernel does not tell.
    static std::int64_t of_this_thread() { return static_cast<std::int64_t>(Slices::get().value_or(0)); }

private:
    // No kernel has a slice of length 0, so this means that there is none to restore.
    static constexpr std::uint64_t unknown = 0;
    std::uint64_t before_ns_ = unknown;
};

using time_slice = basic_time_slice<linux_slices>;

}  // namespace apiary
