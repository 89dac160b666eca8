// What a verdict looks like to a person and to a program.
#pragma once

#include <string>
#include <vector>

#include <apiary/model_check/runner.hpp>

namespace apiary::model {

// Filled with spaces, and two more.
std::string table_cell(std::string text, std::size_t width);

std::string list_text(const std::vector<check_entry>& checks);
std::string list_json(const std::vector<check_entry>& checks);

// One line, and for an unexpected failure its trace and the line that replays it.
std::string verdict_text(const judged& j, const std::string& program, bool always_trace);
// Where `reach` names files, also what no execution came to of them (never_reached.hpp).
std::string verdict_json(const judged& j, const std::string& reach = {});

}  // namespace apiary::model
