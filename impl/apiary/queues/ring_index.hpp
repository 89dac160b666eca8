// ring_index: ring positions of a chosen width, which count up for ever and wrap at 2^Bits.
//
// Production uses 64 bits, where the wrap is out of reach; checks use 2 or 3 bits, where it is a few operations away.
// With Bits = 64 every function is one machine instruction or none.
#pragma once

#include <cstdint>

namespace apiary {

template <unsigned Bits>
struct ring_index {
    static_assert(Bits >= 2 && Bits <= 64);
    using value = std::uint64_t;
    static constexpr value mask = Bits == 64 ? ~value{0} : (value{1} << (Bits % 64)) - 1;

    static constexpr value add(value i, value n) noexcept { return (i + n) & mask; }

    // Signed distance from `from` to `to`, right as long as the two are less than 2^(Bits-1) apart.
    static constexpr std::int64_t distance(value from, value to) noexcept {
        return static_cast<std::int64_t>((to - from) << (64 - Bits)) >> (64 - Bits);
    }
};

}  // namespace apiary
