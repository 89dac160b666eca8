// The host's services: the clocks of the treaty, absolute sleep, usage counters.
#pragma once

#include <cstdint>

namespace apiary::bench {

// CLOCK_MONOTONIC, the clock of every figure.
[[nodiscard]] std::int64_t now_ns() noexcept;

// Processor time of the whole process, all its threads.
[[nodiscard]] std::int64_t process_cpu_ns() noexcept;

// Processor time of the calling thread. A system call.
[[nodiscard]] std::int64_t thread_cpu_ns() noexcept;

// Sleeps until now_ns() is at least due_ns. A signal does not shorten it.
void sleep_until_ns(std::int64_t due_ns) noexcept;

// Asks the kernel to wake the calling thread on time instead of within its usual 50 us.
void set_timer_slack_1ns();

// Puts the calling thread before all threads of ordinary priority (SCHED_FIFO); threads that it starts are ordinary
// again. False if the thread has no right to do so.
[[nodiscard]] bool raise_priority() noexcept;

// Processors that the calling thread may run on.
[[nodiscard]] unsigned usable_processors() noexcept;

// Keeps the processor busy for about ns nanoseconds: the built-in slow-down of a control arm. Below 2 us by a
// calibrated loop, because one look at the clock may take longer than the slow-down; the processor runs no other code
// of the thread beside it. The fences for that come on top, some 10 ns.
void busy_wait_ns(std::int64_t ns) noexcept;

struct usage {
    std::uint64_t nvcsw = 0;
    std::uint64_t nivcsw = 0;
    std::uint64_t minflt = 0;
    std::uint64_t maxrss_kib = 0;
};

// getrusage(RUSAGE_SELF), but for the memory: the whole process since it started.
[[nodiscard]] usage process_usage();

// The greatest resident memory of this program. Not ru_maxrss, which begins with the parent's.
[[nodiscard]] std::uint64_t peak_resident_bytes();

// Context switches of all threads of the process but the calling one, wanted or not.
[[nodiscard]] std::uint64_t switches_of_others();

}  // namespace apiary::bench
