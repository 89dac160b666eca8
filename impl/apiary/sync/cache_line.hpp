// The distance that keeps two hot words from sharing a cache line.
#pragma once

#include <cstddef>

namespace apiary {

// Two lines: the adjacent-line prefetcher of x86 moves lines in pairs. A constant, and not
// std::hardware_destructive_interference_size, because the latter changes with -mtune and would
// give two translation units two layouts.
inline constexpr std::size_t cache_line = 128;

}  // namespace apiary
