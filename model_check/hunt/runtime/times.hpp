// times: virtual time, as deadlines of the program's.
#pragma once

#include <ctime>

#include "scheduler.hpp"

namespace apiary::hunt {

constexpr std::uint64_t first_second = 1'700'000'000;  // of every clock, when a run begins

// A point of any clock.
inline std::uint64_t until(const timespec* t) {
    if (t == nullptr) return forever;
    const std::int64_t seconds = static_cast<std::int64_t>(t->tv_sec) - static_cast<std::int64_t>(first_second);
    if (seconds < 0) return 0;
    return seconds > 4'000'000'000
               ? forever
               : static_cast<std::uint64_t>(seconds) * second + static_cast<std::uint64_t>(t->tv_nsec);
}
// So long from now.
inline std::uint64_t after(const timespec* t) {
    if (t == nullptr || t->tv_sec > 4'000'000'000) return forever;
    return the_scheduler.now + static_cast<std::uint64_t>(t->tv_sec) * second + static_cast<std::uint64_t>(t->tv_nsec);
}
inline std::uint64_t after_milliseconds(int n) {
    return n < 0 ? forever : the_scheduler.now + static_cast<std::uint64_t>(n) * 1'000'000;
}

}  // namespace apiary::hunt
