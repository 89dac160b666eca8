// process_core: the processes of one scheduler and the crew that runs them, without threads.
//
// When to use it. Through processes.hpp, which adds threads and the wait for the end; or alone, in a check or a test
// that brings its own threads.
//
// It is built in layers, each the base of the next. A layer has one protocol and the members of that protocol:
//
//   process_events     delivers an event to a process and queues the process: completions, cancels, kills
//   process_messages   sends, requests, mailboxes with a bound
//   process_looks      shows a person what a process is doing
//   process_lives      begins and ends processes; stops all of them
//   process_runs       runs a process: one step, and the commands that it has called for
//
// Threads.  All functions: any thread, after the constructor has returned. A thread that runs a worker must have named
//           it by Sync::set_current. Handlers, listener and relay are called on whatever thread ends, steps or sends to
//           a process.
// Progress. See each layer.
// Errors.   Without memory a spawn returns `failed`; other calls throw std::bad_alloc. Nothing has changed then.
//           README.md, "Bad input", lists the calls that need no memory, and those that can no longer be refused.
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
    // Preconditions: no worker runs; and no process lives, or the scheduler has ended.
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
