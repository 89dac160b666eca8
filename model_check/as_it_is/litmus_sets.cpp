// The sets of litmus.cpp: those of litmus/explorer_table.inc, which brute force has found, too. Not instrumented.
#include "../litmus/explorer_programs.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/check.hpp>

namespace apiary::model::as_it_is {
bool add_twin(const char* name, const char* file, void (*body)(),
              std::string_view (*outcome)(std::array<char, 128>& buffer));
}

namespace {
std::vector<int> seen;

std::string_view outcome_text(std::array<char, 128>& buffer) {
    std::string text;
    for (const int v : seen) {
        if (!text.empty()) text += ' ';
        text += std::to_string(v);
    }
    return {buffer.data(), text.copy(buffer.data(), buffer.size())};
}
}  // namespace

void saw(std::initializer_list<int> values);
void saw(std::initializer_list<int> values) {
    const apiary::model::as_it_is::outside_program now;
    seen = values;
}

bool add_litmus(const char* name, void (*body)());
bool add_litmus(const char* name, void (*body)()) {
    using namespace apiary::model;
    for (const litmus_line& line : litmus_lines) {
        if (line.name != name) continue;
        as_it_is::add_twin(line.name.data(), "model_check/as_it_is/litmus.cpp", body, outcome_text);
        check_entry& entry = registry().back();
        entry.name = "as_is_" + std::string(line.name);  // the table's own name is that of the check over Sync
        entry.kind = check_kind::litmus;
        entry.what = std::string(line.code) + " (" + std::string(line.source) + ")";
        entry.expected_rc11 = outcomes_of(line);
        return true;
    }
    std::fprintf(stderr, "%s: no such line in model_check/litmus/explorer_table.inc\n", name);
    std::abort();
}
