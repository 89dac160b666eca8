// SHA-1 by a library of the system, for the tree of uts.
#pragma once

#include <array>
#include <cstdint>

namespace apiary::bench {

using sha1_digest = std::array<std::uint8_t, 20>;

// Hashes 20 bytes, or 20 bytes followed by a big-endian number. Any thread.
[[nodiscard]] sha1_digest sha1(const sha1_digest& bytes) noexcept;
[[nodiscard]] sha1_digest sha1(const sha1_digest& bytes, std::uint32_t number) noexcept;

}  // namespace apiary::bench
