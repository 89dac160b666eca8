// A mutation table by one command, for a project that has no scripts/apiary: PROGRAM --mutate-all FILE.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <apiary/model_check/runner.hpp>

namespace apiary::model {

// Runs `tasks` as they are; then weakens every operation that ran in a file whose name contains `file` by each legal
// step, one at a time, and runs the checks that execute it until one fails. Writes a row for each mutant to `out`; it
// holds no times, so that two runs can be compared. An error of a mutant (a crash, a time that ran out) is no kill.
// Returns the exit code: 0 every mutant was killed, 1 not, 2 nothing of that file ran, or a check fails as it is.
[[nodiscard]] int mutate_all(const std::vector<task>& tasks, const search_options& options, double timeout_seconds,
                             const std::string& file, std::ostream& out);

}  // namespace apiary::model
