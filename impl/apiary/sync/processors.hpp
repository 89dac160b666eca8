// processors: which processors a thread may use, how many workers that makes, and how to bind a thread to one of them.
//
// Threads. Any.
// Errors.  usable_processors, default_workers: std::bad_alloc. bind_to: std::system_error if the system refuses.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

#include <apiary/sync/cpu_quota.hpp>

namespace apiary {

// The processors in the calling thread's affinity mask, which threads that it starts inherit; never empty.
inline std::vector<int> usable_processors() {
    std::vector<int> all;
    cpu_set_t mask;
    if (::sched_getaffinity(0, sizeof mask, &mask) == 0)
        for (int p = 0; p < CPU_SETSIZE; ++p)
            if (CPU_ISSET(static_cast<std::size_t>(p), &mask)) all.emplace_back(p);
    // The machine has more processors than a mask has bits: take those that a mask can name.
    if (all.empty())
        for (unsigned p = 0; p < std::clamp(std::thread::hardware_concurrency(), 1U, unsigned{CPU_SETSIZE}); ++p)
            all.emplace_back(static_cast<int>(p));
    return all;
}

// The number of workers of a pool that was given none: one for each usable processor, but no more than the control
// group's quota lets run at once (cpu_quota.hpp); at least 1.
inline unsigned default_workers(const cgroup_places& places = {}) {
    const std::size_t usable = usable_processors().size();
    const unsigned long long quota = cpu_quota(places);
    return static_cast<unsigned>(quota == 0 ? usable : std::min<unsigned long long>(quota, usable));
}

inline void bind_to(std::thread& t, int processor) {
    cpu_set_t mask{};
    CPU_SET(static_cast<std::size_t>(processor), &mask);
    if (const int error = ::pthread_setaffinity_np(t.native_handle(), sizeof mask, &mask); error != 0)
        throw std::system_error(error, std::generic_category(), "a worker cannot be bound to its processor");
}

}  // namespace apiary
