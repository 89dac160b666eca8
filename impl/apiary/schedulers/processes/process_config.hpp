// process_config: the configuration of a scheduler of processes, its reports and counters, and the parts of its engine.
//
// When to use it. process_config: at construction. The parts and the kind: by the scheduler.
// Threads. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <apiary/events/parker_driver.hpp>
#include <apiary/parking/parker.hpp>
#include <apiary/schedulers/processes/process.hpp>
#include <apiary/schedulers/processes/process_ready.hpp>
#include <apiary/schedulers/processes/process_sources.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/parameters.hpp>
#include <apiary/workers/task_runner.hpp>

namespace apiary {

// Why a message that was accepted was taken by no step.
enum class dead_letter : std::uint8_t {
    ended,    // its receiver ended first
    unread,   // the step left it in its batch
    dropped,  // its receiver drops its oldest messages (mailbox_bound.hpp)
};

struct stalled_step {
    pid id;
    unsigned worker = 0;
};

// A message is most often shorter than a theft, so few workers at a time look for processes to steal.
constexpr worker_parameters process_parameters{.workers_per_searcher = 8, .lookers_count = true};

template <class Sync = real_sync>
struct basic_process_config {
    using core = process_core<Sync>;

    unsigned workers = 0;  // 1 … 280; 0: default_workers() (sync/processors.hpp)
    // of the engine; seed_spinning() gives those of the original design
    worker_parameters parameters = process_parameters;
    // True, as in the original design: a process that another process wakes goes to the pool. False: it runs next on
    // the waking worker.
    bool wakes_into_pool = false;
    // The destructor lets processes end by themselves for stop_ns; then it forces them, and waits up to force_ns.
    std::int64_t stop_ns = 1'000'000'000, force_ns = 1'000'000'000;
    // The handlers of commands, by the commands' ids. sleep_command is built in, and refused here.
    std::map<std::uint32_t, std::function<void(core&, basic_command<Sync>&&)>> handlers = {};
    std::function<void(pid to, dead_letter why, event&)> on_dead_letter = {};  // must not throw
    // Gets messages to pids whose node is not 0; its answer is the send's. `from` is the sending process of this
    // scheduler, or null. It is called on the sending thread (a worker in a step, or a thread outside), perhaps on
    // several at a time. It may throw; the exception leaves the send. While it waits it blocks its worker, for example
    // in a send to another scheduler's full mailbox. The other scheduler receives by send_from.
    std::function<send_answer(pid from, pid to, payload&)> relay = {};
    // Called when a send is refused because it would close a circle of processes that wait for each other's full
    // mailboxes. Gets their pids in order, the refused sender last. Called on the worker whose step sends. It may
    // throw; the exception leaves the send, and the process does not wait.
    std::function<void(const std::vector<pid>& circle)> on_full_circle = {};
    exception_handler on_exception = {};  // gets exceptions that leave a step; must not throw
    // on_stall is called for a step that has run for stall_ns; it must not throw. 0: steps are not watched.
    std::int64_t stall_ns = 0;
    std::function<void(const stalled_step&)> on_stall = {};
};

// The numbers of the original design: 16 looks before a worker blocks, also beside a searcher. There the first four
// looks did not yield; this engine yields before each.
constexpr worker_parameters seed_spinning(worker_parameters p = process_parameters) {
    p.workers_per_searcher = 0;
    p.looks_before_sleep = 16;
    p.sleeps_after_one = false;
    p.naps = 0;
    return p;
}

struct process_stop_report {
    struct entry {
        pid id;
        std::uint64_t undelivered;
    };
    struct open_call {
        pid from;
        std::uint64_t tag;
    };
    bool over = false;             // every process and every offloaded call has ended
    std::uint64_t ended = 0;       // processes that have finished since the stop began
    std::vector<entry> forced;     // processes that have ended otherwise
    std::vector<entry> with_mail;  // processes that finished with messages left
    std::uint64_t unlisted = 0;    // how many entries are missing in these two for lack of memory
    std::vector<pid> in_a_step;    // if not over: processes whose step has not returned
    // If not over: offloaded calls that have neither run nor been dropped (offload.hpp), oldest first. The calling
    // process may have ended.
    std::vector<open_call> offloaded;
    // The messages that were not delivered, summed over all processes that ended: those left in their mailboxes, and
    // those that their steps left unread or their mailboxes dropped since the stop began.
    std::uint64_t undelivered = 0;
};

// Each is a count of its own and orders nothing: one may be older than another. After a join all are exact.
struct process_counters {
    std::uint64_t living = 0;  // processes and offloaded calls
    std::uint64_t spawned = 0, dead_letters = 0, late_completions = 0;
    std::uint64_t exceptions = 0;    // exceptions that left a step, and ends for lack of memory
    std::uint64_t full_circles = 0;  // sends refused because they would have closed a circle of full mailboxes
    std::uint64_t runs = 0;          // runs of processes: steps, and wakes that led to no step
    std::uint64_t stolen = 0, parked = 0, woken = 0;
};

// Checks use their policy's abstract parker, against which the shipped parker is checked, and always begin a search for
// work at the same victim.
template <class Sync, bool = Sync::checked>
struct process_parker {
    using type = basic_parker<Sync>;
    using random = typename Sync::random_source;
};
template <class Sync>
struct process_parker<Sync, true> {
    using type = typename Sync::parker;
    struct random {
        explicit random(std::uint64_t) {}
        static unsigned below(unsigned) { return 0; }
    };
};

// A policy switches the trace on by a member:
//     struct traced : apiary::real_sync { using process_trace = apiary::event_trace; };
template <class Sync>
struct process_trace {
    using type = no_trace;
};
template <class Sync>
    requires requires { typename Sync::process_trace; }
struct process_trace<Sync> {
    using type = typename Sync::process_trace;
};

template <class Sync>
struct process_parts : default_parts<Sync> {
    using parker = typename process_parker<Sync>::type;
    using driver = parker_driver<Sync, parker>;
    using random = typename process_parker<Sync>::random;
    using trace = typename process_trace<Sync>::type;
    struct queue_limits {
        static constexpr unsigned index_bits = 16, version_bits = 32;
        static constexpr std::size_t capacity = Sync::checked ? 4 : 256;
    };
};

template <class Sync>
struct process_kind : default_kind<Sync, process_parts<Sync>> {
    using ready = process_ready<Sync, typename process_parts<Sync>::queue_limits>;
    template <class Crew, class Worker>
    using sources = process_sources<Crew, Worker>;
};

}  // namespace apiary
