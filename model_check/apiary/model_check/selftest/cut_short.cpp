// Preloaded into a check program by facade_test.py: faults on the way of a verdict from a process to its parent.
//
//   CUT_DEPTH=D    in processes of that depth only: 1 a simulation, 2 a job of the explorer
//   CUT_BYTES=N    write(2) to a pipe sends the first N bytes of the first buffer and says that all were sent
//   CUT_EXIT=S     _exit(0) ends with status S
//   CUT_KILL=1     the process kills itself in place of ending
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace {

int depth = 0;
long sent = 0;

long number(const char* name, long otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::atol(text);
}
bool chosen() { return depth != 0 && depth == number("CUT_DEPTH", 0); }

template <class F>
F* next(const char* name) {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

pid_t fork() {
    const pid_t pid = next<pid_t()>("fork")();
    if (pid == 0) ++depth;
    return pid;
}

ssize_t write(int to, const void* bytes, std::size_t size) {
    auto* const real = next<ssize_t(int, const void*, std::size_t)>("write");
    const long most = number("CUT_BYTES", -1);
    struct stat file{};
    if (!chosen() || most < 0 || ::fstat(to, &file) != 0 || !S_ISFIFO(file.st_mode)) return real(to, bytes, size);
    const long left = std::min(std::max(0L, most - sent), static_cast<long>(size));
    if (left > 0) (void)!real(to, bytes, static_cast<std::size_t>(left));
    sent += left;
    return static_cast<ssize_t>(size);
}

void _exit(int status) {
    if (chosen() && number("CUT_KILL", 0) != 0) ::raise(SIGKILL);
    next<void(int)>("_exit")(chosen() ? static_cast<int>(number("CUT_EXIT", status)) : status);
    std::abort();
}

}  // extern "C"
