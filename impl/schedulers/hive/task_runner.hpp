// task_runner: runs or drops tasks and keeps the books. One for each worker.
//
// Threads. run, drop: the worker's. The counts: any thread.
#pragma once

#include <apiary/contract/stats.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace apiary {

template <class Sync, class Storage>
class task_runner {
public:
    // An exception ends the task, not the worker; it is counted.
    void run(task<Sync>* t) {
        try {
            t->run();
        } catch (...) {
            exceptions_.add();
        }
        Storage::release(t);
        run_.add();
    }

    void drop(task<Sync>* t) {
        discard<Storage>(t);
        dropped_.add();
    }

    std::uint64_t tasks_run() const { return run_.get(); }
    std::uint64_t tasks_dropped() const { return dropped_.get(); }
    std::uint64_t exceptions() const { return exceptions_.get(); }

private:
    tally<Sync> run_, dropped_, exceptions_;
};

}  // namespace apiary
