// job: anything that a worker runs: an end function, and the link by which queues hold it.
//
// When to use it. As the base of whatever a scheduler runs: a task (task.hpp), a coroutine's promise, a process, a
// place in a graph, an object on the stack of the function that waits for it. Queues, pools and workers know no more of
// it. When not: for a callable that may lie anywhere; use a task.
//
//     struct child : apiary::job<> {
//         child() : job(&end_it) {}
//         static bool end_it(job& self, job_end how, apiary::any_worker* by) {
//             auto& mine = static_cast<child&>(self);
//             …
//             return true;
//         }
//     };
//
// Threads.   A job belongs to one thread at a time; queues hand it over.
// Endings.   Call run() or drop(), once. The end function is told which of the two, and which worker ends the job. It
//            answers false if it did neither because the job had been cancelled before. If it throws when told to run,
//            it has released nothing: it is called once more with drop, and then the exception goes on. It must return
//            or throw: pthread_exit inside it is not supported.
// Lifetime.  Each kind of job releases itself in its end function, or leaves that to the object that it lies in. The
//            thread that has called run() or drop() does not touch the job again.
// Tested by task_test.cpp and by crew_test.cpp, whose jobs are no tasks.
#pragma once

#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

enum class job_end : std::uint8_t { run, drop, cancelled };  // cancelled: an answer only

// The worker that ends a job. A front end that knows its type casts it down.
class any_worker {
protected:
    any_worker() = default;
    ~any_worker() = default;
};

template <class Sync = real_sync>
class job {
public:
    // `by` is null if no worker ends the job: a poster drops a post that was refused, and a crew drops jobs when it is
    // destroyed.
    using end_function = bool (*)(job&, job_end how, any_worker* by);

    explicit job(end_function f) : end_(f) {}
    job(const job&) = delete;
    job& operator=(const job&) = delete;

    // If the end function throws, drops the job and lets the exception out.
    [[gnu::always_inline]] job_end run(any_worker* by = nullptr) {
        try {
            return end(job_end::run, by);
        } catch (...) {
            (void)end(job_end::drop, by);
            throw;
        }
    }
    job_end drop(any_worker* by = nullptr) { return end(job_end::drop, by); }

    // The link, for queues.
    typename Sync::template cell<job*> next;

protected:
    ~job() = default;  // use the destructor of the kind of job
    end_function ends_by() const { return end_; }

private:
    job_end end(job_end how, any_worker* by) {
        if (end_(*this, how, by)) [[likely]]
            return how;
        return job_end::cancelled;
    }

    end_function end_;
};

}  // namespace apiary
