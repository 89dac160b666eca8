// explorer_programs: litmus tests as text, one line each, with the exact outcome set of RC11 and what the
// literature says of the outcome that each is famous for.
//
// A line: threads separated by ||, instructions by ;. `x=1 rel` stores, `r x acq` loads, `x+=1 ar` adds,
// `cas x 0 1 ar rlx` compares and exchanges, `f sc` fences, also `f light` and `f heavy`; `! x y` at the end observes final values. Orders:
// rlx acq rel ar sc. An outcome lists what every reading instruction saw, thread by thread, then the finals.
//
// The sets were computed by the brute-force oracle (apiary/model_check/explorer/tests/oracle.cpp), which applies the
// axioms by the letter; `famous` and `allowed` come from the source named, so that neither engine nor oracle judges itself.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace apiary::model {

struct litmus_line {
    std::string_view name, source, code, famous;
    bool allowed;
    std::string_view rc11;  // outcomes, separated by |
};

inline constexpr std::array litmus_lines{
#include "explorer_table.inc"
};

inline std::vector<std::string> outcomes_of(const litmus_line& line) {
    std::vector<std::string> all;
    std::string_view text = line.rc11;
    for (std::size_t end = 0; end != std::string_view::npos;
         text.remove_prefix(end == std::string_view::npos ? 0 : end + 1)) {
        end = text.find('|');
        all.emplace_back(text.substr(0, end));
    }
    return all;
}

}  // namespace apiary::model
