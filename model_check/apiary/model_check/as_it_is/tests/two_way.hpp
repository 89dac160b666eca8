// two_way: a program of the oracle in plain data, for the half of the test that is compiled as it is.
#pragma once

#include <cstdint>

namespace two_way {

enum class op : std::uint8_t { load, store, fetch_add, cas, fence };

struct instruction {
    op what;
    std::uint8_t location, order, failure_order;
    std::uint64_t value, expected;
};

struct program {
    static constexpr unsigned most_threads = 4, most_instructions = 12, most_finals = 3;
    unsigned threads;
    unsigned length[most_threads];
    instruction code[most_threads][most_instructions];
    unsigned finals;
    unsigned final_locations[most_finals];
};

// The checker's side.
extern const program* current();
extern void saw(unsigned thread, std::uint64_t value);  // the finals are thread 4's

// The program's side, over std::atomic and std::thread.
void run();
void run_wide();  // over atomics of sixteen bytes

}  // namespace two_way
