// SHA-1 by a library of the system, for the tree of uts.
#pragma once

#include <array>
#include <cstdint>

namespace apiary::bench {

using sha1_digest = std::array<std::uint8_t, 20>;

// Of 20 bytes, or of 20 and a number behind them, big-endian. Any thread.
[[nodiscard]] sha1_digest sha1(const sha1_digest& bytes) noexcept;
[[nodiscard]] sha1_digest sha1(const sha1_digest& bytes, std::uint32_t number) noexcept;

}  // namespace apiary::bench
