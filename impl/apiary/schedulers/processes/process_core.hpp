// process_core: the processes of one scheduler and the crew that runs them, without threads.
//
// When to use it. Through processes.hpp, which only adds threads and the wait for the end; or alone, where a check or a
// test brings its own threads.
//
// It stands in layers, each a base of the next, with a protocol and the members of that protocol:
//
//   process_events     an event reaches a process, and one thread queues it: completions, cancels, kills
//   process_messages   sends, requests, mailboxes with a bound
//   process_looks      what a person sees
//   process_lives      a process begins and ends; the stop of all
//   process_runs       one run of a process: its step, and what that has called for
//
// Threads.  Everything: any thread, after the constructor has returned; a thread that runs a worker has said so by
//           Sync::set_current. Handlers, listener, relay: called on any thread that ends, steps or sends to a process.
// Progress. Each layer says it.
// Errors.   Without memory for it a spawn says `failed`, and the rest throws std::bad_alloc; nothing has changed
//           then. README.md, "Bad input", lists the calls that need no memory, and those that can no longer be refused.
//
// Checked by model_check/schedulers/processes. Stressed by stress/schedulers/processes. The protocol: README.md.
#pragma once

#include <apiary/schedulers/processes/process_runs.hpp>

namespace apiary {

template <class Sync>
class process_core : public process_runs<Sync> {
    using base = process_runs<Sync>;

public:
    using typename base::config_type;
    using typename base::crew_type;

    // Precondition: 1 <= workers <= crew_type::max_workers.
    process_core(unsigned workers, const config_type& config) : base(*this, config) {
        for (unsigned i = 0; i != workers; ++i) base::crew_.table().attach(base::crew_);
    }
    // Precondition: the end has come, or no process lives; no worker runs.
    ~process_core() {
        if (!base::over()) base::end_crew();
    }

    process_counters counters() const {
        process_counters c = base::books_.counters();
        c.living = base::living();
        const worker_counters all = base::crew_.counters();
        c.runs = all.run;
        c.stolen = all.stolen;
        c.parked = all.parked;
        c.woken = all.woken;
        return c;
    }

private:
    friend basic_step_output<Sync>;
};

}  // namespace apiary
