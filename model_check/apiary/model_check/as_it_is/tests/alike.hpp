// alike: threads that run one code, for the half of the test that is compiled as it is.
#pragma once

#include <cstdint>

namespace alike {

enum class op : std::uint8_t { load, store, add, exchange, critical, trial, wait, notify_one, notify_all, fence, park, wake };
constexpr unsigned ops = 12;

struct action {
    op what;
    std::uint8_t location, order, value;
};

struct program {
    static constexpr unsigned most_actions = 3, kinds = 3;  // of thread 0, of the alike, of a second set of alike ones
    unsigned threads[kinds];  // how many run it; of thread 0 one
    unsigned length[kinds];
    action code[kinds][most_actions];
};

// The checker's side.
extern const program* current();
extern void saw(unsigned value);  // the thread that calls it

// The program's side.
void run();

}  // namespace alike
