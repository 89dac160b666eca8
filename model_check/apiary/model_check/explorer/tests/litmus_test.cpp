// The litmus tests of litmus/explorer_programs.hpp, three ways: the explorer's set, the brute-force oracle's set and
// the set written down must be the same, and the outcome that each test is famous for must be allowed or forbidden as
// its source says. With --print, prints the table with the oracle's sets.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "../../../../litmus/explorer_programs.hpp"

#include <apiary/model_check/explorer/tests/interpreter.hpp>

namespace {

using namespace apiary::model;
namespace oracle = explorer::oracle;

template <class Map>
std::string set_of(const Map& outcomes) {
    std::string text;
    for (const auto& [name, n] : outcomes) {
        if (!text.empty()) text += '|';
        text += name;
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    const bool print = argc > 1 && std::strcmp(argv[1], "--print") == 0;
    unsigned bad = 0;
    for (const litmus_line& line : litmus_lines) {
        oracle::current = oracle::parse(line.code);
        const verdict v = run_explorer<oracle::interpreted>({});
        const oracle::answer a = oracle::enumerate(oracle::current);
        const std::string seen = set_of(v.outcomes), expected = set_of(a.outcomes);
        const bool allowed = a.outcomes.count(std::string(line.famous)) != 0;
        if (print)
            std::printf("    litmus_line{\"%s\", \"%s\", \"%s\", \"%s\", %s,\n                \"%s\"},\n",
                        line.name.data(), line.source.data(), line.code.data(), line.famous.data(),
                        line.allowed ? "true" : "false", expected.c_str());
        const auto complain = [&](const char* what) {
            std::fprintf(stderr, "%s: %s\n  code      %s\n  explorer  %s\n  oracle    %s\n  written   %s\n",
                         line.name.data(), what, line.code.data(), seen.c_str(), expected.c_str(), line.rc11.data());
            ++bad;
        };
        if (allowed != line.allowed) complain("the famous outcome is not as its source says");
        // What RC11 allows and C++20 forbids is a false alarm by design: each has to say so.
        const bool differs = allowed && a.outcomes_of_cxx20.count(std::string(line.famous)) == 0;
        if (differs != (line.source.find("C++20 forbids it") != std::string_view::npos))
            complain(differs ? "C++20 forbids the famous outcome" : "C++20 does not forbid the famous outcome");
        if (seen != expected) complain("explorer and oracle disagree");
        if (v.graphs != a.graphs || v.executions != a.graphs) complain("the numbers of graphs differ");
        if (!print && seen != line.rc11) complain("the set is not the one written down");
    }
    std::fprintf(stderr, "%zu litmus tests, %u complaints\n", litmus_lines.size(), bad);
    return bad == 0 ? 0 : 1;
}
