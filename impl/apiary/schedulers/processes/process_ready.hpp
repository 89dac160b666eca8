// process_ready: the ready work of a worker of processes: a slot and a steal-half queue, and after them the processes
// that let others run first.
//
// When to use it. In process_kind. When not: elsewhere; ready_work is all that other kinds need.
//
// A process that lets others run first waits here until as many others have run as are in the queue when it comes, 256
// at most. Processes that come while it waits wait with it. Then process_sources hands them to the crew's pool. A step
// may be long, or never return, so a thief that finds the queue empty takes the waiting ones: they are delayed, not
// hidden.
//
// Threads.   put_behind, next_in_front, take_behind: the worker's own. steal_from: on a victim.
//            deque_looks_empty: any.
// Progress.  Lock-free.
// Invariant. After take_behind, in_front_ is 0 only if no process waits here. A thief that takes several puts the rest
//            behind its own queue while its in_front_ is 0; its next turn hands them on.
// Synchronisation: mpsc_inbox S1, S2: a push, then a look at the idle word; an announced sleep, then deque_looks_empty.
//            drain is one exchange, so the owner and thieves may call it at the same time: each gets what the others
//            have left.
// Checked by model_check/schedulers/processes.
#pragma once

#include <algorithm>
#include <cstddef>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/queues/steal_half_queue.hpp>
#include <apiary/queues/steal_result.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/workers/ready_work.hpp>

namespace apiary {

template <class Sync, class Limits>
class process_ready : public ready_work<Sync, steal_half_queue<job<Sync>*, Sync, Limits>, job<Sync>> {
    using base = ready_work<Sync, steal_half_queue<job<Sync>*, Sync, Limits>, job<Sync>>;

public:
    using task_type = job<Sync>;

    // False: the queue is empty, and p still belongs to the caller. True: the caller must look for a sleeper.
    [[nodiscard]] bool put_behind(task_type* p) {
        if (in_front_ == 0) in_front_ = base::in_deque();
        if (in_front_ == 0) return false;
        (void)behind_.push(p);  // never closed
        return true;
    }
    bool others_are_in_front() const { return in_front_ != 0; }
    // The oldest of the processes in front. Null: there are none any more, or thieves have them.
    [[nodiscard]] task_type* next_in_front() {
        if (in_front_ == 0) return nullptr;
        const auto oldest = base::steal_oldest();
        task_type* next = oldest.status == steal_status::taken ? oldest.value : nullptr;
        if (next == nullptr && !base::pop(next)) next = nullptr;  // after a failed pop `next` is a thief's
        Sync::reach(next != nullptr ? "process_ready.others_first" : "process_ready.thieves_have_the_others");
        in_front_ = next != nullptr ? std::min(in_front_ - 1, base::in_deque()) : 0;
        return next;
    }
    // The waiting processes, if none is in front of them any more; else an empty list.
    [[nodiscard]] fifo_list<task_type> take_behind() {
        return in_front_ == 0 ? behind_.drain() : fifo_list<task_type>();
    }

    [[nodiscard]] steal_half_result<task_type*> steal_from(process_ready& victim, bool any) {
        const auto found = base::steal_from(victim, any);
        if (found.status != steal_status::empty) return found;
        fifo_list<task_type> kept_back = victim.behind_.drain();
        task_type* const first = kept_back.pop_front();
        if (first == nullptr) return found;
        Sync::reach("process_ready.took_from_behind");
        const bool more = !kept_back.empty();
        if (more) (void)behind_.push_list(kept_back);
        return {steal_status::taken, first, more ? 1U : 0U};
    }
    bool deque_looks_empty() { return base::deque_looks_empty() && behind_.looks_empty(); }

private:
    mpsc_inbox<task_type, Sync> behind_;  // ready processes that let others run first
    std::size_t in_front_ = 0;            // how many of this worker's processes still run before them
};

}  // namespace apiary
