// SHA-1 by a library of the system, for the tree of uts.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace apiary::bench {

using sha1_digest = std::array<std::uint8_t, 20>;

// Any thread.
[[nodiscard]] sha1_digest sha1(std::span<const std::uint8_t> bytes) noexcept;

}  // namespace apiary::bench
