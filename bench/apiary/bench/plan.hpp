// Plan files: the intended release times of an open-loop scenario, the same for every arm of a round.
#pragma once

#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <vector>

namespace apiary::bench {

// Thrown for a plan that cannot be used; what() names the place and the bad text.
struct bad_plan : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Nanoseconds after the start of the measurement, ascending (equal neighbours are a burst), at least one.
[[nodiscard]] std::vector<std::int64_t> read_plan(std::istream& in, const std::string& name);
[[nodiscard]] std::vector<std::int64_t> read_plan_file(const std::string& path);

}  // namespace apiary::bench
