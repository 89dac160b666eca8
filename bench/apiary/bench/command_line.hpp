// The words of a subject's command line, checked: bench/contract/CLI.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <apiary/bench/subject.hpp>

namespace apiary::bench {

struct run_call {
    const scenario_entry* scenario = nullptr;
    run_options options;
    std::map<std::string, std::uint64_t> tuned;  // given ones only
    std::optional<std::string> hist_path;
};

struct call {
    enum { help, version, list, tunables, run } kind = help;
    std::string help_text;
    run_call run_words;
};

// Throws bad_arguments. A plan file is read here, so that a bad one is bad input too. An unsupported scenario passes,
// and its parameters are not checked.
[[nodiscard]] call parse(const subject& who, int argc, const char* const* argv);

}  // namespace apiary::bench
