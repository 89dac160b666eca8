// Clocks, sleep and usage counters by the calls of Linux.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <apiary/bench/host.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary::bench {

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

std::int64_t read_clock(clockid_t clock) noexcept {
    timespec t{};
    ::clock_gettime(clock, &t);
    return std::int64_t{t.tv_sec} * ns_per_s + t.tv_nsec;
}

}  // namespace

std::int64_t now_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }

std::int64_t process_cpu_ns() noexcept { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

std::int64_t thread_cpu_ns() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void sleep_until_ns(std::int64_t due_ns) noexcept {
    const timespec due{.tv_sec = due_ns / ns_per_s, .tv_nsec = due_ns % ns_per_s};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr) == EINTR) {
    }
}

void set_timer_slack_1ns() {
    if (::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot set the timer slack");
}

// A runtime may start workers in a post: without SCHED_RESET_ON_FORK they would inherit the priority.
bool raise_priority() noexcept {
    const sched_param lowest{.sched_priority = 1};
    return ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
}

unsigned usable_processors() noexcept {
    cpu_set_t usable;
    // Fails where there are more than the set can hold.
    return ::sched_getaffinity(0, sizeof usable, &usable) == 0 ? static_cast<unsigned>(CPU_COUNT(&usable))
                                                               : CPU_SETSIZE;
}

namespace {

// A chain of dependent multiplications, which no processor can hurry.
void multiply(std::int64_t times) noexcept {
    std::uint64_t x = 1;
    for (std::int64_t i = 0; i < times; ++i) {
        x = x * 0x9E3779B97F4A7C15U + 1;
        __asm__ __volatile__("" : "+r"(x));
    }
}

// Code after this call begins when the code before it is done, even in a processor that runs code out of order.
void finish_all_before() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

// The best of several tries: an interrupted one only looks slower.
double multiplications_per_ns() noexcept {
    constexpr std::int64_t times = 100'000;
    std::int64_t best = INT64_MAX;
    for (int i = 0; i < 20; ++i) {
        const std::int64_t start = now_ns();
        multiply(times);
        best = std::min(best, std::max<std::int64_t>(now_ns() - start, 1));
    }
    return static_cast<double>(times) / static_cast<double>(best);
}

}  // namespace

void busy_wait_ns(std::int64_t ns) noexcept {
    if (ns < 2'000) {
        static const double per_ns = multiplications_per_ns();
        const std::int64_t times = std::max<std::int64_t>(std::llround(static_cast<double>(ns) * per_ns), 1);
        finish_all_before();  // otherwise earlier code would run beside the wait,
        multiply(times);
        finish_all_before();  // and so would later code
        return;
    }
    const std::int64_t start = now_ns();
    while (now_ns() - start < ns) real_sync::relax();
}

namespace {

rusage usage_of(int who) {
    rusage u{};
    if (::getrusage(who, &u) != 0) throw std::system_error(errno, std::generic_category(), "getrusage");
    return u;
}

}  // namespace

usage process_usage() {
    const rusage u = usage_of(RUSAGE_SELF);
    return {.nvcsw = static_cast<std::uint64_t>(u.ru_nvcsw),
            .nivcsw = static_cast<std::uint64_t>(u.ru_nivcsw),
            .minflt = static_cast<std::uint64_t>(u.ru_minflt),
            .maxrss_kib = peak_resident_bytes() / 1024};
}

std::uint64_t peak_resident_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (std::uint64_t kib = 0; word == "VmHWM:" && status >> kib) return kib * 1024;
    throw std::runtime_error("/proc/self/status does not tell VmHWM");
}

std::uint64_t switches_of_others() {
    // The calling thread's switches are read first, so that a switch in between cannot make the difference negative.
    const rusage own = usage_of(RUSAGE_THREAD), all = usage_of(RUSAGE_SELF);
    return static_cast<std::uint64_t>(all.ru_nvcsw + all.ru_nivcsw - own.ru_nvcsw - own.ru_nivcsw);
}

}  // namespace apiary::bench
