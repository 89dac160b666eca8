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
// Errors.   What leaves init is told to the spawn. What leaves step ends the process, and no other. Nothing may leave close.
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

// Which process is being made, by which, in which scheduler.
template <class Sync>
struct basic_process_context {
    process_core<Sync>& scheduler;
    pid self;
    pid parent;                  // nobody: not spawned by a process
    mailbox_limit mailbox = {};  // init may set it; it holds from init's return on
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

    // Once, before all else. Not `ready`, or an exception: the process is destroyed, and the spawn is told.
    virtual init_answer init(context& c, std::string_view method, payload input) = 0;
    // The first step follows init, with the events that have come by then, perhaps none. Each later step runs when an
    // event has come that the last step said it waits for.
    virtual void step(events& batch, output& out) = 0;
    // Once, at the end, whatever ended it, and before the destructor; unless init has refused.
    virtual void close() noexcept {}
};

// How a process has ended.
enum class process_end : std::uint8_t {
    finished,  // it said so
    threw,     // its step let out an exception
    misused,   // a call's tag was in use, or it blocked on nothing
    killed,
    forced,   // the stop's deadline had passed
    refused,  // by init
    linked,   // with another that it was linked to
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
    // Nobody, or one that is gone. Of another node: there is no relay, or it says so, or it is no plain message: requests, answers,
    // watches, links, cancels and kills stay within one scheduler.
    no_such_process,
    completing,  // it has ended, and its place is not empty yet
    full,        // its mailbox has a bound, whose policy refuses; or it would close a circle of full ones
};

// A step says here what it calls for, and what its process waits for afterwards. By default the process waits for any
// event.
template <class Sync = real_sync>
class basic_step_output {
    using core = process_core<Sync>;

public:
    pid self() const { return self_; }
    core& scheduler() const { return core_; }

    // At once; the answer tells what became of it. Refused, a payload that is given is still there. To itself: a later step gets
    // it, and others run first, as by again(). So a long loop is cut into steps.
    template <class T>
    send_answer send(pid to, T&& data);
    // The answer, or that there will be none, comes as the end of a call of that tag (below), from whatever the receiver gives to
    // answer(). Refused, nothing comes.
    template <class T>
    send_answer request(pid to, std::uint32_t tag, T&& data);
    // To a request's reply(). The first answer counts.
    template <class T = payload>
    send_answer answer(reply_to what, T&& data = {});
    // Told once how it ends, by an event of type `ended`. Not accepted: it has ended, and nothing is told.
    send_answer watch(pid which);
    // Takes all watches of that one back. What was on its way may still be told.
    send_answer unwatch(pid which);
    // When one of the two ends otherwise than by finish, the other ends with it. Not accepted: it has ended, and nothing happens.
    send_answer link(pid which);
    // From here on its end does not end this one.
    send_answer unlink(pid which);
    // A child. On this thread init runs; the first step soon, perhaps on another worker.
    spawn_answer spawn(std::unique_ptr<basic_process<Sync>> child, std::string_view method = {}, payload input = {});
    // The same, and watched from before its first step: however soon it ends, that is told. Refused, nothing is told.
    spawn_answer spawn_watched(std::unique_ptr<basic_process<Sync>> child, std::string_view method = {},
                               payload input = {});

    // After the step the command goes to the handler of that id. The event that tells its end has this tag, which no
    // other call of this process may have that is not over: a process that does so ends, with process_end::misused. The
    // tag is all that tells calls apart: where a completion or an answer may come twice, a process uses no tag again.
    void call(std::uint32_t id, std::uint64_t tag, payload arguments = {});
    // Told by an event of that tag, not sooner.
    void sleep(std::int64_t ns, std::uint64_t tag);

    void wait() { waits_ = process_state::idle; }  // for any event
    void block() {
        waits_ = process_state::blocked;
    }  // for the end of something called for, or a cancel; messages wait.
    // Called for nothing, it ends with process_end::misused
    void again() { waits_ = process_state::ready; }  // for nothing: what is ready on this worker runs first
    void finish() { finished_ = true; }              // close follows

private:
    friend core;
    basic_step_output(core& c, typename core::worker_type& w, process_place<Sync>& p, pid self)
        : core_(c), worker_(w), place_(p), self_(self) {}

    core& core_;
    typename core::worker_type& worker_;
    process_place<Sync>& place_;
    const pid self_;
    process_state waits_ = process_state::idle;
    bool finished_ = false, misused_ = false, sent_to_itself_ = false;
};

using process = basic_process<>;
using event_batch = basic_event_batch<real_sync>;
using step_output = basic_step_output<>;
using process_context = basic_process_context<real_sync>;
using process_command = basic_command<real_sync>;

}  // namespace apiary
