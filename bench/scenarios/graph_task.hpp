// The body of a task of the scenario `graph`: it computes its value from those of its producers, and runs the kernel.
#pragma once

#include <cstdint>
#include <vector>

#include <apiary/bench/ledger.hpp>

#include "scenarios/graph_pattern.hpp"

namespace apiary::bench {

// The tasks and their values; outlives the runtime.
struct value_graph {
    task_list list;
    std::uint64_t iterations;
    std::int64_t slowdown_ns;
    std::vector<std::uint64_t> values;

    void run(std::uint64_t id) {
        ledger::slow_down(slowdown_ns);
        values[id] = value(id);
    }

    [[nodiscard]] std::uint64_t value(std::uint64_t id) const {
        std::uint64_t sum = id;
        for (const std::uint64_t producer : list.producers(id)) sum += values[producer];
        std::uint64_t x = mix(sum);
        for (std::uint64_t k = 0; k < iterations; ++k) {
            x = x * 0x9E3779B97F4A7C15U + 1;
            asm volatile("" : "+r"(x));  // else the compiler shortens the chain
        }
        return x;
    }

    [[nodiscard]] std::uint64_t answer() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t one : values) sum += one;
        return sum;
    }
};

template <class Host>
struct graph_task {
    value_graph* graph;
    std::uint64_t id;
    void operator()() const {
        Host::computes(graph->iterations);
        graph->run(id);
    }
};

}  // namespace apiary::bench
