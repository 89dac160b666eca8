// turned: a scheduler whose workers have no threads. A test decides when each worker has its turn, also within a step
// of another. So events come at the same moment of a run each time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include <apiary/schedulers/processes/process_core.hpp>

#include "acting.hpp"

namespace apiary {

template <class Sync>
struct basic_turned {
    using core = process_core<Sync>;
    using worker = typename core::worker_type;

    explicit basic_turned(unsigned workers = 1, const basic_process_config<Sync>& c = {}) : all(workers, c) {}
    // Ends all processes without a step, because objects that their steps use may be gone.
    ~basic_turned() {
        all.request_stop();
        all.force();
        turns();
        EXPECT_TRUE(all.over()) << "something lives, and no worker has it";
    }
    // Runs `f` as that worker's thread.
    template <class F>
    auto on(unsigned w, F f) {
        struct scope {
            worker* const outer = Sync::template current<worker>();
            ~scope() { Sync::set_current(outer); }
        } const back;
        Sync::set_current(all.crew().table()[w]);
        return f();
    }
    // False: there was nothing to do.
    bool turn(unsigned w = 0) {
        return on(w, [&] { return all.crew().table()[w]->turn_once(); });
    }
    void turns(unsigned w = 0) {
        while (turn(w)) {
        }
    }
    // Spawns on that worker, which uses its newest free place first.
    pid spawn(std::unique_ptr<basic_process<Sync>> body, unsigned w = 0) {
        return on(w, [&] { return all.spawn(std::move(body)).id; });
    }
    process_state state(pid of) { return all.look(of, 0).state; }

    core all;
};

// Shared by the tests that run processes turn by turn.
namespace by_turns {

using turned = basic_turned<real_sync>;

inline void ignore(event_batch& batch) {
    while (batch.next() != nullptr) {
    }
}
inline constexpr mailbox_limit narrow{.most = 1, .then = when_full::suspend_sender};
inline constexpr std::uint32_t nothing = 1;  // a command that nobody completes
inline basic_process_config<> with_nothing() {
    return {.handlers = {{nothing, [](auto&, process_command&&) {}}}};
}

// The first step calls for nothing and blocks, so that its mailbox keeps what is sent, until the call is completed:
// tag 1.
inline std::unique_ptr<process> full_until_completed(mailbox_limit l = narrow) {
    return std::make_unique<bounded>(l, [begun = false](event_batch& batch, step_output& out) mutable {
        ignore(batch);
        if (std::exchange(begun, true)) return;
        out.call(nothing, 1);
        out.block();
    });
}

}  // namespace by_turns

}  // namespace apiary
