// faults: what ends a program's execution from within: a crash, abort, std::terminate, exit, a loop without end. The verdict
// says what happened, where, and how to see it again.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>

namespace apiary::model::as_it_is {

constinit unsigned longest_loop = 5;
constinit bool tells_reach = false;

namespace {

#define CALLER __builtin_return_address(0)

const char* name_of(int signal) {
    switch (signal) {
        case SIGSEGV:
            return "SIGSEGV";
        case SIGBUS:
            return "SIGBUS";
        case SIGFPE:
            return "SIGFPE";
        default:
            return "SIGILL";
    }
}

// The instruction that was interrupted, as if it were a call.
void* interrupted(void* context) {
    return reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] + 1);
}

void leave_the_signal(int signal) {
    in_program = false;
    use_own_block();
    const std::uint64_t mine = std::uint64_t{1} << (signal - 1);  // not by the function: it looks its library's up
    ::syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mine, nullptr, sizeof mine);
}

void crashed(int signal, siginfo_t* info, void* context) {
    if (!in_program) {  // the checker's own: as it would be
        ::signal(signal, SIG_DFL);
        return;
    }
    leave_the_signal(signal);
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const std::string what = the_runtime().is_below_a_stack(at) ? "the stack of a thread ran over: "
                                                                : std::string("crash: ") + name_of(signal) + " ";
    runtime::engine().fail(what + "at " + place_text(interrupted(context)));
}

// Every half second of processor time: a program that has called nothing for so long is taken for one in a loop without end.
void looked_at(int signal, siginfo_t*, void* context) {
    static std::uint64_t last = 0;
    static unsigned times = 0;
    if (!in_program || entries != last) {
        last = entries;
        times = 0;
        return;
    }
    if (++times <= longest_loop * 2) return;
    times = 0;
    leave_the_signal(signal);
    runtime::engine().fail("endless loop: for more than " + std::to_string(longest_loop) +
                           " seconds of processor time nothing but plain instructions (--loop-seconds), at " +
                           place_text(interrupted(context)));
}

// Red whatever a handler of the program's would do: it may not return, and what ends the process is red, too.
void terminated() {
    if (in_program) {
        in_program = false;
        use_own_block();
        the_runtime().fail("std::terminate() was called", CALLER);
    }
    std::abort();
}
std::terminate_handler of_globals = nullptr;  // what std::get_terminate() says in a scenario

}  // namespace

// A process has its timer for itself.
void watch_for_faults() {
    static bool watching = false;
    if (watching) return;
    watching = true;
    static const int in_children = ::pthread_atfork(nullptr, nullptr, [] { watching = false; });
    (void)in_children;
    static std::array<char, 65536> stack;
    stack_t own{};
    own.ss_sp = stack.data();
    own.ss_size = stack.size();
    ::sigaltstack(&own, nullptr);
    struct sigaction by_us{};
    by_us.sa_flags = SA_SIGINFO | SA_ONSTACK;
    by_us.sa_sigaction = crashed;
    for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::sigaction(s, &by_us, nullptr);
    by_us.sa_sigaction = looked_at;
    by_us.sa_flags |= SA_RESTART;
    ::sigaction(SIGPROF, &by_us, nullptr);
    const itimerval half{{0, 500'000}, {0, 500'000}};
    ::setitimer(ITIMER_PROF, &half, nullptr);
    if (const auto before = std::set_terminate(terminated); before != terminated) of_globals = before;
}

}  // namespace apiary::model::as_it_is

using namespace apiary::model::as_it_is;

namespace {
[[noreturn]] void leave(int status) {
    for (;;) __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(status) : "rcx", "r11", "memory");
}
[[noreturn]] void ended_by(const char* what, void* pc) {
    const outside_program now;
    the_runtime().fail(std::string(what) + " was called", pc);
}
}  // namespace

std::terminate_handler std::set_terminate(terminate_handler to) noexcept {
    if (in_program) {
        const outside_program now;
        the_runtime().refuse("std::set_terminate: the handler is the process's, and an execution would leave it to the next one. "
                             "Remedy: none is needed, since std::terminate() is red whatever its handler does",
                             CALLER);
    }
    return library<terminate_handler(terminate_handler)>("_ZSt13set_terminatePFvvE")(to);
}
// The library asks, too: std::terminate() calls what it gets.
std::terminate_handler std::get_terminate() noexcept {
    if (in_program && is_of_the_program(reinterpret_cast<std::uintptr_t>(CALLER))) return of_globals;
    return library<terminate_handler()>("_ZSt13get_terminatev")();
}

extern "C" {

[[noreturn]] void abort() noexcept {
    if (in_program) ended_by("abort()", CALLER);
    ::signal(SIGABRT, SIG_DFL);
    ::raise(SIGABRT);
    ::_exit(127);
}
[[noreturn]] void exit(int status) noexcept {
    if (in_program) ended_by("exit()", CALLER);
    reinterpret_cast<void (*)(int)>(::dlsym(RTLD_NEXT, "exit"))(status);
    __builtin_unreachable();
}
[[noreturn]] void quick_exit(int status) noexcept {
    if (in_program) ended_by("quick_exit()", CALLER);
    reinterpret_cast<void (*)(int)>(::dlsym(RTLD_NEXT, "quick_exit"))(status);
    __builtin_unreachable();
}
[[noreturn]] void _exit(int status) {
    if (in_program) ended_by("_exit()", CALLER);
    leave(status);
}
[[noreturn]] void _Exit(int status) noexcept {
    if (in_program) ended_by("_Exit()", CALLER);
    leave(status);
}
// What assert() calls.
[[noreturn]] void __assert_fail(const char* what, const char* file, unsigned line, const char*) noexcept {
    if (in_program) {
        const outside_program now;
        the_runtime().fail(std::string("the assertion `") + what + "' does not hold", CALLER);
    }
    std::fprintf(stderr, "%s:%u: the assertion `%s' does not hold\n", file, line, what);
    std::abort();
}
}
