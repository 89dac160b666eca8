// plain_code: instructions as schedulers have them between two shared accesses, for the price of a basic block.
//
// plain_code.cpp is compiled twice: once as it is, to be timed, and once with a call in each basic block, to be counted.
#pragma once

#include <cstdint>

namespace apiary::calibrate {

namespace timed {
std::uint64_t plain_code(std::uint64_t seed);
}
namespace counted {
std::uint64_t plain_code(std::uint64_t seed);
}

}  // namespace apiary::calibrate
