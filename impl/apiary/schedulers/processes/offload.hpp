// offload: a command that is carried out elsewhere: on the compute workers of a hive, or wherever a function posts to.
//
//     apiary::hive compute({.compute_workers = 4});
//     apiary::processes all({.handlers = {{crunch, apiary::offload_to([&](auto job) { return compute.post_compute(job); })}}});
//     …  out.call(crunch, tag, apiary::offloaded([n] { return apiary::payload(factor(n)); }));      // in a step
//
// When to use it. For what would keep a worker of processes for long. When not: for what is short; a post and its answer cost more.
//
// The scheduler of processes knows no other: it is given the function that posts. That function answers false when it refuses;
// nothing is lost then, and the call ends with yield_error::failed. What the offloaded function throws ends it as handler_threw.
//
// Lifetime. The other scheduler ends, or has run what was posted, before the processes' scheduler goes: it completes calls there.
// Threads.  The function that posts: any worker of processes. The offloaded function: the other scheduler's.
// Tested by routine_test.cpp.
#pragma once

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

template <class Post, class Sync = real_sync>
auto offload_to(Post post) {
    return [post = std::move(post)](process_core<Sync>& core, basic_command<Sync>&& c) {
        offloaded* const given = c.arguments.template get<offloaded>();
        const auto fails = [&core, from = c.from, tag = c.tag](yield_error how) {
            (void)core.complete_yield(from, tag, payload(), how);
        };
        if (given == nullptr) return fails(yield_error::unknown_command);
        const bool posted = post([&core, fails, from = c.from, tag = c.tag, what = *given] {
            try {
                (void)core.complete_yield(from, tag, what());
            } catch (...) {
                fails(yield_error::handler_threw);
            }
        });
        if (!posted) fails(yield_error::failed);
    };
}

}  // namespace apiary
