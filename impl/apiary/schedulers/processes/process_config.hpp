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

// Why no step took a message that was accepted.
enum class dead_letter : std::uint8_t {
    ended,    // its receiver ended before it looked
    unread,   // the step did not take it out of its batch
    dropped,  // its receiver drops its oldest (mailbox_bound.hpp)
};

struct stalled_step {
    pid id;
    unsigned worker = 0;
};

template <class Sync = real_sync>
struct basic_process_config {
    using core = process_core<Sync>;

    unsigned workers = 0;               // 1 … 280; 0: default_workers() (sync/processors.hpp)
    worker_parameters parameters = {};  // of the engine; seed_spinning() is the original design's
    // As in the original design: a process that another wakes goes into the pool. Else it runs next on that worker.
    bool wakes_into_pool = false;
    // The destructor lets processes end by themselves for stop_ns; then it forces them, and waits up to force_ns.
    std::int64_t stop_ns = 1'000'000'000, force_ns = 1'000'000'000;
    // By the command's id. sleep_command is built in and refused here.
    std::map<std::uint32_t, std::function<void(core&, basic_command<Sync>&&)>> handlers = {};
    std::function<void(pid to, dead_letter why, event&)> on_dead_letter = {};  // must not throw
    // Gets the messages to pids whose node is not 0; its answer is the send's. `from`: the process of this scheduler
    // that sends, or nobody. Called on the thread that sends, a worker in a step or a thread outside; several may
    // call it at a time. It may throw; the exception leaves the send. While it waits it blocks its worker, for
    // example in a send to another scheduler's full mailbox. The other side uses send_from.
    std::function<send_answer(pid from, pid to, payload&)> relay = {};
    // Called when a send is refused because it would close a circle of processes that wait for each other's full
    // mailboxes. Names them in order, the refused sender last. Called on the worker whose step sends. It may throw; the
    // exception leaves the send, and the process does not wait.
    std::function<void(const std::vector<pid>& circle)> on_full_circle = {};
    exception_handler on_exception = {};  // gets what leaves a step; must not throw
    // on_stall names a step that has not returned for stall_ns. 0: no thread looks. on_stall must not throw.
    std::int64_t stall_ns = 0;
    std::function<void(const stalled_step&)> on_stall = {};
};

// The original design's numbers: 16 looks before a worker blocks. In that design the first four do not yield; the
// engine yields before each.
constexpr worker_parameters seed_spinning(worker_parameters p = {}) {
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
    bool over = false;             // every process has ended, and every offloaded call
    std::uint64_t ended = 0;       // by themselves, since the stop began
    std::vector<entry> forced;     // all that ended otherwise than by finish
    std::vector<entry> with_mail;  // ended by themselves, but messages were left
    std::uint64_t unlisted = 0;    // entries of these two for which there was no memory
    std::vector<pid> in_a_step;    // if not over: their step has not returned
    // If not over: offloaded calls that have neither run nor been dropped (offload.hpp), the oldest first. The
    // process that called may have ended.
    std::vector<open_call> offloaded;
    // The sum over all that ended. For each: messages left in its mailbox, and those that its steps left unread or its
    // mailbox dropped since the stop began.
    std::uint64_t undelivered = 0;
};

struct process_counters {
    std::uint64_t living = 0;  // processes, and offloaded calls
    std::uint64_t spawned = 0, dead_letters = 0, late_completions = 0;
    std::uint64_t exceptions = 0;    // that left a step, and ends for want of memory
    std::uint64_t full_circles = 0;  // circles of full mailboxes that a send would have closed
    std::uint64_t runs = 0;          // steps, and wakes for nothing
    std::uint64_t stolen = 0, parked = 0, woken = 0;
};

// Checks use the abstract parker of their policy, against which the parker that ships is checked; and a fixed first
// victim.
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

// A policy asks for a trace so:
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
