// task_runner: runs or drops jobs, which free themselves, and counts them. One for each worker.
//
// Threads.  run, drop: the worker's. The counts: any thread.
// Progress. The task's own, plus a constant.
// Tested by the hive's tests (hive_stop_test, hive_logic_test).
#pragma once

#include <exception>
#include <functional>

#include <apiary/contract/stats.hpp>
#include <apiary/tasks/job.hpp>

namespace apiary {

// Called on the worker, with the exception that left a task. An exception that leaves the handler ends the program.
using exception_handler = std::function<void(std::exception_ptr)>;

template <class Sync>
class task_runner {
public:
    // The handler must outlive the runner.
    explicit task_runner(const exception_handler& handler) : handler_(handler) {}

    // An exception ends the task, not the worker; it is counted, and passed to the handler if there is one. Inlined
    // into all its callers, although there are many: another call costs a tenth of the shortest task.
    [[gnu::always_inline]] void run(job<Sync>* t, any_worker* by) {
        job_end how = job_end::run;
        try {
            how = t->run(by);
        } catch (...) {
            exceptions_.add();
            if (handler_) handler_(std::current_exception());
        }
        count(how);
    }

    void drop(job<Sync>* t, any_worker* by) { count(t->drop(by)); }

    std::uint64_t tasks_run() const { return run_.get(); }
    std::uint64_t tasks_dropped() const { return dropped_.get(); }
    std::uint64_t tasks_cancelled() const { return cancelled_.get(); }
    std::uint64_t exceptions() const { return exceptions_.get(); }

private:
    void count(job_end how) {
        if (how == job_end::run) [[likely]]
            run_.add();
        else
            (how == job_end::drop ? dropped_ : cancelled_).add();
    }

    const exception_handler& handler_;
    tally<Sync> run_, dropped_, cancelled_, exceptions_;
};

}  // namespace apiary
