// faults: what a night does to a process: an allocation that fails, system calls that the kernel refuses, threads that are
// interrupted or stopped at any moment, a processor that is taken away.
//
// Inside the process that runs: refuse, failing allocations. From the process beside it, which watches: interrupt, stop, duty.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace apiary::night {

// ---- system calls

struct refusal {
    std::string_view name;
    std::vector<unsigned> calls;
    int error;         // what the kernel says where it lacks this, or a sandbox forbids it
    bool before_main;  // the program asks for it before main, so that it has to be refused before it begins
};
inline const std::vector<refusal>& refusals() {
    static const std::vector<refusal> all = {
        {"eventfd", {SYS_eventfd2}, EMFILE, true},         {"epoll_create", {SYS_epoll_create1}, EMFILE, true},
        {"epoll_ctl", {SYS_epoll_ctl}, ENOSPC, true},      {"membarrier", {SYS_membarrier}, EPERM, true},
        {"clone", {SYS_clone, SYS_clone3}, EAGAIN, false}, {"mmap", {SYS_mmap}, ENOMEM, false},
    };
    return all;
}

// From now on, in all threads of this process and in what it becomes by exec. False: the kernel has no such filter for us.
inline bool refuse(const std::vector<const refusal*>& which) {
    std::vector<sock_filter> code;
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (const refusal* one : which)
        for (const unsigned call : one->calls) {
            code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
            code.push_back(
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (static_cast<unsigned>(one->error) & SECCOMP_RET_DATA)));
        }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

// ---- allocations (before_allocation of night.cpp)

inline constexpr std::int64_t none_fails = std::numeric_limits<std::int64_t>::max();
inline std::atomic<std::int64_t> allocations_left = none_fails;  // before the one that fails
inline std::atomic<bool> later_ones_fail = false;
inline std::atomic<std::int64_t> one_in = 0;  // every so many-th fails; 0: none
inline std::atomic<std::int64_t> allocations = 0;

inline thread_local bool spared = false;  // for what the night itself allocates on this thread

inline bool this_allocation_fails() noexcept {
    if (spared) return false;
    if (const std::int64_t n = one_in.load(std::memory_order_relaxed); n != 0)
        return allocations.fetch_add(1, std::memory_order_relaxed) % n == n - 1;
    if (allocations_left.load(std::memory_order_relaxed) == none_fails) return false;
    const std::int64_t left = allocations_left.fetch_sub(1, std::memory_order_relaxed) - 1;
    return left == 0 || (left < 0 && later_ones_fail.load(std::memory_order_relaxed));
}

// ---- threads: of a child, by signals that it takes as below

// To a point in time: the kernel adds its slack to what is left at each interruption, so that a rest may never end under signals.
inline void sleep_seconds(double s) {
    timespec t{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &t);
    const auto ns = static_cast<std::int64_t>(t.tv_nsec) + static_cast<std::int64_t>(s * 1e9);
    t.tv_sec += static_cast<std::time_t>(ns / 1'000'000'000);
    t.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
    }
}

constexpr int interrupts = SIGUSR1, stops = SIGUSR2;
constexpr double stop_seconds = 1;

// Until take_signals, also through an exec: the process would end by one that came early.
inline void change_signals(int how) {
    sigset_t both;
    (void)::sigemptyset(&both);
    (void)::sigaddset(&both, interrupts);
    (void)::sigaddset(&both, stops);
    (void)::pthread_sigmask(how, &both, nullptr);
}
inline void hold_signals() { change_signals(SIG_BLOCK); }

// Neither restarts a system call: each ends with EINTR. Threads that were started before take none.
inline void take_signals() {
    struct sigaction a{};
    a.sa_handler = [](int) {};
    (void)::sigaction(interrupts, &a, nullptr);
    a.sa_handler = [](int) {
        const int kept = errno;
        sleep_seconds(stop_seconds);
        errno = kept;
    };
    (void)::sigaction(stops, &a, nullptr);
    change_signals(SIG_UNBLOCK);
}

inline std::vector<pid_t> threads_of(pid_t child) {
    std::vector<pid_t> found;
    std::error_code gone;
    for (std::filesystem::directory_iterator at("/proc/" + std::to_string(child) + "/task", gone), end;
         !gone && at != end; at.increment(gone))
        found.push_back(static_cast<pid_t>(std::stol(at->path().filename().string())));
    return found;
}
inline void signal_thread(pid_t child, pid_t thread, int number) { (void)::syscall(SYS_tgkill, child, thread, number); }

}  // namespace apiary::night
