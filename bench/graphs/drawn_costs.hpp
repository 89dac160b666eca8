// drawn_costs: a plan whose costs are drawn about the plan's, by seed and place alone: each version draws the same.
//
// Threads. Any.
// Errors.  std::invalid_argument: a negative cost, a spread that is not 0 to 1.
// Tested by virtual_graph_test.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <graphs/graph_plan.hpp>

namespace apiary {

enum class cost_model {
    fixed,        // the plan's
    uniform,      // between the plan's less and plus `spread` of it
    exponential,  // with the plan's as its mean
};

// A cost that would not fit becomes INT64_MAX.
inline graph_plan with_drawn_costs(graph_plan plan, cost_model model, std::uint64_t seed, double spread = 0.2) {
    if (!(spread >= 0 && spread <= 1))  // beyond, a task could end before it begins
        throw std::invalid_argument("drawn costs: spread is " + std::to_string(spread) + "; it can be 0 to 1");
    if (model == cost_model::fixed) return plan;
    for (std::size_t place = 0; place != plan.size(); ++place) {
        std::int64_t& cost = plan[place].cost_ns;
        if (cost < 0) throw std::invalid_argument("drawn costs: task '" + plan[place].name + "' has a negative cost");
        std::uint64_t x = (seed + place) * 0x9E3779B97F4A7C15U;
        x ^= x >> 30, x *= 0xBF58476D1CE4E5B9U, x ^= x >> 27, x *= 0x94D049BB133111EBU, x ^= x >> 31;
        const double drawn = (static_cast<double>(x >> 11) + 0.5) / 9007199254740992.0;  // within 0 and 1
        const double factor = model == cost_model::uniform ? 1 + spread * (2 * drawn - 1) : -std::log(drawn);
        const double ns = static_cast<double>(cost) * factor;
        cost = ns < 0x1p62 ? std::llround(ns) : INT64_MAX;
    }
    return plan;
}

}  // namespace apiary
