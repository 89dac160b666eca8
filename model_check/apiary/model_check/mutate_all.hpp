// A mutation table by one command, for a project that has no scripts/apiary: PROGRAM --mutate-all FILE.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <apiary/model_check/runner.hpp>

namespace apiary::model {

struct mutation_request {
    std::string file;               // a part of its name
    std::ostream* json = nullptr;   // the advice as one JSON array
    std::ostream* patch = nullptr;  // and as a unified diff
};

// Runs `tasks` as they are; then weakens every operation that ran in a file whose name contains `file` by each legal
// step, one at a time, and runs the checks that execute it until one fails. Writes a row for each mutant to `out`; it
// holds no times, so that two runs can be compared. An error of a mutant (a crash, a time that ran out) is no kill.
// Of code as it is, all that was compiled of one operation is weakened together. Then come the words of order_advice.hpp:
// which orders are needed, which are free, alone and together, and which no check reached. Where a check is red as the code
// stands, nothing is weakened, and the words are of orders that are missing; so where `tasks` are exhibits alone.
// Returns the exit code: 0 every mutant was killed; 1 not, or an order is missing; 2 nothing of that file ran, or a check
// fails as the code stands and no order mends it.
[[nodiscard]] int mutate_all(const std::vector<task>& tasks, const search_options& options, double timeout_seconds,
                             const mutation_request& asked, std::ostream& out);

}  // namespace apiary::model
