// random_programs: tiny programs for the oracle, drawn from a seed.
#pragma once

#include <array>
#include <cstdint>

#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/tests/draws.hpp>
#include <apiary/model_check/explorer/tests/oracle.hpp>

namespace apiary::model::explorer::oracle {

class generator : draws {
public:
    explicit generator(std::uint64_t seed) : draws(seed * 0x9E37'79B9'7F4A'7C15U | 1U) {}
    using draws::below;

    program next() {
        // Shapes are kept small enough for brute force; what they are made of varies from program to program.
        const unsigned threads = 2 + below(3);
        const unsigned locations = 1 + below(3);
        const unsigned events = threads == 2 ? 8 : 7;
        // 0 mixed, 1 mostly seq_cst, 2 fences, 3 read-modify-writes, 4 relaxed, 5 asymmetric fences
        const unsigned flavour = below(6);
        program p;
        p.threads.resize(threads);
        std::uint64_t value = 1;
        for (unsigned used = 0; used < events;) {
            instruction i;
            i.location = below(locations);
            const unsigned pick = below(10);
            i.what = pick < 4 ? op::load : pick < 8 ? op::store : pick == 8 ? op::fetch_add : op::cas;
            if ((flavour == 2 || flavour == 5) && below(3) == 0) i.what = op::fence;
            if (flavour == 0 && below(8) == 0) i.what = op::fence;
            if (flavour == 3 && below(2) == 0) i.what = below(2) == 0 ? op::fetch_add : op::cas;
            i.order = order(i.what, flavour);
            i.failure_order = order(op::load, flavour);
            i.value = i.what == op::fetch_add ? 10 : value++;
            i.expected = below(2) == 0 ? 0 : below(3) + 1;
            used += i.what == op::fetch_add || i.what == op::cas ? 2 : 1;
            p.threads[below(threads)].push_back(i);
        }
        return p;
    }

private:
    int order(op what, unsigned flavour) {
        static constexpr int loads[] = {0, 2, 5}, stores[] = {0, 3, 5}, both[] = {0, 2, 3, 4, 5},
                             fences[] = {2, 3, 4, 5};
        if (flavour == 5 && what == op::fence)
            return std::array<int, 4>{light_order, light_order, heavy_order, 5}[below(4)];
        if (flavour == 4 && below(4) != 0) return what == op::fence ? 5 : 0;
        if (flavour == 1 && below(4) != 0) return 5;
        if (what == op::fence) return flavour == 2 && below(2) == 0 ? 5 : fences[below(4)];
        if (what == op::load) return loads[below(3)];
        if (what == op::store) return stores[below(3)];
        return both[below(5)];
    }
};

}  // namespace apiary::model::explorer::oracle
