// oracle: the consistent execution graphs of a tiny program, by brute force and by the letter of RC11. Slow
// and independent of the engine: relations are boolean matrices, every rf and every co is tried.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/model_check/explorer/graph.hpp>

namespace apiary::model::explorer::oracle {

enum class op { load, store, fetch_add, cas, fence };

struct instruction {
    op what = op::load;
    unsigned location = 0;
    int order = 0;            // std::memory_order; of a fence also light_order, heavy_order
    int failure_order = 0;    // cas
    std::uint64_t value = 0;  // store, fetch_add, cas: desired
    std::uint64_t expected = 0;
};

using thread_code = std::vector<instruction>;
struct program {
    std::vector<thread_code> threads;
    std::vector<unsigned> finals;  // locations whose last value is part of the outcome
};

struct answer {
    std::uint64_t graphs = 0;
    std::map<std::string, std::uint64_t>
        outcomes;  // what each reading instruction saw, thread by thread, then finals -> graphs
    // Of those, what C++20 allows, too: [atomics.order] 4 by the letter, where light and heavy fences are none.
    std::uint64_t graphs_of_cxx20 = 0;
    std::map<std::string, std::uint64_t> outcomes_of_cxx20;
};

answer enumerate(const program& p);
std::string print(const program& p);

// "x=1 rel; r y acq || y+=1 ar; cas x 0 1 ar rlx; f sc; f light ! x y": threads, instructions, finals.
program parse(std::string_view text);

}  // namespace apiary::model::explorer::oracle
