// graph_config: the numbers of a task_graph, what a submit says of a task, and what the graph reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apiary {

struct task_graph_config {
    std::vector<unsigned> workers = {1};  // threads of each worker type; 0 to 55
    bool submitter_helps = true;          // with tasks of type 0, while it waits
    std::size_t window = 16384;           // tasks that live; a power of two
    std::size_t dependencies = 65536;     // of all that live; a power of two
    std::uint64_t output_bytes = std::uint64_t{1} << 20;
    unsigned at_once = 64;  // successors that a worker runs behind each other, before it looks for other work
};

struct task_options {
    std::uint8_t type = 0;     // the worker type
    std::uint32_t bytes = 0;   // of the output
    std::int8_t priority = 0;  // among the successors that become ready together
};

struct task_graph_counters {
    std::uint64_t ran = 0;        // tasks that were called
    std::uint64_t at_once = 0;    // of them, behind the producer that made them ready, on the same worker
    std::uint64_t cancelled = 0;  // tasks that were not called, since a task that they depended on threw
    std::uint64_t thrown = 0;     // of those that ran
    std::uint64_t stolen = 0, parked = 0, woken = 0;
};

struct task_graph_report {
    std::uint64_t submitted = 0, consumed = 0;  // the same number, at the end
    std::size_t open_scopes = 0;                // that nobody ended before close
    std::vector<task_graph_counters> types;
};

}  // namespace apiary
