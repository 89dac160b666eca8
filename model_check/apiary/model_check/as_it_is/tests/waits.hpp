// waits: threads that wait in loops, in plain data, for the half of the test that is compiled as it is.
#pragma once

#include <cstdint>

namespace waits {

enum class op : std::uint8_t {
    try_until_locked,
    poll,
    set,
    lock_both,
    spin_on_a_bit,
    try_once,
    lock,
    count,
    keep,           // what it has seen, in memory of others
    look,           // and count
    keep_and_look,  // at two words
    rise,           // in the third round to another value, and tell others so
    tell
};
constexpr unsigned ops = 13;

struct action {
    op what;
    std::uint8_t mutex;
};

struct program {
    static constexpr unsigned most_threads = 3, most_actions = 3;
    unsigned threads;
    unsigned length[most_threads];
    action code[most_threads][most_actions];
    unsigned rounds;  // that a loop takes before its thread gives up; 0: it waits for ever
};

// The checker's side.
extern const program* current();
extern void saw(unsigned thread, unsigned value);
constexpr unsigned gave_up = 99;

// The program's side.
void run();

}  // namespace waits
