// How many times this process has called operator new, when the counting one is linked in.
//
// allocation_count_on.cpp replaces operator new and delete; without it the count is not measured and the
// column stays empty. A subject whose runtime allocates past operator new must not link it.
#pragma once

#include <cstdint>
#include <optional>

namespace apiary::bench {

// All threads, since the start. Exact once the counted threads have been synchronised with.
[[nodiscard]] std::optional<std::uint64_t> allocation_count() noexcept;

}  // namespace apiary::bench
