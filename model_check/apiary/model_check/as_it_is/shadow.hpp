// shadow: what the execution under way has done to each byte, and which bytes are atomics.
//
// The program's memory is real, and plain accesses go to it. What is kept here, by eight bytes: the latest accesses of each
// thread, for races; and the explorer's locations, which begin with the first atomic access and end with the next
// plain write (a new object in the same place). The memory that is watched lies in a few ranges, each with a table of its own.
//
// Invariants
//   W1  Plain writes to one byte stand in the list in the order of happens-before: any other pair is a race.
//   W2  A location's name is a function of its address and of the plain write that made it, so that it is the same in
//       every run that replays the same graph.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <apiary/model_check/explorer/api.hpp>

namespace apiary::model::as_it_is {

enum class access_kind : std::uint8_t { read, write, allocation, release, atomic_read, atomic_write };
constexpr bool is_atomic(access_kind a) { return a == access_kind::atomic_read || a == access_kind::atomic_write; }
constexpr bool writes(access_kind a) { return a != access_kind::read && a != access_kind::atomic_read; }
constexpr bool plain_write(access_kind a) { return writes(a) && !is_atomic(a); }

struct touch {
    void* pc;
    std::uint16_t when;  // one plus the index of the thread's event that it stands in front of
    std::uint8_t thread;
    std::uint8_t mask;  // bytes of the granule
    access_kind how;
};

// An atomic, a mutex, a queue of waiters: what the explorer has a location for.
enum class role : std::uint8_t { atomic, mutex, queue, guard };
struct located {
    explorer::object* at;  // stays where it is until the run ends
    std::int8_t offset;    // from the granule: one of sixteen bytes stands in two of them, in the second with -8
    std::uint8_t size;
    role what;
    [[nodiscard]] unsigned mask() const {  // bytes of the granule
        const unsigned all = (1U << size) - 1U;
        return (offset < 0 ? all >> -offset : all << offset) & 0xFFU;
    }
};

struct granule {
    static constexpr std::size_t bytes = 8;
    std::uint32_t run = 0;
    std::vector<touch> touches;
    std::vector<located> atomics;
};

class shadow {
public:
    shadow() : names_(1024) {}
    void watch(std::uintptr_t begin, std::uintptr_t bytes);
    void begin_run() { ++run_; }
    [[nodiscard]] bool watches(std::uintptr_t address) const { return range_of(address) != nullptr; }
    // Of this run; empty when nothing was there. Good until the next call. Null where nothing is watched.
    granule* find(std::uintptr_t address);
    granule& at(std::uintptr_t address) { return *find(address); }
    // A number that stands for a location in every run.
    std::uint32_t name(std::uintptr_t address, role what, unsigned thread, unsigned when);

private:
    struct range {
        std::uintptr_t begin = 0, bytes = 0;
        std::uint32_t* granules = nullptr;  // by eight bytes: an index into granules_, plus one
    };
    struct known_name {
        std::uintptr_t address;
        std::uint64_t rest;
        bool operator==(const known_name&) const = default;
    };
    [[nodiscard]] const range* range_of(std::uintptr_t address) const {
        for (const range& r : ranges_)
            if (address - r.begin < r.bytes) return &r;
        return nullptr;
    }

    std::array<range, 5> ranges_;
    std::size_t used_ = 0;
    std::vector<granule> granules_;
    std::vector<std::vector<std::pair<known_name, std::uint32_t>>> names_;
    std::uint32_t run_ = 0, next_name_ = 0;
};

}  // namespace apiary::model::as_it_is
