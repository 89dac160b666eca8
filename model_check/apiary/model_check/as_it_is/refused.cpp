// refused: calls that a program under check must not make. Each is refused with its name and place where the
// program calls it, and passed on where the checker does.
//
// Signals and what they are sent by: a handler of the program's would run at a moment that the explorer does not choose, and one
// for SIGSEGV or SIGPROF would take the place of ours, and the verdict with it. Other processes: they would have the search's
// memory. Input, and waiting for it: what comes is not the same in every execution, and when it comes nobody here decides.
// State that the C library keeps for the process: what an execution leaves there the next one would find.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <ucontext.h>
#include <unistd.h>

#include <clocale>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>

extern "C" int __fork();

namespace apiary::model::as_it_is {

void refused_is_linked() {}

}  // namespace apiary::model::as_it_is

namespace {

using namespace apiary::model::as_it_is;

#define CALLER __builtin_return_address(0)

[[noreturn]] void refuse(const char* what, void* pc) {
    const outside_program now;
    the_runtime().refuse(what, pc);
}

// execl(…, nullptr), as the array that execv() takes; `list` stands behind the terminator afterwards.
std::vector<char*> words_of(const char* first, std::va_list& list) {
    std::vector<char*> words;
    for (const char* word = first; word != nullptr; word = va_arg(list, const char*))
        words.push_back(const_cast<char*>(word));
    words.push_back(nullptr);
    return words;
}

}  // namespace

