// process_calls: what changes the process beyond its memory, or tells it from others. A run that calls these is the
// last of its process (restart.hpp).
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.hpp"
#include "restart.hpp"
#include "scheduler.hpp"

using namespace apiary::hunt;

namespace {
template <class... A>
long passed_on(long number, A... arguments) {
    the_restart.cannot();
    return machine::answered(machine::call(number, arguments...));
}
long number_of(std::size_t n) { return static_cast<long>(n); }

// Calls that ask for what the kernel keeps for each thread, or change it. When one changes users or groups, the library
// sends a signal to every other thread.
template <class... P, class... A>
int of_each(int (*)(P...) noexcept, const char* name, A... arguments) {
    the_restart.cannot();
    program_asks_for_its_own();
    return reinterpret_cast<int (*)(P...)>(::dlsym(RTLD_NEXT, name))(arguments...);
}

// /proc has a folder for each thread: /proc/thread-self, /proc/self/task/ID.
const char* of_path(const char* path) {
    if (path != nullptr && (std::strstr(path, "thread-self") != nullptr || std::strstr(path, "/task/") != nullptr))
        program_asks_for_its_own();
    return path;
}
int opened(int from, const char* path, int how, va_list rest) {
    const mode_t mode = va_arg(rest, mode_t);
    const long file = machine::call(SYS_openat, from, machine::word(of_path(path)), how, mode);
    return static_cast<int>(machine::answered(file));
}

// 0, or the error's number.
template <class F>
int of_name(pthread_t handle, int how, F use) {
    the_restart.cannot();
    const thread* const t = the_scheduler.of(handle);
    if (t == nullptr) return ESRCH;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%ld/comm", t->kernel_id);
    const long file = machine::call(SYS_open, machine::word(path), how | O_CLOEXEC);
    if (file < 0) return static_cast<int>(-file);
    const long done = use(file);
    machine::call(SYS_close, file);
    return done < 0 ? static_cast<int>(-done) : 0;
}
}  // namespace

