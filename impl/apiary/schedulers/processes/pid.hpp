// pid: names one process, for ever: a place in the table and the generation of the process that has it.
//
// When to use it. To send to a process, to complete one of its calls, to cancel or kill it. A pid may be kept, copied,
// put into messages and printed. After its process has ended it reaches no process, even if another has the place.
// Threads. A value.
#pragma once

#include <cstdint>

namespace apiary {

struct pid {
    std::uint64_t value = 0;  // 0: no process. 32 bits place, 16 bits generation, 16 bits node

    static constexpr pid of(std::uint32_t place, std::uint64_t generation) { return {generation << 32 | place}; }
    constexpr std::uint32_t place() const { return static_cast<std::uint32_t>(value); }
    constexpr std::uint64_t generation() const { return value >> 32 & 0xFFFF; }
    // The scheduler of the process: 0 is this one; any other is known to this one's relay.
    constexpr std::uint16_t node() const { return static_cast<std::uint16_t>(value >> 48); }
    constexpr pid at(std::uint16_t node) const { return {(value & 0xFFFF'FFFF'FFFF) | std::uint64_t{node} << 48}; }

    constexpr explicit operator bool() const { return value != 0; }
    constexpr bool operator==(const pid&) const = default;
};

}  // namespace apiary