// `qualifier`: as the library declares it.
#define REFUSED(result, name, parameters, arguments, qualifier) \
    result name parameters qualifier {                          \
        if (in_program) refuse(#name, CALLER);                  \
        return library<result parameters>(#name) arguments;     \
    }

#define REFUSED_STATE(result, name, parameters, arguments, qualifier, why)  \
    result name parameters qualifier {                                      \
        if (in_program) refuse(#name ": " why, CALLER);                     \
        return library<result parameters>(#name) arguments;                 \
    }
#define LEFT_TO_THE_NEXT \
    "its state is the process's, and an execution would leave it to the next one. Remedy: an engine of <random> in the scenario"
#define OTHER_EACH_TIME \
    "what it gives is not the same in every execution. Remedy: an engine of <random> in the scenario, with a seed of its own"
#define THE_ENVIRONMENT \
    "the environment is the process's, and an execution would leave it to the next one. Remedy: set it before the program starts"

extern "C" {

// ---- state of the process ---------------------------------------------------------------------------------------

REFUSED_STATE(int, rand, (), (), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(void, srand, (unsigned seed), (seed), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(long, random, (), (), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(void, srandom, (unsigned seed), (seed), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(char*, initstate, (unsigned seed, char* to, size_t n), (seed, to, n), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(char*, setstate, (char* from), (from), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(double, drand48, (), (), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(long, lrand48, (), (), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(long, mrand48, (), (), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(void, srand48, (long seed), (seed), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(unsigned short*, seed48, (unsigned short seed[3]), (seed), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(void, lcong48, (unsigned short seed[7]), (seed), noexcept, LEFT_TO_THE_NEXT)
REFUSED_STATE(ssize_t, getrandom, (void* to, size_t n, unsigned how), (to, n, how), , OTHER_EACH_TIME)
REFUSED_STATE(int, getentropy, (void* to, size_t n), (to, n), , OTHER_EACH_TIME)
REFUSED_STATE(int, setenv, (const char* name, const char* value, int over), (name, value, over), noexcept, THE_ENVIRONMENT)
REFUSED_STATE(int, unsetenv, (const char* name), (name), noexcept, THE_ENVIRONMENT)
REFUSED_STATE(int, putenv, (char* text), (text), noexcept, THE_ENVIRONMENT)
REFUSED_STATE(int, clearenv, (), (), noexcept, THE_ENVIRONMENT)
REFUSED_STATE(char*, setlocale, (int which, const char* name), (which, name), noexcept,
              "the locale is the process's, and an execution would leave it to the next one. Remedy: uselocale(), which is a "
              "thread's own")
REFUSED_STATE(char*, strtok, (char* text, const char* between), (text, between), noexcept,
              "its state is the process's, and an execution would leave it to the next one. Remedy: strtok_r()")
REFUSED_STATE(int, chdir, (const char* to), (to), noexcept,
              "the folder is the process's, and an execution would leave it to the next one. Remedy: names with their folder")
REFUSED_STATE(mode_t, umask, (mode_t mask), (mask), noexcept,
              "the mask of new files is the process's, and an execution would leave it to the next one. Remedy: set it before the "
              "program starts")
REFUSED_STATE(int, fchdir, (int to), (to), noexcept,
              "the folder is the process's, and an execution would leave it to the next one. Remedy: names with their folder")

// ---- threads: what is not followed ------------------------------------------------------------------------------

REFUSED(int, pthread_tryjoin_np, (pthread_t t, void** result), (t, result), noexcept)
REFUSED(int, pthread_timedjoin_np, (pthread_t t, void** result, const timespec* by), (t, result, by), )
REFUSED(int, pthread_clockjoin_np, (pthread_t t, void** result, clockid_t c, const timespec* by), (t, result, c, by), )
REFUSED(int, pthread_cancel, (pthread_t t), (t), )
// Threads are one for the kernel, and stacks are where the runtime has them.
REFUSED(pid_t, gettid, (), (), noexcept)
REFUSED(int, swapcontext, (ucontext_t * from, const ucontext_t* to), (from, to), noexcept)
REFUSED(int, setcontext, (const ucontext_t* to), (to), noexcept)

[[noreturn]] void thrd_exit(int) { refuse("thrd_exit", CALLER); }
[[noreturn]] void pthread_exit(void*) { refuse("pthread_exit", CALLER); }

// ---- signals ------------------------------------------------------------------------------------------------

using handler = void (*)(int);
handler signal(int s, handler h) noexcept {
    if (in_program) refuse("signal", CALLER);
    return library<handler(int, handler)>("signal")(s, h);
}
REFUSED(int, sigaction, (int s, const struct sigaction* to, struct sigaction* from), (s, to, from), noexcept)
REFUSED(int, sigprocmask, (int how, const sigset_t* to, sigset_t* from), (how, to, from), noexcept)
REFUSED(int, pthread_sigmask, (int how, const sigset_t* to, sigset_t* from), (how, to, from), noexcept)
REFUSED(int, sigaltstack, (const stack_t* to, stack_t* from), (to, from), noexcept)
REFUSED(int, raise, (int s), (s), noexcept)
REFUSED(int, kill, (pid_t p, int s), (p, s), noexcept)
REFUSED(int, pthread_kill, (pthread_t t, int s), (t, s), noexcept)
REFUSED(int, sigqueue, (pid_t p, int s, const sigval v), (p, s, v), noexcept)
REFUSED(int, setitimer, (__itimer_which_t w, const itimerval* to, itimerval* from), (w, to, from), noexcept)
REFUSED(int, timer_create, (clockid_t c, sigevent* e, timer_t* t), (c, e, t), noexcept)
REFUSED(unsigned, alarm, (unsigned n), (n), noexcept)
REFUSED(int, pause, (), (), )
REFUSED(int, sigsuspend, (const sigset_t* s), (s), )
REFUSED(int, sigwait, (const sigset_t* s, int* which), (s, which), )
REFUSED(int, sigwaitinfo, (const sigset_t* s, siginfo_t* i), (s, i), )
REFUSED(int, sigtimedwait, (const sigset_t* s, siginfo_t* i, const timespec* t), (s, i, t), )

// ---- processes ------------------------------------------------------------------------------------------------

pid_t fork() noexcept {
    if (in_program) refuse("fork", CALLER);
    return __fork();
}
// The library's cannot be passed on to: it comes back in the frame of its caller. A fork does all that it promises.
pid_t vfork() noexcept {
    if (in_program) refuse("vfork", CALLER);
    return __fork();
}
REFUSED(int, system, (const char* c), (c), )
REFUSED(FILE*, popen, (const char* c, const char* how), (c, how), )
REFUSED(int, posix_spawn,
        (pid_t * p, const char* f, const posix_spawn_file_actions_t* a, const posix_spawnattr_t* t, char* const* v,
         char* const* e),
        (p, f, a, t, v, e), )
REFUSED(int, posix_spawnp,
        (pid_t * p, const char* f, const posix_spawn_file_actions_t* a, const posix_spawnattr_t* t, char* const* v,
         char* const* e),
        (p, f, a, t, v, e), )
REFUSED(int, execv, (const char* f, char* const* v), (f, v), noexcept)
REFUSED(int, execvp, (const char* f, char* const* v), (f, v), noexcept)
REFUSED(int, execve, (const char* f, char* const* v, char* const* e), (f, v, e), noexcept)
REFUSED(int, execvpe, (const char* f, char* const* v, char* const* e), (f, v, e), noexcept)
REFUSED(int, fexecve, (int f, char* const* v, char* const* e), (f, v, e), noexcept)
int execl(const char* file, const char* first, ...) noexcept {
    if (in_program) refuse("execl", CALLER);
    std::va_list list;
    va_start(list, first);
    const std::vector<char*> words = words_of(first, list);
    va_end(list);
    return ::execv(file, words.data());
}
int execlp(const char* file, const char* first, ...) noexcept {
    if (in_program) refuse("execlp", CALLER);
    std::va_list list;
    va_start(list, first);
    const std::vector<char*> words = words_of(first, list);
    va_end(list);
    return ::execvp(file, words.data());
}
int execle(const char* file, const char* first, ...) noexcept {
    if (in_program) refuse("execle", CALLER);
    std::va_list list;
    va_start(list, first);
    const std::vector<char*> words = words_of(first, list);
    char* const* const environment = va_arg(list, char* const*);
    va_end(list);
    return ::execve(file, words.data(), environment);
}
REFUSED(pid_t, wait, (int* status), (status), )
REFUSED(pid_t, waitpid, (pid_t p, int* status, int how), (p, status, how), )
REFUSED(int, waitid, (idtype_t t, id_t i, siginfo_t* s, int how), (t, i, s, how), )

// ---- input, and waiting for it ------------------------------------------------------------------------------------

REFUSED(ssize_t, read, (int f, void* to, size_t n), (f, to, n), )
REFUSED(ssize_t, pread, (int f, void* to, size_t n, off_t at), (f, to, n, at), )
REFUSED(ssize_t, pread64, (int f, void* to, size_t n, off64_t at), (f, to, n, at), )
REFUSED(ssize_t, readv, (int f, const iovec* to, int n), (f, to, n), )
REFUSED(ssize_t, recv, (int f, void* to, size_t n, int how), (f, to, n, how), )
REFUSED(ssize_t, recvfrom, (int f, void* to, size_t n, int how, sockaddr* a, socklen_t* s), (f, to, n, how, a, s), )
REFUSED(ssize_t, recvmsg, (int f, msghdr* m, int how), (f, m, how), )
REFUSED(int, recvmmsg, (int f, mmsghdr* m, unsigned n, int how, timespec* t), (f, m, n, how, t), )
REFUSED(int, accept, (int f, sockaddr* a, socklen_t* s), (f, a, s), )
REFUSED(int, accept4, (int f, sockaddr* a, socklen_t* s, int how), (f, a, s, how), )
REFUSED(int, connect, (int f, const sockaddr* a, socklen_t s), (f, a, s), )
REFUSED(int, poll, (pollfd * f, nfds_t n, int t), (f, n, t), )
REFUSED(int, ppoll, (pollfd * f, nfds_t n, const timespec* t, const sigset_t* s), (f, n, t, s), )
REFUSED(int, select, (int n, fd_set* r, fd_set* w, fd_set* x, timeval* t), (n, r, w, x, t), )
REFUSED(int, pselect, (int n, fd_set* r, fd_set* w, fd_set* x, const timespec* t, const sigset_t* s),
        (n, r, w, x, t, s), )
REFUSED(int, epoll_wait, (int f, epoll_event* e, int n, int t), (f, e, n, t), )
REFUSED(int, epoll_pwait, (int f, epoll_event* e, int n, int t, const sigset_t* s), (f, e, n, t, s), )
// Streams read without read(): within the library.
REFUSED(int, getc, (FILE * f), (f), )
REFUSED(int, fgetc, (FILE * f), (f), )
REFUSED(int, getchar, (), (), )
REFUSED(char*, fgets, (char* to, int n, FILE* f), (to, n, f), )
REFUSED(size_t, fread, (void* to, size_t size, size_t n, FILE* f), (to, size, n, f), )
REFUSED(__ssize_t, getdelim, (char** to, size_t* n, int end, FILE* f), (to, n, end, f), )
REFUSED(__ssize_t, getline, (char** to, size_t* n, FILE* f), (to, n, f), )
}

// In the library: it asks the processor, which nobody sees.
std::random_device::result_type std::random_device::_M_getval() {
    if (in_program) refuse("std::random_device: " OTHER_EACH_TIME, CALLER);
    return library<result_type(std::random_device*)>("_ZNSt13random_device9_M_getvalEv")(this);
}
