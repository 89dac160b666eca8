// process: a state machine. Workers run its step, one at a time, whenever an event has come for it.
//
//     class counter : public apiary::process {
//         apiary::init_answer init(context&, std::string_view method, apiary::payload) override {
//             return method == "count" ? apiary::init_answer::ready : apiary::init_answer::unknown_method;
//         }
//         void step(events& batch, output& out) override {
//             while (apiary::event* e = batch.next()) {
//                 if (e->type == apiary::event_type::cancel) return out.finish();
//                 if (auto* n = e->data.get<int>()) sum_ += *n;
//             }
//         }
//         int sum_ = 0;
//     };
//
// When to use it. For things that wait most of the time: connections, sessions, actors. When not: to divide one
// computation (fork_join), or for callables that wait for nothing (hive).
//
// Threads.  init: the thread that spawns. step, close and the destructor: any worker, one at a time. A step sees
//           everything that earlier steps wrote.
// Progress. A step keeps its worker until it returns, so it must not block. The same holds for close.
// Errors.   An exception that leaves init is reported by the spawn. One that leaves step ends the process, and no
//           other. close must not throw.
// Tested by the processes' tests. Origin: README.md.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include <apiary/schedulers/processes/event.hpp>
#include <apiary/schedulers/processes/mailbox_bound.hpp>
#include <apiary/schedulers/processes/process_word.hpp>

namespace apiary {

template <class Sync>
class process_core;
template <class Sync>
class basic_step_output;
template <class Sync>
struct process_place;

enum class init_answer : std::uint8_t { ready, unknown_method, failed };

// For init: the scheduler, the new process and its parent.
template <class Sync>
struct basic_process_context {
    process_core<Sync>& scheduler;
    pid self;
    pid parent;                  // null: it was not spawned by a process
    mailbox_limit mailbox = {};  // init may set it; it takes effect when init has returned
};

template <class Sync = real_sync>
class basic_process {
public:
    using context = basic_process_context<Sync>;
    using events = basic_event_batch<Sync>;
    using output = basic_step_output<Sync>;

    basic_process() = default;
    basic_process(const basic_process&) = delete;
    basic_process& operator=(const basic_process&) = delete;
    virtual ~basic_process() = default;

    // Called once, before all else. If it does not return `ready`, or throws, the process is destroyed, and the spawn's
    // answer says so.
    virtual init_answer init(context& c, std::string_view method, payload input) = 0;
    // The first call comes after init, with the events that have come by then, if any. Each later call comes when there
    // is an event of the kind for which the last step said that the process waits.
    virtual void step(events& batch, output& out) = 0;
    // Called once at the end, however the process ends, before the destructor; but not if init has refused. If init has
    // said `ready` and there is no memory for the bound that it set, the spawning thread calls it.
    virtual void close() noexcept {}
};

// How a process has ended.
enum class process_end : std::uint8_t {
    finished,  // by output.finish()
    threw,     // an exception left its step
    misused,   // a call used a tag that was in use, or the process blocked without a call
    killed,
    forced,   // a stop ended it at its deadline
    refused,  // init refused
    linked,   // a process that it was linked to has ended
};

// A call of a process, as its handler gets it. The thread that carries it out calls complete_yield(from, tag, …), at
// once or later, on any thread.
template <class Sync>
struct basic_command {
    pid from;
    std::uint64_t tag = 0;  // the name that the process gave to this call
    std::uint32_t id = 0;   // says which handler carries it out
    payload arguments;
};

enum class spawn_error : std::uint8_t {
    none,
    unknown_method,  // init returned unknown_method
    failed,          // init returned failed or threw, or there is no memory for the process
    stopping,        // the scheduler has been stopped
    no_place,        // all places of the table are taken
    no_process,      // a null pointer was given
};

struct spawn_answer {
    pid id;  // null if the spawn was refused
    spawn_error error = spawn_error::none;
    std::exception_ptr thrown = nullptr;  // the exception that left init, or std::bad_alloc

    explicit operator bool() const { return error == spawn_error::none; }
};

enum class send_answer : std::uint8_t {
    accepted,  // the process will get it, or it is counted as a dead letter
    // No process has this pid, or its process is gone. For a pid of another node: there is no relay, or the relay
    // answered this, or it is not a plain message. Requests, answers, watches, links, cancels and kills stay within one
    // scheduler.
    no_such_process,
    completing,  // the process has ended, and its place is not yet used again
    full,        // the mailbox is full and its policy refuses, or the send would close a circle of full mailboxes
};

using process = basic_process<>;
using event_batch = basic_event_batch<real_sync>;
using process_command = basic_command<real_sync>;

}  // namespace apiary
