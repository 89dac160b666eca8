// push_mark: whether a worker is at rest: it has looked at the idle word since its last push, and will change its mark
// before the next. Beside workers at rest a sleeper leaves out the heavy fence, which interrupts all running threads.
//
// When to use it. One for each worker of a crew whose workers push by accesses that are not seq_cst (idle_set S2), if
// its workers sleep more often than they push: tasks come from outside, and post few others. When not: if most tasks
// post others.
//
// Threads.   before_push, rest: the worker. may_push: any.
// Progress.  Wait-free.
//
// Synchronisation. A sleeper changes the idle word (announce_sleep, stop_searching), then reads false from the mark.
//   S1  Both are seq_cst. So the read precedes every later exchange of the mark in the order of seq_cst operations, and
//       the change of the word precedes each look at it after a push that follows. The pusher sees the sleeper.
//   S2  Of a push before the rest that it reads the pusher has looked at the word already, perhaps too early to see the
//       sleeper. That rest releases and the read acquires, so the sleeper's look sees the push, or that the task was
//       taken.
//
// Checked by model_check/parking/idle_set_check.cpp and, in a worker, model_check/schedulers/hive.
// Decision: impl/DECISIONS.md D260.
#pragma once

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class push_mark {
public:
    push_mark() { pushes_.store(false, std::memory_order_relaxed); }

    // Before each push of what other workers may take.
    void before_push() {
        if (!set_) [[unlikely]]
            set();
    }
    // At any time after the look at the idle word that follows a push.
    void rest() {
        if (!set_) return;
        set_ = false;
        pushes_.store(false, std::memory_order_release);  // S2
    }
    // Called by a worker that has just changed the idle word. False: it need not fence against this one.
    bool may_push() const { return pushes_.load(std::memory_order_seq_cst); }  // S1, S2

private:
    [[gnu::noinline]] void set() {
        set_ = true;
        (void)pushes_.exchange(true, std::memory_order_seq_cst);  // S1
    }

    typename Sync::template atomic<bool> pushes_;
    bool set_ = false;  // the same, for the worker: a plain read costs less before each push
};

// For workers that keep no mark.
struct always_pushes {
    static void before_push() {}
    static void rest() {}
    static bool may_push() { return true; }
};

}  // namespace apiary
