// helping: what a worker does inside a job that waits at a latch: it runs other work meanwhile, and sleeps if there is
// none.
//
// When to use it. Through worker::help_until, from a job that runs on that worker. When not: if the job can be cut in
// two; a worker that helps keeps the waiting job's stack below the jobs that it runs.
//
// It runs, in this order: jobs that its own tasks posted, the newest first; jobs that its sources keep; one of the
// pool; a theft. It runs one at a time and looks at the latch after each. Events and timers wait. A job that it runs
// may wait in turn, on the same stack. The front end limits that depth by `may_help`, which is asked before each task.
// Once it answers no, the worker blocks until the latch opens; it is no sleeper then, and no post wakes it. Its jobs
// are left to thieves, so a front end may answer no only if others can get at the jobs that it waits for.
//
// Neither a stop nor a detach ends the wait: the job goes on when the latch opens. After a draining stop the worker
// helps on. After a discarding stop it drops the jobs that it finds, so a job must count down also when it is dropped.
// A job that no worker runs or drops, such as one held by a worker without a thread, makes the wait endless.
//
// Progress.  Blocks until the latch is open.
// Invariants
//   I1  The worker that sleeps here is a sleeper like any other: its last look is at every shared source, unless
//       another one searches, and a post may claim it. The announcement at the latch comes before that look, so that
//       the last count wakes it (latch I2).
//   I2  It does not return to the waiting job while posts rely on its search: it ends the search first, and wakes
//       another worker if work is left (idle_set I3).
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
            else if (w.owner_.discarding())  // after a discarding stop other workers drop their own
                block(w, l);
            else if (!w.spin_.spins() &&
                     w.idle_.look_again(w.runner_.tasks_run(), w.others_sleep(), w.displaced_waker()))
                w.yield();
            else if (w.crew_.parameters().idle_cpu != 0 && w.looks_on())
                continue;
            else if (l.announce())
                w.sleep_unless([&w] { return w.sources().visible(); });
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
