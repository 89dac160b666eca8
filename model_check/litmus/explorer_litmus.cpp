// The litmus tests of explorer_programs.hpp under the common runner: the explorer must show exactly RC11's sets.
#include "explorer_programs.hpp"

#include <apiary/model_check/check.hpp>
#include <apiary/model_check/explorer/tests/interpreter.hpp>

namespace {

using namespace apiary::model;

const bool registered = [] {
    for (const litmus_line& line : litmus_lines) {
        check_entry entry;
        entry.name = "rc11_" + std::string(line.name);
        entry.what = std::string(line.code) + " (" + std::string(line.source) + ")";
        entry.file = "model_check/litmus/explorer_table.inc";
        entry.kind = check_kind::litmus;
        entry.threads = explorer::oracle::interpreted::threads;
        entry.engines = explorer_only;
        entry.one_engine_because = "a table of programs for an interpreter that speaks to the explorer alone";
        entry.expected_rc11 = outcomes_of(line);
        entry.run_explorer = [code = line.code](const search_options& options) {
            explorer::oracle::current = explorer::oracle::parse(code);
            return run_explorer<explorer::oracle::interpreted>(options);
        };
        registry().push_back(std::move(entry));
    }
    return true;
}();

}  // namespace
