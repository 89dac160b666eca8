// prices: what each operation of the virtual machine costs, read from a profile.
//
// A profile is a text file with a line `name = number` for each price, in nanoseconds unless the table says otherwise,
// and comments from `#` on. It names every price: a hole would be filled with a number that nobody chose.
//
// Threads. Each function: any.
// Errors.  profile_error, which says what was seen, the cause and the remedy.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace apiary::virt {

using picoseconds = std::int64_t;

struct prices {
    // Access to a line that the processor has, by the kind of the access.
    picoseconds hit = 0, cell_hit = 0, change_hit = 0;
    // Access to a line that it has not: another one owns it, in the same cluster or in a farther one; others have clean
    // copies; no cache has it.
    picoseconds transfer = 0, far_transfer = 0, clean_copy = 0, cold = 0;
    picoseconds upgrade = 0;  // a write to a line of which the writer and others of its cluster have clean copies
    picoseconds copy_occupies = 0;  // how long the making of a clean copy keeps the next access to its line waiting
    std::int64_t load_takes = 0;  // 1: a load takes a line that its owner has changed whole, and leaves no copy there
    std::int64_t request_permille = 0;  // of a transfer: until then its former owner still has the line
    std::int64_t cluster = 0;           // processors in a cluster
    picoseconds basic_block = 0;        // of plain instructions, where the compiler counts them
    picoseconds fence = 0;              // beside the wait for earlier stores
    picoseconds store_buffer = 0;       // how far a processor runs ahead of stores under way
    picoseconds relax = 0, yield = 0, clock_read = 0;
    picoseconds barrier = 0, barrier_interrupt = 0;  // a heavy fence: for the caller, and for each thread that runs
    picoseconds futex_wait = 0, futex_wake = 0, futex_wake_nobody = 0;
    picoseconds wake_latency = 0;  // from the wake of a thread to its first operation
    picoseconds timer_slack = 0;   // a timed sleep takes so much longer
    picoseconds block = 0, depot = 0, heap = 0;  // an object from its processor's magazine; a magazine's exchange; operator new
};

struct price_name {
    std::string_view name, unit, meaning;
    std::int64_t prices::* member;
    double scale;         // of the number in the file
    double least, most;   // that the file may say
};
// In the order of a profile's lines.
std::span<const price_name> price_names();

struct profile_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// `source` is named in what is thrown.
prices parse_profile(std::string_view text, const std::string& source);
prices read_profile(const std::string& path);
// One price of a profile changed, by "name=number".
void change_price(prices& p, std::string_view change);

}  // namespace apiary::virt
