// processor_calls: a run has four processors, whatever machine it is on. A thread may run on those that it was given
// last, or its parent was, and is told so; the scheduler does not care.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>

#include "machine.hpp"
#include "scheduler.hpp"

using namespace apiary::hunt;

namespace {
constexpr int processors = 4;

thread* of_kernel_id(pid_t id) {
    if (id == 0) return running;
    for (thread* t : the_scheduler.threads)
        if (t->kernel_id == id) return t;
    return nullptr;
}
int tell(const thread* t, std::size_t bytes, cpu_set_t* set) {
    if (t == nullptr) return ESRCH;
    if (bytes < 8) return EINVAL;
    machine::fill(set, 0, bytes);
    for (std::size_t i = 0; i < processors; ++i)
        if ((t->processors >> i & 1) != 0) CPU_SET_S(i, bytes, set);
    return 0;
}
int give(thread* t, std::size_t bytes, const cpu_set_t* set) {
    if (t == nullptr) return ESRCH;
    unsigned given = 0;
    for (std::size_t i = 0; i < processors && i < bytes * 8; ++i) given |= (CPU_ISSET_S(i, bytes, set) ? 1u : 0u) << i;
    if (given == 0) return EINVAL;
    t->processors = given;
    return 0;
}
int answered(int error) {
    if (error == 0) return 0;
    errno = error;
    return -1;
}
}  // namespace

extern "C" {

int get_nprocs() noexcept { return processors; }
int get_nprocs_conf() noexcept { return processors; }
long sysconf(int name) noexcept {
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return processors;
    static long (*const real)(int) = reinterpret_cast<long (*)(int)>(::dlsym(RTLD_NEXT, "sysconf"));
    return real(name);
}
int sched_getaffinity(pid_t id, std::size_t bytes, cpu_set_t* set) noexcept {
    return answered(tell(of_kernel_id(id), bytes, set));
}
int sched_setaffinity(pid_t id, std::size_t bytes, const cpu_set_t* set) noexcept {
    return answered(give(of_kernel_id(id), bytes, set));
}
int pthread_getaffinity_np(pthread_t handle, std::size_t bytes, cpu_set_t* set) noexcept {
    return tell(the_scheduler.of(handle), bytes, set);
}
int pthread_setaffinity_np(pthread_t handle, std::size_t bytes, const cpu_set_t* set) noexcept {
    return give(the_scheduler.of(handle), bytes, set);
}
}
