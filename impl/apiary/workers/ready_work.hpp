// ready_work: the tasks of one worker that others may take: those that its own tasks have posted,
// and the rest of a batch from the pool. A slot for the newest, and a deque.
//
// When to use it. For workers whose tasks post others. When not: no_ready_work.
//
// The slot makes a chain of successors cheap: the newest task replaces the one before it, which
// goes to the deque. A thief takes from the slot only when the deque is empty, and not from a chain
// that is running.
//
// Threads. The owner's calls: the worker's thread. The thieves' calls: the other workers of the
// crew.
// Order.   The owner runs the newest first; thieves take the oldest.
// Checked by model_check/queues/{chase_lev_deque,lifo_slot}_check.cpp and, with the workers around
// it, model_check/schedulers/hive. Source: seed 002 sections 4.3 and 4.4.
#pragma once

#include <cstddef>
#include <span>
#include <thread>

#include <apiary/queues/lifo_slot.hpp>
#include <apiary/queues/steal_result.hpp>
#include <apiary/tasks/task.hpp>

namespace apiary {

template <class Sync, class Deque, class Task = task<Sync>>
class ready_work {
public:
    using task_type = Task;
    static constexpr bool shared =
        true;  // others may take from it, and its pushes are no seq_cst accesses (idle_set S2)
    // A batch of so many can be made stealable, all but its first, which runs.
    static constexpr std::size_t max_room = Deque::limits::max_capacity + 1;

    ready_work() : own_(deque_.own()) {}

    // The owner's.
    [[nodiscard]] bool slot_is_vacant() const { return next_.vacant(); }
    std::size_t in_deque() const { return own_.size(); }
    bool waits() const { return !next_.looks_empty() || own_.size() != 0; }
    // Precondition: the slot is vacant.
    void put(task_type* t) { next_.put(t); }
    [[nodiscard]] bool push(task_type* t) { return own_.try_push(t); }
    // All or none; the first is then the newest.
    [[nodiscard]] bool push_all(std::span<task_type* const> tasks) { return own_.try_push_all(tasks); }
    // Takes what is in the slot, or null.
    [[nodiscard]] task_type* take_slot() { return next_.take(); }
    // False: the deque is empty.
    [[nodiscard]] bool pop(task_type*& t) { return own_.try_pop(t); }
    // The deque's old end, which the owner's thread reaches like any thief.
    [[nodiscard]] steal_result<task_type*> steal_oldest() { return deque_.share().steal(); }

    // The thieves'. `any`: also the newest task of a worker that may be about to take it.
    [[nodiscard]] steal_result<task_type*> steal(bool any) {
        auto [status, stolen] = deque_.share().steal();
        if (status == steal_status::empty && !next_.looks_empty()) {
            stolen = !any && fleeting() ? nullptr : next_.steal();
            status = stolen != nullptr ? steal_status::taken : steal_status::lost_race;
        }
        return {status, stolen};
    }
    bool deque_looks_empty() { return deque_.share().looks_empty(); }
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
    Deque deque_;
    typename Deque::owner own_;
};

}  // namespace apiary
