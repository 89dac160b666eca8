// refused_calls: what a hunt does not follow, refused by name. Libraries may ask for these inside of their own calls, unseen.
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include "machine.hpp"
#include "scheduler.hpp"

using namespace apiary::hunt;

namespace {

[[noreturn]] void refuse(const call& here, const char* what) {
    say("not supported: %s\n", what);
    tell_stack(here.me(), here.me().doing_at);
    found(ending::refused);
}

}  // namespace

#define REFUSED(name, parameters, outside)        \
    extern "C" int name parameters {              \
        const call here(#name, CALLER);           \
        if (here) refuse(here, #name);            \
        outside;                                  \
    }
REFUSED(pthread_cancel, (pthread_t), return ENOSYS)
REFUSED(pthread_kill, (pthread_t, int) noexcept, return ENOSYS)
REFUSED(pthread_setcanceltype, (int, int*), return 0)
REFUSED(connect, (int, const sockaddr*, socklen_t), return -1)
REFUSED(bind, (int, const sockaddr*, socklen_t) noexcept, return -1)

extern "C" void* dlopen(const char* file, int how) noexcept {
    const call here("dlopen", CALLER);
    if (here) refuse(here, "dlopen");
    return reinterpret_cast<void* (*)(const char*, int)>(::dlsym(RTLD_NEXT, "dlopen"))(file, how);
}
