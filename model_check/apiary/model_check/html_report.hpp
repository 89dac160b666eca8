// Verdicts as one self-contained HTML page: a table of all, and below it every trace that one of them has.
#pragma once

#include <string>
#include <vector>

#include <apiary/model_check/runner.hpp>

namespace apiary::model {

// `program`: as it was called, for the lines that replay.
std::string html_page(const std::vector<judged>& all, const std::string& program);

}  // namespace apiary::model
