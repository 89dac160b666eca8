// ready_desk: a ready_board for the threads of one worker type: ready tasks are handed to idle workers.
//
// When to use it. Where the order of ready tasks matters more than their overhead: fifo, min_clock,
// critical_path. When not: for locality, whose tasks lie in the workers' deques.
//
// A worker without a task says so (take). It then has a hand: the thread that makes a task ready puts it
// there, and wakes the worker if it sleeps. So a worker takes nothing that belongs to another, and no
// wake is in vain.
//
// Threads.   push, reserve: any. take, ended, keep, leave, visible: the worker that they name.
// Memory.    Allocated by the constructor and by reserve, for so many tasks at once. Nothing is allocated later,
//            since a thread that has ended a task could not go back. Both throw std::bad_alloc.
// Progress.  Blocks on one mutex for each type; take of an idle worker: wait-free.
// Invariants
//   I1  A hand is filled by the thread that takes its worker off the board, with the mutex, and emptied
//       by its worker, which is off the board then. So it is filled once (exhibits A32, B33).
//   I2  After every call no task is on the board while a worker is (ready_board).
//   I3  An idle worker that goes away (leave) gives back the task that it was handed.
//
// Synchronisation
//   S1  give: hand store (seq_cst) -> take: load (acquire): the task, and what its producers did.
//   S2  Store buffering with the idle set: the giver fills the hand and then claims the sleeper, the worker
//       announces its sleep and then looks at its hand. All four are seq_cst (idle_set S1).
//
// Checked by model_check/schedulers/task_graph; the twin of A32, A35 and B33.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/schedulers/task_graph/ready_board.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync, class Task, unsigned MaxWorkers, unsigned Bits = 64>
class ready_desk {
public:
    // Workers that were handed a task: the caller must wake those that sleep (for_each). Bit b stands for the workers
    // b, b + Bits, and so on.
    using workers = std::uint64_t;
    static_assert(Bits >= 1 && Bits <= 64);

    struct after_end {
        Task* next;  // null: the worker is idle, and will find it in its hand
        workers handed;
    };

    explicit ready_desk(ready_policy policy, std::size_t tasks = 0) : board_(policy) {
        board_.reserve(tasks, MaxWorkers);
        for (auto& h : hands_) h.task.store(nullptr, std::memory_order_relaxed);
    }

    void reserve(std::size_t tasks) {
        const typename Sync::lock held(mutex_);
        board_.reserve(tasks, MaxWorkers);
    }
    [[nodiscard]] workers push(Task& t) {
        const typename Sync::lock held(mutex_);
        board_.ready(t);
        return give(nobody).handed;
    }
    // Called by worker `me`, which has no task. Null: it is idle from now on.
    [[nodiscard]] Task* take(unsigned me, std::int64_t worked) {
        hand& mine = hands_[me];
        if (mine.idle) {
            Task* const t = mine.task.load(std::memory_order_acquire);  // S1
            if (t != nullptr) empty(mine);
            return t;
        }
        const typename Sync::lock held(mutex_);
        board_.idle(me, worked);
        return settle(mine, give(me)).next;
    }
    // Called by worker `me`, whose task has ended and has made these of its type ready.
    [[nodiscard]] after_end ended(unsigned me, std::int64_t worked, fifo_list<Task>& made_ready) {
        const typename Sync::lock held(mutex_);
        board_.idle(me, worked);
        while (Task* t = made_ready.pop_front()) board_.ready(*t);
        return settle(hands_[me], give(me));
    }
    // Called by worker `me`, which runs `t` later.
    void keep(unsigned me, Task& t) {
        hands_[me].idle = true;
        hands_[me].task.store(&t, std::memory_order_relaxed);
    }
    // Worker `me` takes no more.
    [[nodiscard]] workers leave(unsigned me) {
        hand& mine = hands_[me];
        if (!mine.idle) return 0;
        const typename Sync::lock held(mutex_);
        if (board_.withdraw(me)) {
            mine.idle = false;
            return 0;
        }
        Sync::reach("ready_desk.gave_back");
        board_.ready(*mine.task.load(std::memory_order_relaxed));
        empty(mine);
        return give(nobody).handed;
    }
    // After any of these: calls f(i) for those of the `handed` workers whose hands are full; there are `all` workers.
    // A worker that shares a bit may have been handed its task by another thread, which wakes it, too: a second wake
    // does no harm.
    template <class F>
    void for_each(workers handed, unsigned all, F f) const {
        for (; handed != 0; handed &= handed - 1)
            for (auto i = static_cast<unsigned>(std::countr_zero(handed)); i < all; i += Bits)
                if (visible(i)) f(i);
    }
    // Part of the last look before a sleep.
    bool visible(unsigned me) const { return hands_[me].task.load(std::memory_order_seq_cst) != nullptr; }  // S2

private:
    static constexpr unsigned nobody = MaxWorkers;
    struct alignas(cache_line) hand {
        typename Sync::template atomic<Task*> task;
        bool idle = false;  // the worker's own: it is on the board, or was handed a task
    };

    // With the mutex held.
    after_end give(unsigned me) {
        after_end all{nullptr, 0};
        while (const auto m = board_.next()) {
            if (m->worker == me) {
                all.next = m->task;
                continue;
            }
            hands_[m->worker].task.store(m->task, std::memory_order_seq_cst);  // S1, S2
            all.handed |= workers{1} << m->worker % Bits;
        }
        return all;
    }
    static after_end settle(hand& mine, after_end all) {
        mine.idle = all.next == nullptr;
        return all;
    }
    // Relaxed: the next thread that fills it has met this worker at the mutex.
    static void empty(hand& mine) {
        mine.idle = false;
        mine.task.store(nullptr, std::memory_order_relaxed);
    }

    typename Sync::mutex mutex_;
    ready_board<Task> board_;
    std::array<hand, MaxWorkers> hands_;
};

}  // namespace apiary
