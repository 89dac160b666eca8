// graph_kind: what the workers of a task_graph are made of: the engine's, with a deque, no sources, and
// counts of tasks. A crew for each worker type.
#pragma once

#include <cstdint>

#include <apiary/contract/stats.hpp>
#include <apiary/events/parker_driver.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/workers/counters.hpp>
#include <apiary/workers/no_sources.hpp>
#include <apiary/workers/ready_work.hpp>
#include <apiary/workers/trace.hpp>

namespace apiary {

template <class Sync>
struct graph_parts {
    using clock = steady_clock<Sync>;
    using random = typename Sync::random_source;
    using trace = no_trace;
    static int processor() {
        if constexpr (Sync::checked)
            return -1;
        else
            return Sync::processor();
    }
};

template <class Sync, class Slot>
struct graph_ready : ready_work<Sync, chase_lev_deque<Slot*, Sync>, Slot> {
    // By the worker. A job of the engine may be several tasks: a task and successors that ran at once.
    tally<Sync> ran, at_once, cancelled, thrown;
};

template <class Graph, class Sync, class Slot>
struct graph_kind {
    using sync = Sync;
    using driver = parker_driver<Sync>;
    using task_type = Slot;
    using parts = graph_parts<Sync>;
    using ready = graph_ready<Sync, Slot>;
    template <class Crew, class Worker>
    using sources = no_sources<Crew, Worker>;
    static constexpr worker_kind counted_as = worker_kind::compute;
};

}  // namespace apiary
