// moves: which lines moved between processors, how often, and which places in the source moved them.
//
// Threads. One thread of the host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <apiary/virtual/arena.hpp>
#include <apiary/virtual/lines.hpp>

namespace apiary::virt {

// Where an operation stands in the source.
struct place {
    const char* file = "?";
    const char* function = "?";
    unsigned line = 0;
};

// The same number for equal names, for the life of the process.
label intern(std::string_view name);
const std::string& name_of(label l);

class moves {
public:
    struct place_row {
        std::string file, function;
        unsigned line = 0;
        char kind = '?';  // of access
        std::uint64_t count = 0;
        picoseconds stalled = 0;
    };
    struct row {
        std::string object;
        std::size_t offset = 0;  // of the line in it
        std::uint64_t count = 0;
        picoseconds queued = 0, stalled = 0;
        std::vector<place_row> places;  // most moves first
    };

    void add(arena::inside where, access kind, const place& at, picoseconds queued, picoseconds cost);
    void clear() { sums_.clear(); }
    // Most time first; equal rows by name, so that the table is the same each time.
    std::vector<row> table() const;

private:
    struct key {
        const char* file;
        std::uint32_t offset, line;
        label what;
        access kind;
        bool operator==(const key&) const = default;
    };
    struct hash {
        std::size_t operator()(const key& k) const noexcept;
    };
    struct sum {
        const char* function = nullptr;
        std::uint64_t count = 0;
        picoseconds queued = 0, cost = 0;
    };
    std::unordered_map<key, sum, hash, std::equal_to<>, host_memory<std::pair<const key, sum>>> sums_;
};

}  // namespace apiary::virt
