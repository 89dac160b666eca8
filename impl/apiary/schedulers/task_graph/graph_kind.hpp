// graph_kind: the parts of a task_graph's workers: the engine's, with a deque, a policy's desk, and counters of tasks.
// Each worker type has a crew.
#pragma once

#include <cstddef>
#include <cstdint>

#include <apiary/parking/idle_sets.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/schedulers/task_graph/graph_config.hpp>
#include <apiary/schedulers/task_graph/graph_sources.hpp>
#include <apiary/schedulers/task_graph/ready_desk.hpp>
#include <apiary/schedulers/task_graph/task_window.hpp>
#include <apiary/workers/counters.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/ready_work.hpp>

namespace apiary {

template <class Sync, class Slot>
struct graph_ready : ready_work<Sync, chase_lev_deque<Slot*, Sync>, Slot> {
    // Written by the worker. A job of the engine may be several tasks: a task and the successors that ran at once.
    tally<Sync> ran, at_once, cancelled, thrown;
    // Null if the policy is locality.
    using desk_type = ready_desk<Sync, Slot, idle_sets<Sync>::max_workers>;
    desk_type* desk = nullptr;
    bool priorities_differ = false;  // whether the tasks that the ending task has made ready so far differ in priority
    std::int64_t worked_ns = 0;  // the worker's clock, for min_clock
};

inline window_sizes sizes_of(const task_graph_config& c) {
    return {c.window, c.dependencies, c.output_bytes, c.window_most};
}

template <class Ready>
void add_counters(task_graph_counters& all, const Ready& w) {
    all.ran += w.ran.get();
    all.at_once += w.at_once.get();
    all.cancelled += w.cancelled.get();
    all.thrown += w.thrown.get();
}

// A graph can write a trace of its workers (write_trace) if its parts have one:
//
//     struct traced_parts : apiary::default_parts<> {
//         using trace = apiary::event_trace;
//     };
//     apiary::basic_task_graph<apiary::real_sync, traced_parts> g;
template <class Sync, class Parts, class Slot>
struct graph_kind : default_kind<Sync, Parts, Slot> {
    using ready = graph_ready<Sync, Slot>;
    template <class Crew, class Worker>
    using sources = graph_sources<Crew, Worker>;
};

}  // namespace apiary
