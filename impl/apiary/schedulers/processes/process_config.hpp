// process_config: what one says to a scheduler of processes, what it reports, and what it is made of.
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

// Why a message that was accepted is told to nobody.
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
    bool wakes_into_pool =
        false;  // as in the original design; else a process that is woken by another runs next on that worker
    // So long the destructor lets processes end by themselves, and then so long those that are forced to.
    std::int64_t stop_ns = 1'000'000'000, force_ns = 1'000'000'000;
    // By the command's id, which is not sleep_command.
    std::map<std::uint32_t, std::function<void(core&, basic_command<Sync>&&)>> handlers = {};
    std::function<void(pid to, dead_letter why, event&)> on_dead_letter = {};  // must not throw
    // Messages to pids whose node is not 0; its answer is the send's. `from`: the process of this scheduler that sends, or nobody. On
    // the thread that sends, at a time with others: a worker, in a step, or a thread outside. It may throw: that leaves the send.
    // While it waits it blocks its worker: for example in a send to another scheduler's full mailbox. The other side
    // uses send_from.
    std::function<send_answer(pid from, pid to, payload&)> relay = {};
    // Called when a send is refused because it would close a circle of processes that wait for each other's full
    // mailboxes. Names them in order, the refused sender last. On the worker whose step sends. It may throw: that
    // leaves the send, whose process does not wait then.
    std::function<void(const std::vector<pid>& circle)> on_full_circle = {};
    exception_handler on_exception = {};  // what leaves a step; must not throw
    // A step that does not return for so long is named. 0: nobody looks. Must not throw.
    std::int64_t stall_ns = 0;
    std::function<void(const stalled_step&)> on_stall = {};
};

// The original design's numbers: 16 looks before a worker blocks. There the first four are tight; the engine yields
// before each.
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
    bool over = false;             // every process has ended, and what was offloaded
    std::uint64_t ended = 0;       // by themselves, since the stop began
    std::vector<entry> forced;     // and killed, and those that threw: all that did not say that they had finished
    std::vector<entry> with_mail;  // ended by themselves, but messages were left
    std::uint64_t unlisted = 0;    // entries of these two for which there was no memory
    std::vector<pid> in_a_step;    // when not over: their step has not returned
    // The same: calls that were offloaded and have neither run nor been dropped there (offload.hpp), the oldest first. The process
    // that called may have ended.
    std::vector<open_call> offloaded;
    // Of all these. Of each: what was left in its mailbox, and what its steps left unread or its mailbox dropped since the stop began.
    std::uint64_t undelivered = 0;
};

struct process_counters {
    std::uint64_t living = 0;  // with what was offloaded
    std::uint64_t spawned = 0, dead_letters = 0, late_completions = 0;
    std::uint64_t exceptions = 0;    // that left a step
    std::uint64_t full_circles = 0;  // of full mailboxes that a send would have closed
    std::uint64_t runs = 0;          // steps, and wakes for nothing
    std::uint64_t stolen = 0, parked = 0, woken = 0;
};

// Checks have the abstract parker of their policy, against which the one that ships is checked; and no choice of a victim.
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

// event_trace for a policy that says so: struct traced : apiary::real_sync { using process_trace = apiary::event_trace; };
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
