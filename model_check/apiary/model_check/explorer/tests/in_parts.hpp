// in_parts: a search in parts of a few executions each; the last that was left goes first, each alone.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include <apiary/model_check/explorer/run.hpp>
#include <apiary/model_check/explorer/searcher.hpp>

namespace apiary::model::explorer {

struct parts_sum {
    verdict sum;
    unsigned parts = 0;
    std::string wrong;  // of a part that ended as none should
};

template <class Check>
parts_sum in_parts(search_options part, std::uint64_t budget) {
    parts_sum all;
    std::vector<std::string> waiting{"all"};
    part.max_executions = budget;
    for (; !waiting.empty() && all.wrong.empty(); ++all.parts) {
        part.from = {waiting.back()};
        waiting.pop_back();
        const verdict v = run_explorer<Check>(part);
        if (v.executions > budget || v.result != (v.left.empty() ? outcome::pass : outcome::budget_ended))
            all.wrong = "part " + part.from.front() + ": " + v.mode + " " + v.reason;
        add_counts(all.sum, v);
        std::istringstream left(v.left);
        for (std::string one; left >> one;) waiting.push_back(one);
        if (all.parts == 10'000) all.wrong = "no end of parts";
    }
    return all;
}

}  // namespace apiary::model::explorer
