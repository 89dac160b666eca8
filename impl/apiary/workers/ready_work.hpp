// ready_work: the tasks of one worker that others may take: those that its own tasks have posted, and the rest of a
// batch from the pool. A slot for the newest, and a deque or a steal-half queue.
//
// When to use it. For workers whose tasks post others. When not: no_ready_work. `Queue` is chase_lev_deque if one task
// a theft is enough, and steal_half_queue if a theft should pay for many; local_queue.hpp lists the differences. Below,
// and in worker.hpp, "the deque" is either.
//
// The slot makes a chain of successors cheap: the newest task replaces the one before it, which goes to the deque. A
// thief takes from the slot only if the deque is empty, and leaves a chain that is running to its worker.
//
// Threads.  The owner's calls: the worker's thread. looks_empty, and the part of steal_from that touches its victim:
//           the other workers of the crew, too.
// Order.    The owner runs the newest first; thieves take the oldest. A thief of half runs the oldest and then, like
//           its own, the newest of the tasks that it took.
// Fairness. A worker runs its oldest task after a number of its own tasks (fairness.hpp), so the k-th oldest waits at
//           most k times as long. A theft of half does not change that: the thief had no task of its own, so fewer
//           older tasks are in front of those that it took than before. A full steal-half queue sends its older half to
//           the pool, after the tasks that wait there; a full deque sends the task that does not fit, and keeps the
//           older ones.
//
// Why a worker that looks before it sleeps misses nothing (idle_set S2)
//   After every push the worker that pushed issues a light fence and looks at the idle word: in worker::post_local by
//   wake_one; after a batch or the loot of a theft in run_task (left_more). A worker that falls asleep announces it,
//   issues a heavy fence, and then looks here, or leaves that to one that searches (idle_set I6). Either the look sees
//   the push, or the pusher sees the announcement. From a deque the look may miss only a task that a thief or the owner
//   has taken and runs next. From a steal-half queue it may miss more: tasks that a thief has claimed and not yet
//   published, and tasks that the owner of a full ring is about to post. Thief and owner publish first and look at the
//   word afterwards, so they see the announcement and wake the sleeper: the thief is a pusher like any other, into its
//   own queue. The heavy fence is left out only if each of the others sleeps or is at rest (push_mark). Then there is
//   no such thief or owner: each of them has looked at the word after its last push, and before its next push, or
//   theft of half, it changes the word or its mark. A worker at its drain (worker::finish) is an exception, since no
//   poster wakes it. If it looks while a thief holds a task, it ends, and the thief drains that task alone.
//
// Checked by model_check/queues/{chase_lev_deque,steal_half_queue,lifo_slot}_check.cpp and, with the workers around it,
// model_check/schedulers/hive, on both queues.
#pragma once

#include <cstddef>
#include <span>

#include <apiary/queues/lifo_slot.hpp>
#include <apiary/queues/steal_result.hpp>
#include <apiary/tasks/task.hpp>
#include <apiary/workers/local_queue.hpp>

namespace apiary {

template <class Sync, class Queue, class Task = task<Sync>>
class ready_work {
    using local = local_queue<Task, Queue>;

public:
    using task_type = Task;
    static constexpr bool shared =
        true;  // others may take from it, and its pushes are no seq_cst accesses (idle_set S2)
    static constexpr bool thefts_push = local::thefts_push;
    // A batch of this size can be made stealable, except its first task, which runs.
    static constexpr std::size_t max_room = local::room_when_empty + 1;

    // The following calls are the owner's.
    [[nodiscard]] bool slot_is_vacant() const { return next_.vacant(); }
    std::size_t in_deque() const { return deque_.size(); }
    bool waits() const { return !next_.looks_empty() || deque_.size() != 0; }
    // Precondition: the slot is vacant.
    void put(task_type* t) { next_.put(t); }
    // Tasks without room go to post(list). False: post has refused, and t is the caller's.
    template <class Post>
    [[nodiscard]] bool push(task_type* t, Post post) {
        return deque_.push(t, post);
    }
    // All or none; afterwards the first is the newest.
    [[nodiscard]] bool push_all(std::span<task_type* const> tasks) { return deque_.push_all(tasks); }
    // Takes the task in the slot; null if it is empty.
    [[nodiscard]] task_type* take_slot() { return next_.take(); }
    // False: the deque is empty.
    [[nodiscard]] bool pop(task_type*& t) { return deque_.pop(t); }
    // Takes the deque's oldest task, as a thief would.
    [[nodiscard]] steal_result<task_type*> steal_oldest() { return deque_.steal_oldest(); }
    // Called by the thief, for its own queue. `any`: also takes a task from a slot whose owner may be about to take it.
    // `moved`: that many more are here now; the caller must look for a sleeper before it runs the first.
    [[nodiscard]] steal_half_result<task_type*> steal_from(ready_work& victim, bool any) {
        auto [status, stolen, moved] = deque_.steal_from(victim.deque_);
        if (status == steal_status::empty && !victim.next_.looks_empty()) {
            stolen = !any && victim.fleeting() ? nullptr : victim.next_.steal();
            status = stolen != nullptr ? steal_status::taken : steal_status::lost_race;
        }
        return {status, stolen, moved};
    }

    // The following calls are for any worker of the crew.
    bool deque_looks_empty() { return deque_.looks_empty(); }
    bool slot_looks_empty() const { return next_.looks_empty(); }

private:
    // True if the task in the slot is replaced or gone a moment later: the slot then holds a chain of successors, which
    // a theft would move to another processor. A task that waits there for a long one is still the same.
    bool fleeting() const {
        const auto met = next_.met();
        Sync::yield();
        if (next_.met() == met) return false;
        Sync::reach("ready_work.left_a_chain");
        return true;
    }

    lifo_slot<task_type, Sync> next_;
    local deque_;
};

}  // namespace apiary
