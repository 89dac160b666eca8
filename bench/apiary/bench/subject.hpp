// The main function of every C++ subject: `return apiary::bench::subject_main<adapter>(argc, argv);`
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

struct subject {
    std::string_view name;
    std::string version;
    std::span<const scenario_entry> scenarios;
    std::span<const parameter> tunables = {};                            // numbers of the runtime itself
    void (*tune)(std::string_view name, std::uint64_t value) = nullptr;  // before the first runtime is made
};

// The treaty of bench/contract/CLI.md; returns the exit status.
[[nodiscard]] int run_subject(const subject& who, int argc, char** argv);

}  // namespace apiary::bench
