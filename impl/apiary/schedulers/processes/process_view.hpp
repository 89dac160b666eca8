// process_view: what one process is doing, for a person that looks into a running scheduler.
//
// When to use it. scheduler.look(pid). When not: to decide what to send; a view is old when it is read.
//
// The state comes from the process's word. All else belongs to the worker that has the process: look() sends it a
// question as an event, which a worker answers at the process's next run, without a step. If a step does not return, no
// answer comes.
//
// Threads.  The asking thread waits; in a step only with wait_ns 0.
// Synchronisation: process_looks.hpp.
// Tested by processes_links_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <apiary/schedulers/processes/process_config.hpp>

namespace apiary {

struct process_view {
    bool lives = false;
    process_state state = process_state::complete;
    bool told = false;  // a worker has answered in time; if false, all below is 0
    std::uint64_t steps = 0;
    std::uint64_t mail = 0;            // messages that waited when the question came
    std::vector<std::uint64_t> calls;  // the tags of its open calls and requests
    std::vector<pid> waits_for;        // processes whose answer, or whose mailbox's room, it waits for
    std::vector<pid> linked, watchers;
};

template <class Sync>
struct process_question {
    typename process_parts<Sync>::parker asker;
    process_view view;  // belongs to the worker until it unparks the asker
};
template <class Sync>
using process_question_ptr = std::shared_ptr<process_question<Sync>>;

}  // namespace apiary
