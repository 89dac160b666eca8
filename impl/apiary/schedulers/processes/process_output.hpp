// process_output: what a step says: what it sends, starts and calls for, and what its process waits for afterwards.
//
// When to use it. In step(): it is the second argument. When not: outside of a step; there the scheduler itself sends.
//
// Threads.  The worker that runs the step, until the step returns.
// Progress. send, request, answer, watch, link: lock-free, except for the allocation of an event, and for what a full
//           mailbox does (mailbox_bound.hpp). spawn: that of init.
// Errors.   Without memory a call throws std::bad_alloc, and nothing has changed, except that the payload of a `call`
//           is gone. What leaves the step ends its process.
// Tested by the processes' tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <apiary/schedulers/processes/process.hpp>
#include <apiary/schedulers/processes/process_place.hpp>

namespace apiary {

template <class Sync>
class process_runs;

// By default the process waits for any event.
template <class Sync = real_sync>
class basic_step_output {
    using core = process_core<Sync>;

public:
    pid self() const { return self_; }
    core& scheduler() const { return core_; }

    // Sends at once; the answer tells what became of it. Refused, a payload that was given is still there. What a
    // process sends to itself comes in a later step, and others run first, as after again(): so a long loop is cut
    // into steps.
    template <class T>
    send_answer send(pid to, T&& data) {
        const send_answer said = core_.send_by(&worker_, &place_, self_, to, std::forward<T>(data));
        if (to == self_ && said == send_answer::accepted) sent_to_itself_ = true;
        return said;
    }
    // A message that its receiver answers by answer(). The answer, or the word that there will be none, comes as the
    // end of a call of that tag (below). Refused, nothing comes.
    template <class T>
    send_answer request(pid to, std::uint32_t tag, T&& data) {
        if (!place_.called_for(tag)) {
            misused_ = true;
            return send_answer::no_such_process;
        }
        return core_.request_by(worker_, place_, to, tag, std::forward<T>(data));
    }
    // To a request's reply(). The first answer counts.
    template <class T = payload>
    send_answer answer(reply_to what, T&& data = {}) {
        // Paid after the answer: if that throws, the request is still owed.
        const send_answer a = core_.complete_by(&worker_, what.to, what.tag, std::forward<T>(data), yield_error::none);
        (void)place_.pay(what);
        return a;
    }
    // An event of type `ended` tells once how that process ends. Not accepted: it has ended, and nothing is told.
    send_answer watch(pid which) { return core_.tell(&worker_, self_, which, event_type::watch); }
    // Takes all watches of that process back. An end that was on its way may still be told.
    send_answer unwatch(pid which) { return core_.tell(&worker_, self_, which, event_type::unwatch); }
    // If one of the two ends otherwise than by finish, the other ends with it. Not accepted: it has ended, and nothing
    // happens.
    send_answer link(pid which) {
        auto& links = place_.more().links;
        if (which == self_ || links.find(which) != nullptr) return send_answer::accepted;
        const std::uint32_t name = links.make(which);
        send_answer a = send_answer::no_such_process;
        try {
            a = core_.tell(&worker_, self_, which, event_type::link, name);
        } catch (...) {
            (void)links.erase(which);
            throw;
        }
        if (a != send_answer::accepted) (void)links.erase(which);
        return a;
    }
    // From here on the end of that process does not end this one.
    send_answer unlink(pid which) {
        const auto* const link = place_.has_more() ? place_.more().links.find(which) : nullptr;
        if (link == nullptr) return send_answer::no_such_process;
        const send_answer a = core_.tell(&worker_, self_, which, event_type::unlink, link->theirs);
        (void)place_.more().links.erase(which);
        return a;
    }
    // Starts a child. Its init runs on this thread; its first step comes soon, perhaps on another worker.
    spawn_answer spawn(std::unique_ptr<basic_process<Sync>> child, std::string_view method = {}, payload input = {}) {
        return core_.spawn_by(&worker_, std::move(child), method, std::move(input), self_);
    }
    // As spawn, and this process watches the child from before its first step: however soon it ends, that is told.
    // Refused, nothing is told.
    spawn_answer spawn_watched(std::unique_ptr<basic_process<Sync>> child, std::string_view method = {},
                               payload input = {}) {
        return core_.spawn_by(&worker_, std::move(child), method, std::move(input), self_, true);
    }

    // After the step the command goes to the handler of that id, and an event with this tag tells its end. If another
    // call of this process that is not over has the tag, the process ends, with process_end::misused. The tag is all
    // that tells calls apart: where a completion or an answer may come twice, a process uses no tag again.
    void call(std::uint32_t id, std::uint64_t tag, payload arguments = {}) {
        worker_.sources().commands().push_back({self_, tag, id, std::move(arguments)});
    }
    // An event of that tag tells when `ns` are over, and not sooner. Negative counts as 0.
    void sleep(std::int64_t ns, std::uint64_t tag) {
        const std::int64_t now = core_.now_ns();
        const std::int64_t deadline = ns < INT64_MAX - 1 - now ? now + std::max<std::int64_t>(ns, 0) : INT64_MAX - 1;
        call(core::sleep_command, tag, payload(deadline));
    }

    // Waits for any event.
    void wait() { waits_ = process_state::idle; }
    // Waits for the end of something called for, or a cancel; messages are kept until then. A process that blocks and
    // has called for nothing ends, with process_end::misused.
    void block() { waits_ = process_state::blocked; }
    // Waits for nothing: what is ready on this worker runs first.
    void again() { waits_ = process_state::ready; }
    // Ends; close follows.
    void finish() { finished_ = true; }

private:
    friend process_runs<Sync>;
    basic_step_output(core& c, typename core::worker_type& w, process_place<Sync>& p, pid self)
        : core_(c), worker_(w), place_(p), self_(self) {}

    core& core_;
    typename core::worker_type& worker_;
    process_place<Sync>& place_;
    const pid self_;
    process_state waits_ = process_state::idle;
    bool finished_ = false, misused_ = false, sent_to_itself_ = false;
};

using step_output = basic_step_output<>;

}  // namespace apiary
