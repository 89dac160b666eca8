// one_worker: a descriptor service (descriptor_service.hpp) on one IO worker of a hive, which watches the descriptors.
// It connects coroutines to a hive without including the hive's header.
//
//     one_worker here(my_hive, 0);
//     byte_stream s(here, accepted);
//
// When to use it. For the sockets of coroutines on a hive: one service for each IO worker, with the sockets divided
// among them. When not: without a hive (timer_thread).
//
// Threads.   there, at, cancel, now_ns: any. watch, unwatch: tasks of the worker.
// Lifetime.  The scheduler outlives it. It outlives the streams, and the run of the hive: messages may be under way.
// Bad input. A worker that is not in service, or a stopped hive, refuses: the job is dropped at once. A worker that is
//            detached ends the waits of its descriptors as cancelled.
//
// Tested by schedulers/hive/tests/hive_streams_test.cpp.
#pragma once

#include <apiary/coroutines/delayed_posts.hpp>
#include <apiary/events/event_source.hpp>

namespace apiary {

template <class Scheduler, class Sync = real_sync>
class one_worker : public delayed_posts<Scheduler, Sync> {
    using base = delayed_posts<Scheduler, Sync>;

    // A worker that is detached hands over what was posted to it; another worker must not watch in its place.
    class there_alone {
    public:
        there_alone(job<Sync>& what, const one_worker& where) : due_(what), where_(where) {}
        void operator()() {
            if (where_.scheduler_.this_worker() == where_.worker_) due_();
        }

    private:
        typename base::due due_;  // its destructor drops the job unless it ran
        const one_worker& where_;
    };

public:
    one_worker(Scheduler& s, unsigned worker) : base(s), worker_(worker) {}

    void there(typename base::timed&, job<Sync>& what) {
        (void)this->scheduler_.post_to_worker(worker_, there_alone(what, *this));  // refused: its end drops the job
    }
    [[nodiscard]] watch_result watch(event_source& s, interest what) { return this->scheduler_.watch(s, what); }
    bool unwatch(event_source& s) { return this->scheduler_.unwatch(s); }

private:
    const unsigned worker_;
};

}  // namespace apiary
