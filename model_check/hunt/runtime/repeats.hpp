// repeats: whether a thread has come back to a state that it had before: place, registers that a call keeps, and stack.
//
// A loop that polls for long and ends by a count looks like one that never ends, as long as nobody changes anything.
// Its count is in a register or on the stack, so it never is where it was; one that waits for what does not come is.
#pragma once

#include <cstdint>

namespace apiary::hunt {

class repeats {
public:
    // At an operation, while no thread changes anything. True from the first state on that was there before.
    bool at(std::uintptr_t place);
    void forget() { *this = {}; }
    bool found() const { return found_; }

private:
    static constexpr std::uint32_t most_looks = 20'000;  // each walks the stack

    std::uintptr_t place_ = 0;
    std::uint64_t state_ = 0;
    // Operations; after so many another state is compared with, for twice as long.
    std::uint64_t since_ = 0, kept_for_ = 1'000;
    std::uint32_t looks_ = 0;
    bool found_ = false;
};

}  // namespace apiary::hunt
