// graph_config: the numbers of a task_graph, the options of a task, and the reports of a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <apiary/schedulers/task_graph/ready_board.hpp>
#include <apiary/workers/in_range.hpp>

namespace apiary {

struct task_graph_config {
    // The number of threads of each worker type, 0 to 279. The default is one thread, whatever the number of
    // processors, because the submitter runs tasks beside it. default_workers() (sync/processors.hpp) returns how many
    // threads can run at once under the control group's quota.
    std::vector<unsigned> workers = {1};
    // The share of one processor, 0 to 1, that workers may spend on looking for work before they sleep: all types
    // together, each an equal part (workers/idle_spin.hpp).
    double idle_cpu = 0;
    bool submitter_helps = true;          // while the submitter waits it runs tasks of type 0
    std::size_t window = 16384;           // tasks that are alive at a time; a power of two
    std::size_t dependencies = 65536;     // of all living tasks; a power of two, at most 131072
    std::uint64_t output_bytes = std::uint64_t{1} << 20;
    unsigned at_once = 64;  // how many tasks a worker runs in a row, each a successor of the one before; at least 1
    ready_policy policy = ready_policy::locality;
    bool several_submitters = false;  // any thread may submit, one at a time; scopes are not allowed then
    // A window that is often full doubles, up to this many tasks: a power of two, at least `window`. 0: it never grows.
    std::size_t window_most = 0;
};

struct task_options {
    std::uint8_t type = 0;      // the worker type
    std::uint32_t bytes = 0;    // size of the output
    std::int8_t priority = 0;   // by locality: of the tasks that one end makes ready, the worker runs the highest first
    std::int64_t ahead_ns = 0;  // critical_path: estimated cost of this task and of the longest way after it
};

struct task_graph_counters {
    std::uint64_t ran = 0;        // tasks that were called
    std::uint64_t at_once = 0;    // of these, those that ran directly after their producer, on its worker
    std::uint64_t cancelled = 0;  // tasks that were not called, because a producer had failed
    std::uint64_t thrown = 0;     // of those that ran, how many threw
    std::uint64_t stolen = 0, parked = 0, woken = 0;

    std::uint64_t begun() const { return ran + cancelled; }
};

struct task_graph_report {
    std::uint64_t submitted = 0, consumed = 0;  // equal at the end
    std::size_t open_scopes = 0;                // scopes that were still open at close
    std::vector<task_graph_counters> types;
};

struct task_graph_progress {
    std::uint64_t submitted = 0, begun = 0;  // begun: have run, run now, or were cancelled; never more than submitted
};

inline const task_graph_config& checked(const task_graph_config& c, unsigned max_workers) {
    constexpr std::size_t max_types = 255;
    if (c.workers.empty() || c.workers.size() > max_types)
        throw std::invalid_argument("task_graph: " + std::to_string(c.workers.size()) +
                                    " worker types; there can be 1 to " + std::to_string(max_types));
    for (std::size_t type = 0; type != c.workers.size(); ++type)
        if (c.workers[type] > max_workers)
            throw std::invalid_argument("task_graph: type " + std::to_string(type) + " has " +
                                        std::to_string(c.workers[type]) + " workers; a type can have 0 to " +
                                        std::to_string(max_workers) + ": have several types for more");
    valid_idle_cpu("task_graph", c.idle_cpu);
    if (c.at_once == 0) throw std::invalid_argument("task_graph: at_once is 0; it must be 1 or more");
    return c;
}

}  // namespace apiary
