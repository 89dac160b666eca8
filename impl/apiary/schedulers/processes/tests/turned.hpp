// turned: a scheduler whose workers have no threads: a test says when which of them has its turn, also within a step of
// another. So what comes between two moments of a run comes there each time.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include <apiary/schedulers/processes/process_core.hpp>

namespace apiary {

template <class Sync>
struct basic_turned {
    using core = process_core<Sync>;
    using worker = typename core::worker_type;

    explicit basic_turned(unsigned workers = 1, const basic_process_config<Sync>& c = {}) : all(workers, c) {}
    // Without a step: what the steps of a test use may be gone by then.
    ~basic_turned() {
        all.request_stop();
        all.force();
        turns();
        EXPECT_TRUE(all.over()) << "something lives, and no worker has it";
    }
    // What `f` does is done on the thread of that worker.
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
    // By that worker, whose newest free place is given out first.
    pid spawn(std::unique_ptr<basic_process<Sync>> body, unsigned w = 0) {
        return on(w, [&] { return all.spawn(std::move(body)).id; });
    }
    process_state state(pid of) { return all.look(of, 0).state; }

    core all;
};

}  // namespace apiary
