// compute_worker: one compute worker of a hive. It takes long tasks from a pool of their own, one at a
// time, so that none waits behind another while a worker sleeps.
//
// Threads. run: the thread that runs this worker. core().wake and the counts: any.
// Source:  seed 002 section 8, with a sleep that cannot lose a wake (exhibit A02).
#pragma once

#include <cstdint>

#include <apiary/parking/parker_core.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/schedulers/hive/task_runner.hpp>

namespace apiary {

template <class Hive, class Sync, class Storage>
class compute_worker {
public:
    using task_type = task<Sync>;

    compute_worker(Hive& h, unsigned id) : hive_(h), sleeper_(id, h.idle_compute(), core_) {}

    // Until the hive is stopped and, when it drains, the compute pool is empty.
    void run() {
        for (;;) {
            // The flag before the pool: it rises after the pool was closed, so an empty pool seen
            // afterwards stays empty.
            const bool last_look = hive_.stopping();
            if (task_type* t = hive_.compute_pool().take_one())
                end(t);
            else if (last_look)
                break;
            else
                sleep();
        }
        (void)sleeper_.found_work();  // leave the idle set as a running worker
    }

    parker_core<Sync>& core() { return core_; }
    const task_runner<Sync, Storage>& books() const { return runner_; }

private:
    void end(task_type* t) {
        // What is left must not wait for this one: wake the next worker, or pass the search on.
        (void)sleeper_.found_work();
        if (!hive_.compute_pool().looks_empty()) hive_.wake_one_compute();
        if (hive_.discarding())
            runner_.drop(t);
        else
            runner_.run(t);
    }

    void sleep() {
        sleeper_.sleep(parker_core<Sync>::forever,
                       [this] { return !hive_.compute_pool().looks_empty() || hive_.stopping(); });
    }

    Hive& hive_;
    parker_core<Sync> core_;
    sleeper<Sync, parker_core<Sync>> sleeper_;
    task_runner<Sync, Storage> runner_;
};

}  // namespace apiary