extern "C" {

pid_t getpid() noexcept { return static_cast<pid_t>(passed_on(SYS_getpid)); }
int chdir(const char* to) noexcept { return static_cast<int>(passed_on(SYS_chdir, machine::word(to))); }
int fchdir(int to) noexcept { return static_cast<int>(passed_on(SYS_fchdir, to)); }
mode_t umask(mode_t to) noexcept { return static_cast<mode_t>(passed_on(SYS_umask, static_cast<long>(to))); }
int prctl(int what, ...) noexcept {
    va_list rest;
    va_start(rest, what);
    long a[4];
    for (long& one : a) one = va_arg(rest, long);
    va_end(rest);
    program_asks_for_its_own();
    return static_cast<int>(passed_on(SYS_prctl, what, a[0], a[1], a[2], a[3]));
}
int setrlimit(__rlimit_resource_t what, const rlimit* to) noexcept {
    return static_cast<int>(passed_on(SYS_setrlimit, static_cast<long>(what), machine::word(to)));
}
int setrlimit64(__rlimit_resource_t what, const rlimit64* to) noexcept {
    return static_cast<int>(passed_on(SYS_setrlimit, static_cast<long>(what), machine::word(to)));
}
int prlimit(pid_t of, __rlimit_resource what, const rlimit* to, rlimit* before) noexcept {
    return static_cast<int>(passed_on(SYS_prlimit64, of, static_cast<long>(what), machine::word(to), machine::word(before)));
}
int prlimit64(pid_t of, __rlimit_resource what, const rlimit64* to, rlimit64* before) noexcept {
    return static_cast<int>(passed_on(SYS_prlimit64, of, static_cast<long>(what), machine::word(to), machine::word(before)));
}
int setpriority(__priority_which_t which, id_t of, int to) noexcept {
    program_asks_for_its_own();
    return static_cast<int>(passed_on(SYS_setpriority, static_cast<long>(which), static_cast<long>(of), to));
}
#define OF_THE_THREAD(name, parameters, ...) \
    int name parameters noexcept { return of_each(&::name, #name, __VA_ARGS__); }
OF_THE_THREAD(nice, (int by), by)
OF_THE_THREAD(sched_setscheduler, (pid_t of, int how, const sched_param* to), of, how, to)
OF_THE_THREAD(sched_setparam, (pid_t of, const sched_param* to), of, to)
OF_THE_THREAD(pthread_setschedparam, (pthread_t of, int how, const sched_param* to), of, how, to)
OF_THE_THREAD(pthread_setschedprio, (pthread_t of, int to), of, to)
OF_THE_THREAD(setuid, (uid_t to), to)
OF_THE_THREAD(setgid, (gid_t to), to)
OF_THE_THREAD(seteuid, (uid_t to), to)
OF_THE_THREAD(setegid, (gid_t to), to)
OF_THE_THREAD(setreuid, (uid_t real, uid_t effective), real, effective)
OF_THE_THREAD(setregid, (gid_t real, gid_t effective), real, effective)
OF_THE_THREAD(setresuid, (uid_t real, uid_t effective, uid_t saved), real, effective, saved)
OF_THE_THREAD(setresgid, (gid_t real, gid_t effective, gid_t saved), real, effective, saved)
OF_THE_THREAD(setgroups, (std::size_t count, const gid_t* to), count, to)
OF_THE_THREAD(setfsuid, (uid_t to), to)
OF_THE_THREAD(setfsgid, (gid_t to), to)
OF_THE_THREAD(unshare, (int what), what)
OF_THE_THREAD(setns, (int of, int what), of, what)
OF_THE_THREAD(personality, (unsigned long to), to)
int getrusage(__rusage_who_t of, rusage* used) noexcept {
    if (of == RUSAGE_THREAD) program_asks_for_its_own();
    return static_cast<int>(
        machine::answered(machine::call(SYS_getrusage, static_cast<long>(of), machine::word(used))));
}
// By what the kernel has of that thread, which need not run it (contexts.hpp).
int pthread_setname_np(pthread_t of, const char* name) noexcept {
    const std::size_t length = std::strlen(name);
    if (length > 15) return ERANGE;
    return of_name(of, O_RDWR, [&](long file) {
        return machine::call(SYS_write, file, machine::word(name), number_of(length));
    });
}
int pthread_getname_np(pthread_t of, char* name, std::size_t room) noexcept {
    if (room < 16) return ERANGE;
    return of_name(of, O_RDONLY, [&](long file) {
        const long got = machine::call(SYS_read, file, machine::word(name), number_of(room - 1));
        if (got > 0) name[got - 1] = '\0';  // in place of the line's end
        return got;
    });
}
int mprotect(void* at, std::size_t bytes, int how) noexcept {
    return static_cast<int>(passed_on(SYS_mprotect, machine::word(at), number_of(bytes), how));
}
int madvise(void* at, std::size_t bytes, int how) noexcept {
    return static_cast<int>(passed_on(SYS_madvise, machine::word(at), number_of(bytes), how));
}
int mlock(const void* at, std::size_t bytes) noexcept {
    return static_cast<int>(passed_on(SYS_mlock, machine::word(at), number_of(bytes)));
}
int mlockall(int how) noexcept { return static_cast<int>(passed_on(SYS_mlockall, how)); }
#define OPENS(name, parameters, from)                     \
    int name parameters {                                 \
        va_list rest;                                     \
        va_start(rest, how);                              \
        const int result = opened(from, path, how, rest); \
        va_end(rest);                                     \
        return result;                                    \
    }
OPENS(open, (const char* path, int how, ...), AT_FDCWD)
OPENS(open64, (const char* path, int how, ...), AT_FDCWD)
OPENS(openat, (int from, const char* path, int how, ...), from)
OPENS(openat64, (int from, const char* path, int how, ...), from)
ssize_t readlink(const char* path, char* to, std::size_t room) noexcept {
    return machine::answered(
        machine::call(SYS_readlink, machine::word(of_path(path)), machine::word(to), number_of(room)));
}
ssize_t readlinkat(int from, const char* path, char* to, std::size_t room) noexcept {
    return machine::answered(
        machine::call(SYS_readlinkat, from, machine::word(of_path(path)), machine::word(to), number_of(room)));
}
#define BY_PATH(name, result, parameters, ...)                                                       \
    result name parameters {                                                                         \
        of_path(path);                                                                               \
        static const auto real = reinterpret_cast<result(*) parameters>(::dlsym(RTLD_NEXT, #name));  \
        return real(__VA_ARGS__);                                                                    \
    }
BY_PATH(fopen, FILE*, (const char* path, const char* how), path, how)
BY_PATH(fopen64, FILE*, (const char* path, const char* how), path, how)
BY_PATH(opendir, DIR*, (const char* path), path)
BY_PATH(realpath, char*, (const char* path, char* to), path, to)
}
