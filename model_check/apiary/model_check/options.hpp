// The command line of a check program.
#pragma once

#include <string>
#include <vector>

#include <apiary/model_check/check.hpp>

namespace apiary::model {

struct command {
    bool list = false, json_list = false, show_traces = false;
    std::string help;                // not empty: what --help prints
    std::vector<std::string> names;  // empty: all
    unsigned engines = both_engines;
    search_options search;
    std::string mutate_all;      // part of a file's name: every operation there is weakened in turn
    std::string reach;           // part of a file's name: what no execution came to there
    std::string arbitrate;       // a file with a report of ThreadSanitizer; - is standard input
    std::string patch_file;      // of mutate_all: the orders advised, as a diff
    double timeout_seconds = 0;  // 0: by the budget
    std::string json_file;       // one line per verdict; "-" is standard output
    std::string html_file;       // all verdicts, with every trace there is
    std::string error;           // not empty: what is wrong with the line, and the remedy
};

// The value of --bounds that gives `b`.
std::string bounds_text(const choice_bounds& b);

command parse(int argc, const char* const* argv);

}  // namespace apiary::model
