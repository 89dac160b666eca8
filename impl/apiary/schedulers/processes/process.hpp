// process: a state machine that is stepped by workers, one at a time, whenever something has come for it.
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
// When to use it. For what waits most of its life: connections, sessions, actors. When not: for one computation to be
// divided (fork_join), or for callables that wait for nothing (hive).
//
// Threads.  init: the thread that spawns. step, close and the destructor: one worker at a time, any of them; what one
//           step wrote is seen by the next.
// Progress. A step keeps its worker until it returns; so it must not block. close too.
// Errors.   An exception that leaves init is told to the spawn. One that leaves step ends the process, and no other.
//           None may leave close.
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
    pid parent;                  // nobody: not spawned by a process
    mailbox_limit mailbox = {};  // init may set it; it holds after init has returned
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

    // Called once, first. If it does not answer `ready`, or throws, the process is destroyed, and the spawn's answer
    // says so.
    virtual init_answer init(context& c, std::string_view method, payload input) = 0;
    // The first step follows init, with the events that have come by then, perhaps none. Each later step runs when an
    // event has come for which the last step has said that it waits.
    virtual void step(events& batch, output& out) = 0;
    // Called once, at the end, whatever ended the process, before the destructor; but not if init has refused.
    virtual void close() noexcept {}
};

// How a process has ended.
enum class process_end : std::uint8_t {
    finished,  // it said so
    threw,     // its step let out an exception
    misused,   // a call's tag was in use, or it blocked on nothing
    killed,
    forced,   // the stop's deadline has passed
    refused,  // by init
    linked,   // another process to which it was linked has ended
};

// A call of a process, for its handler. The thread that carries it out calls complete_yield(from, tag, …), now or
// later, on any thread.
template <class Sync>
struct basic_command {
    pid from;
    std::uint64_t tag = 0;  // the process's name for it
    std::uint32_t id = 0;   // which handler
    payload arguments;
};

enum class spawn_error : std::uint8_t {
    none,
    unknown_method,  // init says so
    failed,          // init says so, or has thrown; or there is no memory for the process
    stopping,        // the scheduler is
    no_place,        // as many processes live as the table has places for
    no_process,      // a null pointer was given
};

struct spawn_answer {
    pid id;  // nobody when refused
    spawn_error error = spawn_error::none;
    std::exception_ptr thrown = nullptr;  // what left init; std::bad_alloc

    explicit operator bool() const { return error == spawn_error::none; }
};

enum class send_answer : std::uint8_t {
    accepted,  // it will be told, or is a dead letter that is counted
    // There is no such process, or no longer. For a pid of another node: there is no relay, or the relay says so, or
    // it is no plain message: requests, answers, watches, links, cancels and kills stay within one scheduler.
    no_such_process,
    completing,  // it has ended, and no other process has its place yet
    full,        // the mailbox has a bound, and its policy refuses; or the send would close a circle of full mailboxes
};

using process = basic_process<>;
using event_batch = basic_event_batch<real_sync>;
using process_context = basic_process_context<real_sync>;
using process_command = basic_command<real_sync>;

}  // namespace apiary
