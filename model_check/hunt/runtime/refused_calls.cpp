// refused_calls: what a hunt does not follow, refused by name. Libraries may ask for these inside of their own calls,
// unseen.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "machine.hpp"
#include "scheduler.hpp"

using namespace apiary::hunt;

void apiary::hunt::refuse(const call& here, const char* what) {
    say("not supported: %s\n", what);
    tell_stack(here.me(), here.me().doing_at);
    found(ending::refused);
}

#define REFUSED(name, parameters, outside)        \
    extern "C" int name parameters {              \
        const call here(#name, CALLER);           \
        if (here) refuse(here, #name);            \
        outside;                                  \
    }
REFUSED(pthread_cancel, (pthread_t), return ENOSYS)
REFUSED(pthread_setcanceltype, (int, int*), return 0)
REFUSED(pthread_tryjoin_np, (pthread_t, void**) noexcept, return ENOSYS)
REFUSED(pthread_timedjoin_np, (pthread_t, void**, const timespec*), return ENOSYS)
REFUSED(pthread_clockjoin_np, (pthread_t, void**, clockid_t, const timespec*), return ENOSYS)
REFUSED(thrd_create, (thrd_t*, thrd_start_t, void*), return thrd_error)
REFUSED(connect, (int, const sockaddr*, socklen_t), return -1)
REFUSED(bind, (int, const sockaddr*, socklen_t) noexcept, return -1)

// A signal that comes from the clock, or that any thread may take, would come at another step in each run.
#define KERNEL(...) return static_cast<int>(machine::answered(machine::call(__VA_ARGS__)))
constexpr long set_bytes = 8;  // of the kernel's sets of signals
REFUSED(sigwaitinfo, (const sigset_t* set, siginfo_t* info),
        KERNEL(SYS_rt_sigtimedwait, machine::word(set), machine::word(info), 0, set_bytes))
REFUSED(sigtimedwait, (const sigset_t* set, siginfo_t* info, const timespec* t),
        KERNEL(SYS_rt_sigtimedwait, machine::word(set), machine::word(info), machine::word(t), set_bytes))
REFUSED(sigwait, (const sigset_t* set, int* signal), *signal = sigwaitinfo(set, nullptr);
        return *signal < 0 ? errno : 0)
REFUSED(sigsuspend, (const sigset_t* set), KERNEL(SYS_rt_sigsuspend, machine::word(set), set_bytes))
REFUSED(pause, (), KERNEL(SYS_pause, 0))
REFUSED(signalfd, (int file, const sigset_t* set, int how) noexcept,
        KERNEL(SYS_signalfd4, file, machine::word(set), set_bytes, how))
REFUSED(setitimer, (__itimer_which_t which, const itimerval* next, itimerval* before) noexcept,
        KERNEL(SYS_setitimer, which, machine::word(next), machine::word(before)))
REFUSED(timer_create, (clockid_t, sigevent*, timer_t*) noexcept, return -1)
extern "C" unsigned alarm(unsigned seconds) noexcept {
    const call here("alarm", CALLER);
    if (here) refuse(here, "alarm");
    return static_cast<unsigned>(machine::call(SYS_alarm, seconds));
}
extern "C" int kill(pid_t process, int signal) noexcept {
    {
        const call here("kill", CALLER);
        const bool its_own = process == machine::call(SYS_getpid) || process == 0;
        if (here && its_own && signal != 0 && the_scheduler.threads.size() > 1)
            refuse(here, "kill of the process itself, with several threads");
    }
    return static_cast<int>(machine::answered(machine::call(SYS_kill, process, signal)));
}

REFUSED(pthread_sigqueue, (pthread_t, int, sigval) noexcept, return ENOSYS)
REFUSED(sigqueue, (pid_t, int, sigval) noexcept, return -1)

extern "C" sem_t* sem_open(const char*, int, ...) noexcept {
    const call here("sem_open", CALLER);
    if (here) refuse(here, "sem_open");
    errno = ENOSYS;
    return SEM_FAILED;
}
extern "C" void* dlopen(const char* file, int how) noexcept {
    const call here("dlopen", CALLER);
    if (here) refuse(here, "dlopen");
    return reinterpret_cast<void* (*)(const char*, int)>(::dlsym(RTLD_NEXT, "dlopen"))(file, how);
}
