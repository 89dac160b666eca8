// draws: numbers from a seed, for random programs; the same on every machine.
#pragma once

#include <cstdint>

namespace apiary::model::explorer {

// xorshift64*. The state is not 0.
class draws {
public:
    explicit draws(std::uint64_t state) : state_(state) {}

    unsigned below(unsigned n) {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<unsigned>((state_ * 0x2545'F491'4F6C'DD1DU >> 40) % n);
    }

private:
    std::uint64_t state_;
};

}  // namespace apiary::model::explorer
