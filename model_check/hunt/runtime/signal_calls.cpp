// signal_calls: signals that one thread sends to another, or to itself. The receiver takes them where its next
// operation begins, with the baton, so its handler runs at the same step in each replay; a wait ends for them as the
// kernel ends it. What the sender did before it sent happens before the handler runs, and before nothing else of the
// receiver. Refused are signals of the process, signals of clocks, and calls that wait for signals (refused_calls).
#include <dlfcn.h>
#include <signal.h>

#include "machine.hpp"
#include "scheduler.hpp"
#include "signal_calls.hpp"

using namespace apiary::hunt;

namespace {

constinit bool has_handlers = false;  // libraries install some before the runtime begins

void installs(sighandler_t handler) {
    if (handler == SIG_DFL || handler == SIG_IGN) return;
    has_handlers = true;
    program_asks_for_its_own();
}

// 0, or what is wrong, as the kernel says it.
long sends(const call& here, thread* to, int signal) {
    if (to == nullptr) return -ESRCH;
    if (signal < 0 || signal > SIGRTMAX || (signal > SIGSYS && signal < SIGRTMIN)) return -EINVAL;
    if (signal != 0 && !to->ended) the_scheduler.signals(here.me(), *to, signal);
    return 0;
}
thread* by_kernel_id(long id) {
    for (thread* t : the_scheduler.threads)
        if (t->kernel_id == id && !t->ended) return t;
    return nullptr;
}

// Before the call returns, as POSIX has it.
void takes_its_own(thread* myself) {
    if (myself == nullptr) return;
    myself->inside = true;
    the_scheduler.take_signals(*myself);
    myself->inside = false;
}

// The program's own handlers come where it lets their signals through.
long changes_mask(int how, const sigset_t* wanted, sigset_t* before, std::uintptr_t place) {
    const call here("signal mask", place);
    constexpr std::uint64_t of_the_library = std::uint64_t{3} << 31;  // it uses 32 and 33 itself
    std::uint64_t set = 0;
    if (wanted != nullptr) set = *reinterpret_cast<const std::uint64_t*>(wanted) & ~of_the_library;
    if (here) {
        if (wanted != nullptr && how != SIG_BLOCK) the_scheduler.lets_through(here.me());
        if (wanted != nullptr) the_scheduler.needs_own_threads();
        here.me().inside = false;
    }
    const long result = machine::call(SYS_rt_sigprocmask, how, wanted != nullptr ? machine::word(&set) : 0,
                                      machine::word(before), sizeof set);
    if (here) here.me().inside = true;
    return result;
}

}  // namespace

namespace apiary::hunt {

bool handles_signals() { return has_handlers; }

long tgkill_of(long process, long id, long signal, const char* what, std::uintptr_t place) {
    thread* myself = nullptr;
    long result = 0;
    {
        const call here(what, place);
        if (!here || process != machine::call(SYS_getpid)) return machine::call(SYS_tgkill, process, id, signal);
        thread* const to = by_kernel_id(id);
        result = sends(here, to, static_cast<int>(signal));
        if (to == &here.me()) myself = to;
    }
    takes_its_own(myself);
    return result;
}

}  // namespace apiary::hunt

extern "C" {

int pthread_kill(pthread_t handle, int signal) noexcept {
    thread* myself = nullptr;
    long result = 0;
    {
        const call here("pthread_kill", CALLER);
        if (!here) return ENOSYS;
        thread* const to = the_scheduler.of(handle);
        result = sends(here, to, signal);
        if (to == &here.me()) myself = to;
    }
    takes_its_own(myself);
    return static_cast<int>(-result);
}
int pthread_sigmask(int how, const sigset_t* wanted, sigset_t* before) noexcept {
    return static_cast<int>(-changes_mask(how, wanted, before, CALLER));
}
int sigprocmask(int how, const sigset_t* wanted, sigset_t* before) noexcept {
    return static_cast<int>(machine::answered(changes_mask(how, wanted, before, CALLER)));
}
int sigaction(int number, const struct sigaction* wanted, struct sigaction* before) noexcept {
    static const auto real = reinterpret_cast<decltype(&sigaction)>(::dlsym(RTLD_NEXT, "sigaction"));
    if (wanted != nullptr) installs(wanted->sa_handler);
    return real(number, wanted, before);
}
sighandler_t signal(int number, sighandler_t wanted) noexcept {
    static const auto real = reinterpret_cast<decltype(&signal)>(::dlsym(RTLD_NEXT, "signal"));
    installs(wanted);
    return real(number, wanted);
}
int sigaltstack(const stack_t* wanted, stack_t* before) noexcept {
    program_asks_for_its_own();
    return static_cast<int>(
        machine::answered(machine::call(SYS_sigaltstack, machine::word(wanted), machine::word(before))));
}
int tgkill(pid_t process, pid_t id, int signal) noexcept {
    return static_cast<int>(machine::answered(tgkill_of(process, id, signal, "tgkill", CALLER)));
}
}
