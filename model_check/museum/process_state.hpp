// What a process of seed 001 does next, in one word: its state, and the wakes that came while it ran.
//
// When to use it. For the exhibits of the process scheduler (A16, A17, B31). Their twins are what ships (shipped_process.hpp), where
// the mailbox is in the word, too.
//
// A process is queued, running, idle (waits for anything), blocked (waits for the completion of a command; messages
// can wait), or complete. A sender that has put an event into the mailbox calls signal(); the one that is told true puts the process into a
// queue. A worker that took it from there calls start(), empties the mailbox, and then settle().
//
// Threads.   signal: any. start, settle, finish: the worker that runs the process.
// Progress.  start, finish: wait-free. signal, settle: lock-free.
//
// Invariants
//   I1  Exactly one holder: a queue (queued) or a worker (running); in the other states nobody.
//   I2  Each change of a word from idle or blocked to queued is told to exactly one caller, who must enqueue.
//   I3  A wake that comes while the process has a holder is a flag of the word; settle() cannot pass over it.
//
// Synchronisation. Every change but the last is a read-modify-write, and so continues what the earlier ones release.
//   S1  signal (release) -> start (acquire): the event in the mailbox. A start by a plain store would not see it
//       (process_starts_by_a_store.cpp).
//   S2  settle (release) -> start (acquire): what one run wrote, for the next.
#pragma once

#include <atomic>

namespace apiary::museum {

enum class process_defect {
    none,
    flag_in_its_own_word,  // A16
    woken_by_a_store       // A17
};

template <class Sync, process_defect Defect = process_defect::none>
class seed_process_state {
public:
    enum state : unsigned { idle, blocked, queued, running, complete };
    enum wake : unsigned { message = 8, completion = 16 };

    explicit seed_process_state(state first) { word_.store(first, std::memory_order_relaxed); }

    // True: the caller must enqueue the process.
    [[nodiscard]] bool signal(wake why) {
        if constexpr (Defect != process_defect::none) return signal_as_in_the_seed(why);
        unsigned seen = word_.load(std::memory_order_relaxed), next = 0;
        do {
            next = wakes(seen, why) ? unsigned{queued} : seen | why;
        } while (!word_.compare_exchange_weak(seen, next, std::memory_order_release, std::memory_order_relaxed));  // S1
        return next == queued;
    }

    void start() { word_.exchange(running, std::memory_order_acquire); }  // S1, S2

    // The end of a run: the process waits (idle or blocked), unless a wake has come. True: it has, and the caller must enqueue.
    [[nodiscard]] bool settle(state waits) {
        if constexpr (Defect == process_defect::flag_in_its_own_word) {
            const bool woken = flag_.exchange(0, std::memory_order_seq_cst) != 0;
            word_.store(woken ? queued : waits, std::memory_order_seq_cst);
            return woken;
        }
        unsigned seen = word_.load(std::memory_order_relaxed), next = 0;
        do {
            const unsigned flags = seen & (message | completion);
            next = wakes(waits, flags) ? unsigned{queued} : waits | flags;
        } while (!word_.compare_exchange_weak(seen, next, std::memory_order_release, std::memory_order_relaxed));  // S2
        return next == queued;
    }

    // Later signals enqueue nobody: close the mailbox first, and tell its senders.
    void finish() { word_.store(complete, std::memory_order_relaxed); }

private:
    static bool wakes(unsigned word, unsigned why) {
        const unsigned state = word & 7U;
        return (state == idle && why != 0) || (state == blocked && (why & completion) != 0);
    }

    bool signal_as_in_the_seed(wake why) {
        unsigned seen = word_.load(std::memory_order_seq_cst);
        if (wakes(seen, why)) {
            if constexpr (Defect == process_defect::woken_by_a_store) {
                word_.store(queued, std::memory_order_seq_cst);
                return true;
            }
            return word_.compare_exchange_strong(seen, queued, std::memory_order_seq_cst, std::memory_order_seq_cst);
        }
        if constexpr (Defect == process_defect::flag_in_its_own_word)
            flag_.store(1, std::memory_order_seq_cst);
        else
            word_.fetch_or(why, std::memory_order_seq_cst);
        return false;
    }

    typename Sync::template atomic<unsigned> word_;
    typename Sync::template atomic<unsigned> flag_{0};  // of the seed's form only
};

}  // namespace apiary::museum
