// ready_work: the tasks of one worker that others may take: those that its own tasks have posted,
// and the rest of a batch from the pool. A slot for the newest, and a deque or a steal-half queue.
//
// When to use it. For workers whose tasks post others. When not: no_ready_work. `Queue` is
// chase_lev_deque where one task a theft is enough, and steal_half_queue where a theft should pay
// for many; local_queue.hpp has what differs. Below, and in worker.hpp, "the deque" is either.
//
// The slot makes a chain of successors cheap: the newest task replaces the one before it, which
// goes to the deque. A thief takes from the slot only when the deque is empty, and not from a chain
// that is running.
//
// Threads. The owner's calls: the worker's thread. looks_empty and what steal_from does to its
// victim: the other workers of the crew, too.
// Order.   The owner runs the newest first; thieves take the oldest. A thief of half runs the oldest
//          and then, as it runs its own, the newest of what it took.
// Fairness. A worker runs its oldest after so many of its own tasks (fairness.hpp), so the k-th oldest
//          waits k times as long at most. A theft of half takes nothing from that: the thief had no
//          task of its own, so what it took has fewer older ones in front of it than before. A full
//          steal-half queue sends its older half to the pool, behind what waits there; a full deque
//          sends the task that does not fit, and keeps the older ones.
//
// Why a worker that looks before it sleeps misses nothing (idle_set S2)
//   Every push is followed by a light fence and a look at the idle word, by the worker that pushed:
//   worker::post_local by wake_one, a batch and the loot of a theft by run_task
//   (left_more). A worker that falls asleep announces it, issues a heavy fence, and then looks here.
//   Either the look sees the push, or the pusher sees the announcement.
//   What the look may miss of a deque is what a thief or the owner has taken, and runs next. Of a
//   steal-half queue it may also miss what a thief has claimed and not yet published, and what an
//   owner that met a full ring is about to post. Both publish first and look at the word
//   afterwards, so they see the announcement and wake the sleeper: the thief is a pusher like any
//   other, into its own queue. The heavy fence is spared only when all others sleep, and neither of
//   the two does: each has announced its sleep behind its last look, or will change the word before
//   it steals.
//   A worker at its drain (worker::finish) is the exception: nobody wakes it again. When it looks
//   while a task is in a thief's hands it ends, and the thief drains that task alone.
//
// Checked by model_check/queues/{chase_lev_deque,steal_half_queue,lifo_slot}_check.cpp and, with the
// workers around it, model_check/schedulers/hive, on both queues. Source: seed 002 sections 4.3 and
// 4.4; seed 001, "StealHalfInto".
#pragma once

#include <cstddef>
#include <span>
#include <thread>

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
    // A batch of so many can be made stealable, all but its first, which runs.
    static constexpr std::size_t max_room = local::room_when_empty + 1;

    // The owner's.
    [[nodiscard]] bool slot_is_vacant() const { return next_.vacant(); }
    std::size_t in_deque() const { return deque_.size(); }
    bool waits() const { return !next_.looks_empty() || deque_.size() != 0; }
    // Precondition: the slot is vacant.
    void put(task_type* t) { next_.put(t); }
    // What has no room goes to post(list). False: post has refused it, and t is the caller's.
    template <class Post>
    [[nodiscard]] bool push(task_type* t, Post post) {
        return deque_.push(t, post);
    }
    // All or none; the first is then the newest.
    [[nodiscard]] bool push_all(std::span<task_type* const> tasks) { return deque_.push_all(tasks); }
    // Takes what is in the slot, or null.
    [[nodiscard]] task_type* take_slot() { return next_.take(); }
    // False: the deque is empty.
    [[nodiscard]] bool pop(task_type*& t) { return deque_.pop(t); }
    // The deque's old end, which the owner's thread reaches like any thief.
    [[nodiscard]] steal_result<task_type*> steal_oldest() { return deque_.steal_oldest(); }
    // As a thief of another worker's. `any`: also the newest task of a worker that may be about to take it. `moved`: so many more
    // are here now; the caller must look for a sleeper before it runs the first.
    [[nodiscard]] steal_half_result<task_type*> steal_from(ready_work& victim, bool any) {
        auto [status, stolen, moved] = deque_.steal_from(victim.deque_);
        if (status == steal_status::empty && !victim.next_.looks_empty()) {
            stolen = !any && victim.fleeting() ? nullptr : victim.next_.steal();
            status = stolen != nullptr ? steal_status::taken : steal_status::lost_race;
        }
        return {status, stolen, moved};
    }

    // Any worker's of the crew.
    bool deque_looks_empty() { return deque_.looks_empty(); }
    bool slot_looks_empty() const { return next_.looks_empty(); }

private:
    // There was a task in the slot, and a moment later it was another or none: a chain of successors, which a theft would tear
    // from processor to processor. A task that stays, behind a long one, is met again.
    bool fleeting() const {
        const auto met = next_.met();
        if constexpr (!Sync::checked) std::this_thread::yield();
        if (next_.met() == met) return false;
        Sync::reach("ready_work.left_a_chain");
        return true;
    }

    lifo_slot<task_type, Sync> next_;
    local deque_;
};

}  // namespace apiary
