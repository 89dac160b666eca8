// helping: what a worker does inside a job that waits at a latch: it runs other work meanwhile, and
// sleeps when there is none.
//
// When to use it. Through worker::help_until, from a job that runs on that worker. When not: where
// the job can be cut in two; a worker that helps keeps the waiting job's stack below what it runs.
//
// What it runs: what its own tasks posted, the newest first; what its sources keep; then one of the
// pool; then a theft. One at a time: it looks at the latch behind each. Events and timers wait.
// What it runs may wait in turn, upon the same stack. How deep that may go is the front end's to
// say, by `may_help`: asked before each task, and once it says no the worker blocks until the latch
// opens, and is none of the sleepers that posts count on. What it holds is left to thieves, so a
// front end says no only where others can get at what it waits for.
//
// A stop does not end the wait, nor does a detach: the job goes on until the latch opens. A draining
// stop: it helps on. A discarding stop: it drops what it finds; so a job that is waited for counts
// down when it is dropped, too. What nobody runs or drops, such as what lies with a worker without a
// thread, is waited for for ever.
//
// Progress.  Blocks until the latch is open.
// Invariants
//   I1  The worker that sleeps here is a sleeper like any other: its last look is at every shared
//       source, and a post may claim it. The announcement at the latch comes before that look, so that
//       the last count wakes it (latch I2).
//   I2  It does not go on with the waiting job while posts count on its search: it ends the search
//       first, and wakes another worker if work is left (idle_set I3).
//
// Checked by model_check/workers/help_check.cpp. Tested by help_test.cpp.
#pragma once

#include <apiary/workers/latch.hpp>

namespace apiary {

template <class Worker>
class helping {
public:
    template <class MayHelp>
    static void until(Worker& w, latch<Worker>& l, MayHelp& may_help) {
        static_assert(Worker::sources_type::takes_inside_run_some, "these sources walk what a helper would take");
        while (!l.is_open()) {
            if (!may_help())
                block(w, l);
            else if (run_one(w))
                w.idle_.worked();
            else if (w.owner_.discarding())  // what others hold is theirs to drop
                block(w, l);
            else if (w.idle_.look_again(w.runner_.tasks_run(), w.others_sleep(), w.displaced_waker()))
                w.yield();
            else if (l.announce())
                w.sleep_unless([&w] { return w.sources().visible() || w.shared_work_visible(); });
        }
        pass_the_search_on(w);
    }

private:
    static bool run_one(Worker& w) {
        auto* t = w.next_own();
        if (t == nullptr) t = w.sources().take();
        auto& pool = w.crew_.pool();
        bool left_more = false;
        if (t == nullptr && (t = pool.take_one()) != nullptr) left_more = !pool.looks_empty();
        if (w.owner_.discarding()) {
            if (t != nullptr) w.drop(t);
            return t != nullptr;
        }
        if (t == nullptr) return w.steal();
        w.run_task(t, left_more);
        return true;
    }

    static void block(Worker& w, latch<Worker>& l) {
        pass_the_search_on(w);
        while (l.announce()) {
            Worker::sync::reach("helping.blocked");
            w.driver_.wait(Worker::driver_type::forever);
        }
    }

    static void pass_the_search_on(Worker& w) {
        if (!w.sleeper_.owes_a_look()) return;
        Worker::sync::reach("helping.passed_the_search_on");
        w.wake_the_next(false);
    }
};

}  // namespace apiary
