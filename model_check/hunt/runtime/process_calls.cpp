// process_calls: what changes the process beyond its memory, or tells it from others. A run that calls these is the
// last of its process (restart.hpp).
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>

#include "machine.hpp"
#include "restart.hpp"

using namespace apiary::hunt;

namespace {
template <class... A>
long passed_on(long number, A... arguments) {
    the_restart.cannot();
    return machine::answered(machine::call(number, arguments...));
}
long number_of(std::size_t n) { return static_cast<long>(n); }
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
    return static_cast<int>(passed_on(SYS_setpriority, static_cast<long>(which), static_cast<long>(of), to));
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
}
