// offload: a command that is carried out elsewhere: on the compute workers of a hive, or wherever a function posts to.
//
//     apiary::hive compute({.compute_workers = 4});
//     apiary::processes all({.handlers = {{crunch, apiary::offload_to([&](auto job) { return compute.post_compute(job); })}}});
//     …  out.call(crunch, tag, apiary::offloaded([n] { return apiary::payload(factor(n)); }));      // in a step
//
// When to use it. For what would keep a worker of processes for long. When not: for what is short; a post and its answer cost more.
//
// The scheduler of processes knows no other: it is given the function that posts. That function answers false when it refuses;
// nothing is lost then, and the call ends with yield_error::failed. So does one that was accepted and is destroyed unrun, as by a
// hive that stops with `discard`. What the offloaded function throws ends it as handler_threw.
//
// Lifetime. The other scheduler goes last, as above: the end of processes waits until what was posted has run there, or has been
// destroyed unrun. Until then a stop says that it is not over. What was run touches processes no more, also where a copy of it is kept.
// Threads.  The function that posts: any worker of processes. The offloaded function: the other scheduler's.
// Tested by routine_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <apiary/schedulers/processes/process_core.hpp>

namespace apiary {

class offloaded {
public:
    explicit offloaded(std::function<payload()> f) : what_(std::make_shared<std::function<payload()>>(std::move(f))) {}
    payload operator()() const { return (*what_)(); }

private:
    std::shared_ptr<std::function<payload()>> what_;  // small, and can be moved without a throw
};

// Ends the call once: by what was run, or, when nobody runs it, as failed.
template <class Sync>
class offloaded_call {
public:
    offloaded_call(process_core<Sync>& core, pid from, std::uint64_t tag, offloaded what)
        : core_(core), from_(from), what_(std::move(what)), told_(core.make_completion(tag)) {
        core_.hold();
    }
    offloaded_call(const offloaded_call&) = delete;
    offloaded_call& operator=(const offloaded_call&) = delete;
    ~offloaded_call() {
        if (ran_) return;
        told_->what.error = yield_error::failed;
        tell();
    }
    void run() {
        if (std::exchange(ran_, true)) return;
        try {
            told_->what.data = what_();
        } catch (...) {
            told_->what.error = yield_error::handler_threw;
        }
        tell();
    }

private:
    void tell() noexcept {
        (void)core_.complete(from_, told_);
        core_.let_go();
    }

    process_core<Sync>& core_;
    const pid from_;
    const offloaded what_;
    event_node<Sync>* const told_;  // made at the call: the other scheduler could not tell that it had no memory
    bool ran_ = false;
};

template <class Post, class Sync = real_sync>
auto offload_to(Post post) {
    return [post = std::move(post)](process_core<Sync>& core, basic_command<Sync>&& c) {
        offloaded* const given = c.arguments.template get<offloaded>();
        if (given == nullptr) return (void)core.complete_yield(c.from, c.tag, payload(), yield_error::unknown_command);
        // Shared, since a function that posts may want to copy it. Refused, it goes here.
        auto call = std::make_shared<offloaded_call<Sync>>(core, c.from, c.tag, std::move(*given));
        (void)post([call = std::move(call)] { call->run(); });
    };
}

}  // namespace apiary
