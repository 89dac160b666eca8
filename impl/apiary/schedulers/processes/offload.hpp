// offload: a command that another scheduler carries out: the compute workers of a hive, or whatever a function posts
// to.
//
//     apiary::hive compute({.compute_workers = 4});
//     std::thread runs([&] { compute.run(); });          // a hive runs nothing before that
//     {
//         const auto post = [&](auto job) { return compute.post_compute(job); };
//         apiary::processes all({.handlers = {{crunch, apiary::offload_to(post)}}});
//         (void)all.spawn(apiary::as_process([&](apiary::routine_self& me) -> apiary::routine {
//             const auto work = [] { return apiary::payload(factor(91)); };
//             apiary::event e = co_await me.command(crunch, apiary::offloaded(work));
//             if (const int* f = e.data.get<int>()) use(*f);
//         }));
//         all.join();                                    // processes end first
//     }
//     compute.request_stop();
//     runs.join();
//
// A step calls out.call(crunch, tag, apiary::offloaded(…)); the answer is an event of that tag.
//
// When to use it. For work that would keep a worker of processes for long. When not: for short work; a post and its
// answer cost more.
//
// The scheduler of processes knows no other scheduler: it is given the function that posts. That function answers
// false if it refuses; nothing is lost then, and the call ends with yield_error::failed. So does a call that was
// accepted and is destroyed unrun, for example by a hive that stops with `discard`. If the offloaded function throws,
// the call ends with handler_threw.
//
// Lifetime. The other scheduler goes last, as above: the end of processes waits until each posted call has run there,
// or has been destroyed unrun. Until then a stop says that it is not over, and its report names these calls
// (process_stop_report::offloaded). If the other scheduler accepts a post and never runs it, the end waits for ever.
// A call that has run touches processes no more, even if a copy of it is kept: what its function holds is destroyed
// before the call ends.
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
    std::shared_ptr<std::function<payload()>> what_;  // small, and its move does not throw
};

// Ends the call once: with the result of the function, or as failed if the function is never run.
template <class Sync>
class offloaded_call : private held_call<Sync> {
public:
    offloaded_call(process_core<Sync>& core, pid asks, std::uint64_t its_tag, offloaded what)
        : held_call<Sync>(asks, its_tag), core_(core), what_(std::move(what)), told_(core.make_completion(its_tag)) {
        core_.hold(*this);
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
        // What the function holds may use the scheduler as it goes, and the scheduler waits for no longer than this.
        {
            const offloaded gone = std::move(what_);
        }
        (void)core_.complete(this->from, told_);
        core_.let_go(*this);
    }

    process_core<Sync>& core_;
    offloaded what_;
    event_node<Sync>* const told_;  // made at the call: later a lack of memory could be told to nobody
    bool ran_ = false;
};

template <class Post, class Sync = real_sync>
auto offload_to(Post post) {
    return [post = std::move(post)](process_core<Sync>& core, basic_command<Sync>&& c) {
        offloaded* const given = c.arguments.template get<offloaded>();
        if (given == nullptr) return (void)core.complete_yield(c.from, c.tag, payload(), yield_error::unknown_command);
        // Shared, because the posting function may copy it. If that refuses, the call ends here.
        auto call = std::make_shared<offloaded_call<Sync>>(core, c.from, c.tag, std::move(*given));
        (void)post([call = std::move(call)] { call->run(); });
    };
}

}  // namespace apiary
