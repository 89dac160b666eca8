// The distance in bytes that keeps two hot words from sharing a cache line.
#pragma once

#include <cstddef>

namespace apiary {

// Two lines, because the adjacent-line prefetcher of x86 moves lines in pairs. A constant instead of
// std::hardware_destructive_interference_size, whose value changes with -mtune: two translation units could get two
// layouts.
inline constexpr std::size_t cache_line = 128;

}  // namespace apiary
