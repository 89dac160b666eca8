// report: what a child tells the process that started it, through memory that both have: how it ended, in words, and
// the last rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apiary::hunt {

enum class ending : std::uint32_t {
    other,
    race,
    deadlock,
    livelock,
    use_after_free,
    outside,
    misuse,
    leak,
    refused,
    cut,
    again  // no ending: with the kernel's own switches
};

// One visible operation.
struct row {
    std::uint64_t step;
    std::uint32_t thread;
    std::int32_t order;     // of an atomic; -1: none
    const char* operation;  // in the program's image, so at the same address in each process
    std::uintptr_t address, place;
    std::uint64_t value;
    const char* note;
};

struct shared_report {
    static constexpr std::size_t most_rows = 512;
    std::uint64_t steps, hash, stale_reads, early_ends, switches, threads, plain_accesses;
    ending how;
    std::uintptr_t where[2];  // the places that a failure is about; 0: none
    bool alone;  // nobody reads it: no hunt is under way
    char strategy[24];
    char text[16384];
    std::uint64_t rows;
    row last[most_rows];
};
extern shared_report* report;
void forget_report();  // the next run begins

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
[[noreturn]] void found(ending how);
row& new_row(std::uint32_t thread, const char* operation, std::uintptr_t address, std::uintptr_t place);
const char* name_of(ending how);

// A fingerprint of the run, by which two runs are seen to be the same.
inline void remember(std::uint64_t x) { report->hash = (report->hash ^ x) * 0x100000001b3; }

}  // namespace apiary::hunt
