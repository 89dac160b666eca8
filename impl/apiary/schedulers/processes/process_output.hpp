// process_output: what a step does to the outside: it sends, starts and calls, and says what its process waits for
// next.
//
// When to use it. In step(), as its second argument. When not: outside of a step; use the scheduler's own functions.
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

    // Sends at once, and returns whether the message was accepted. If it is refused, a payload that was passed still
    // has its value. A message to the process itself comes in a later step, and others run first, as after again(): use
    // this to cut a long loop into steps.
    template <class T>
    send_answer send(pid to, T&& data) {
        const send_answer said = core_.send_by(&worker_, &place_, self_, to, std::forward<T>(data));
        if (to == self_ && said == send_answer::accepted) sent_to_itself_ = true;
        return said;
    }
    // Sends a message that the receiver answers by answer(). The answer, or the notice that there will be none, comes
    // as the end of a call with that tag (see call). If the request is refused, nothing comes.
    template <class T>
    send_answer request(pid to, std::uint32_t tag, T&& data) {
        if (!place_.called_for(tag)) {
            misused_ = true;
            return send_answer::no_such_process;
        }
        return core_.request_by(worker_, place_, to, tag, std::forward<T>(data));
    }
    // Answers a request; pass its reply(). The first answer counts.
    template <class T = payload>
    send_answer answer(reply_to what, T&& data = {}) {
        // The debt is cleared after the answer, so if the answer throws, the request is still owed.
        const send_answer a = core_.complete_by(&worker_, what.to, what.tag, std::forward<T>(data), yield_error::none);
        (void)place_.pay(what);
        return a;
    }
    // An event of type `ended` will tell once how that process ends. If this is refused, the process has ended already,
    // and no event comes.
    send_answer watch(pid which) { return core_.tell(&worker_, self_, which, event_type::watch); }
    // Takes back all watches of that process. An `ended` that is already on its way may still come.
    send_answer unwatch(pid which) { return core_.tell(&worker_, self_, which, event_type::unwatch); }
    // If either process ends otherwise than by finish, the other one ends with it. If this is refused, that process has
    // ended already, and this makes no link.
    send_answer link(pid which) {
        if (which == self_) return send_answer::accepted;
        auto& links = place_.more().links;
        const auto* const had = links.find(which);
        const std::uint32_t before = had != nullptr ? had->mine : 0;
        const auto take_back = [&] {
            if (had != nullptr)
                had->mine = before;
            else
                (void)links.erase(which);
        };
        // Also if there is a link: the other's unlink may be on its way, and takes back no link that it does not know.
        const std::uint32_t name = links.make(which);
        send_answer a = send_answer::no_such_process;
        try {
            a = core_.tell(&worker_, self_, which, event_type::link, name);
        } catch (...) {
            take_back();
            throw;
        }
        if (a != send_answer::accepted) take_back();
        return a;
    }
    // From now on the end of that process does not end this one.
    send_answer unlink(pid which) {
        const auto* const link = place_.has_more() ? place_.more().links.find(which) : nullptr;
        if (link == nullptr) return send_answer::no_such_process;
        const send_answer a = core_.tell(&worker_, self_, which, event_type::unlink, link->theirs);
        (void)place_.more().links.erase(which);
        return a;
    }
    // Starts a child. Its init runs on this thread; its first step follows soon, perhaps on another worker.
    spawn_answer spawn(std::unique_ptr<basic_process<Sync>> child, std::string_view method = {}, payload input = {}) {
        return core_.spawn_by(&worker_, std::move(child), method, std::move(input), self_);
    }
    // As spawn; besides, this process watches the child from before its first step, so even an early end is told. If
    // the spawn is refused, no event comes.
    spawn_answer spawn_watched(std::unique_ptr<basic_process<Sync>> child, std::string_view method = {},
                               payload input = {}) {
        return core_.spawn_by(&worker_, std::move(child), method, std::move(input), self_, true);
    }

    // Gives a command to the handler of that id, after the step. An event with this tag tells its end. If another call
    // of this process with the same tag is still open, the process ends, with process_end::misused. Only the tag tells
    // calls apart: if a completion or an answer may come twice, do not use a tag again.
    void call(std::uint32_t id, std::uint64_t tag, payload arguments = {}) {
        worker_.sources().commands().push_back({self_, tag, id, std::move(arguments)});
    }
    // An event with that tag comes when `ns` nanoseconds are over, never sooner. A negative time counts as 0.
    void sleep(std::int64_t ns, std::uint64_t tag) {
        const std::int64_t now = core_.now_ns();
        const std::int64_t deadline = ns < INT64_MAX - 1 - now ? now + std::max<std::int64_t>(ns, 0) : INT64_MAX - 1;
        call(core::sleep_command, tag, payload(deadline));
    }

    // The process then waits for any event.
    void wait() { waits_ = process_state::idle; }
    // The process then waits for the end of something that it has called for, or for a cancel; messages are kept until
    // then. A process that blocks and has no open call ends, with process_end::misused.
    void block() { waits_ = process_state::blocked; }
    // The process waits for nothing: it runs again after the processes that are ready on this worker.
    void again() { waits_ = process_state::ready; }
    // The process ends; close follows.
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
