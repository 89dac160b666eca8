// ready_desk: a ready_board for the threads of one worker type: it hands ready tasks to idle workers.
//
// When to use it. If the order of ready tasks matters more than their overhead: fifo, min_clock, critical_path. When
// not: for locality, whose tasks lie in the workers' deques.
//
// A worker without a task calls take, and is then idle: it has an empty hand. The thread that makes a task ready puts
// it into the hand of an idle worker, and wakes that worker if it sleeps. So no worker takes another's task, and no
// wake is in vain.
//
// Threads.   push, reserve: any. take, ended, keep, leave, visible: the worker that they name.
// Memory.    Allocated by the constructor and by reserve, for that many tasks at once. Nothing is allocated later,
//            since a thread that has ended a task could not undo that. Both throw std::bad_alloc.
// Progress.  Blocks on one mutex for each type; take by a worker that is idle already: wait-free.
// Invariants
//   I1  Under the mutex a thread takes a worker off the board and fills its hand; only the worker empties the hand,
//       while it is off the board. So a hand is filled once (exhibits A32, B33).
//   I2  After every call there is not both a task and a worker on the board (ready_board).
//   I3  An idle worker that leaves (leave) gives back the task that is in its hand.
//
// Synchronisation
//   S1  give: store to the hand (seq_cst) -> take: load (acquire). Publishes the task, and what its producers did.
//   S2  Store buffering with the idle set: the giver fills the hand and then claims the sleeper; the worker announces
//       its sleep and then looks at its hand. All four are seq_cst (idle_set S1).
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
    // A set of workers that were handed a task: the caller must wake those that sleep (for_each). Bit b stands for the
    // workers b, b + Bits, and so on.
    using workers = std::uint64_t;
    static_assert(Bits >= 1 && Bits <= 64);

    struct after_end {
        Task* next;  // null: the worker is idle, and will find its task in its hand
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
    // For worker `me`, which has no task. Null: it is idle from now on.
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
    // For worker `me`, whose task has ended and has made these tasks of its type ready.
    [[nodiscard]] after_end ended(unsigned me, std::int64_t worked, fifo_list<Task>& made_ready) {
        const typename Sync::lock held(mutex_);
        board_.idle(me, worked);
        while (Task* t = made_ready.pop_front()) board_.ready(*t);
        return settle(hands_[me], give(me));
    }
    // For worker `me`: puts `t` into its own hand, to run it later.
    void keep(unsigned me, Task& t) {
        hands_[me].idle = true;
        hands_[me].task.store(&t, std::memory_order_relaxed);
    }
    // For worker `me`, which takes no more tasks.
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
    // Call it after any of these calls. Calls f(i) for each of the `handed` workers whose hand is full; there are `all`
    // workers. If workers share a bit, f may be called for one that another thread has handed a task and wakes as well;
    // a second wake does no harm.
    template <class F>
    void for_each(workers handed, unsigned all, F f) const {
        for (; handed != 0; handed &= handed - 1)
            for (auto i = static_cast<unsigned>(std::countr_zero(handed)); i < all; i += Bits)
                if (visible(i)) f(i);
    }
    // Part of a worker's last look before it sleeps.
    bool visible(unsigned me) const { return hands_[me].task.load(std::memory_order_seq_cst) != nullptr; }  // S2

private:
    static constexpr unsigned nobody = MaxWorkers;
    struct alignas(cache_line) hand {
        typename Sync::template atomic<Task*> task;
        bool idle = false;  // only its worker reads it: it is on the board, or was handed a task
    };

    // Precondition: the mutex is held.
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
    // Relaxed: a thread that fills the hand again holds the mutex after this worker did.
    static void empty(hand& mine) {
        mine.idle = false;
        mine.task.store(nullptr, std::memory_order_relaxed);
    }

    typename Sync::mutex mutex_;
    ready_board<Task> board_;
    std::array<hand, MaxWorkers> hands_;
};

}  // namespace apiary
