// processor_calls: a run has four processors, whatever machine it is on; where its threads run is none of their business.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>

#include "machine.hpp"
#include "scheduler.hpp"

using namespace apiary::hunt;

namespace {
constexpr int processors = 4;
}

extern "C" {

int get_nprocs() noexcept { return processors; }
int get_nprocs_conf() noexcept { return processors; }
long sysconf(int name) noexcept {
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return processors;
    static long (*const real)(int) = reinterpret_cast<long (*)(int)>(::dlsym(RTLD_NEXT, "sysconf"));
    return real(name);
}
int sched_getaffinity(pid_t, std::size_t bytes, cpu_set_t* set) noexcept {
    machine::fill(set, 0, bytes);
    for (std::size_t i = 0; i < processors; ++i) CPU_SET_S(i, bytes, set);
    return 0;
}
int sched_setaffinity(pid_t, std::size_t, const cpu_set_t*) noexcept { return 0; }
int pthread_getaffinity_np(pthread_t, std::size_t bytes, cpu_set_t* set) noexcept { return sched_getaffinity(0, bytes, set); }
int pthread_setaffinity_np(pthread_t, std::size_t, const cpu_set_t*) noexcept { return 0; }
}
