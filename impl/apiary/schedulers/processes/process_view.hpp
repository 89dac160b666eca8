// process_view: what one process is doing, for a person that looks at a running scheduler.
//
// When to use it. scheduler.look(pid), scheduler.stalled(ns). When not: to decide what to send; it is old when it is read.
//
// The state comes from the process's word. The rest belongs to the worker that has the process: it is asked by an event, which that
// worker answers at the process's next run, without a step. A process in a step that does not return answers nothing.
//
// Threads.  The asking thread waits; in a step only with wait_ns 0.
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
    bool told = false;  // its worker has answered in time; else all below is 0
    std::uint64_t steps = 0;
    std::uint64_t mail = 0;            // that waits, with what came before the question
    std::vector<std::uint64_t> calls;  // tags of what it has called for, requests too
    std::vector<pid> waits_for;        // those whose answers, or whose full mailboxes, it waits for
    std::vector<pid> linked, watchers;
};

template <class Sync>
struct process_question {
    typename process_parts<Sync>::parker asker;
    process_view view;  // until the token: the worker's
};
template <class Sync>
using process_question_ptr = std::shared_ptr<process_question<Sync>>;

}  // namespace apiary
