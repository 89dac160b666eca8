// The default: allocations are not counted.
#include <apiary/bench/allocation_count.hpp>

namespace apiary::bench {

std::optional<std::uint64_t> allocation_count() noexcept { return std::nullopt; }

}  // namespace apiary::bench
