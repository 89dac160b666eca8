// Is this report true? PROGRAM --arbitrate REPORT reads the text of a ThreadSanitizer report and asks the scenarios of this
// program, with exact fences, about the two places that it names.
//
// ThreadSanitizer ignores std::atomic_thread_fence. So the searches are done three times: as the code stands; with every
// fence taken out; with every order relaxed as well. A race at the two places in the first is a race. One in the second alone is
// ThreadSanitizer's and not the program's, and the fences that it takes are found one by one. One in the third alone says that
// orders of atomics keep the places apart. None in the third: no scenario brings both together, and nothing is decided.
// Other races are gone on from in all three, so that none hides the one in question.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/runner.hpp>

namespace apiary::model {

// One "WARNING: ThreadSanitizer: data race": the places ("/path/queue.hpp:12") of both stacks, innermost first.
struct reported_race {
    std::vector<std::string> first, second;
};
[[nodiscard]] std::vector<reported_race> read_reports(std::istream& text);

// Exit codes: 0 no race within the bound, 1 a race, 2 the text holds no report of a data race, 3 undecided. Of several
// reports the worst: 1, then 3, then 0.
[[nodiscard]] int arbitrate(const std::vector<task>& tasks, const search_options& options, double timeout_seconds,
                            std::istream& report, const std::string& program, std::ostream& out);

}  // namespace apiary::model
