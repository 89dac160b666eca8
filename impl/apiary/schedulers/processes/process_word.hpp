// process_word: the state of a process, its mailbox, and its generation, in one word.
//
// When to use it. Once for each place of a table of processes (process_table.hpp). When not: for a mailbox
// whose receiver has a thread of its own (mpsc_inbox).
//
// The word has four fields: the state; whether a cancel has come; the newest event of the mailbox, whose `next` leads
// to the older ones; and the generation, which tells this process from earlier ones of the same place. So a send is one
// compare-exchange: it decides at once whether the process lives, where the event stands, and which thread wakes the
// process. To receive is one exchange.
//
//   state       held by                     waits for
//   ready       a queue, or its spawner     a worker
//   running     a worker                    -
//   called      a worker                    -; an event that ends a block has come since the run began
//   blocked     no thread                   the end of something it has called for, or a cancel
//   idle        no thread                   any event
//   complete    no thread                   -; the place may get its next process
//
//   event \ state    ready     running   called    blocked   idle      complete
//   message          ready     running   called    blocked   ready*    refused
//   call, cancel     ready     called    called    ready*    ready*    refused
//   start            running   -         -         -         -         -
//   settle(idle)     -         idle**    ready*    -         -         -
//   settle(blocked)  -         blocked   ready*    -         -         -
//   settle(ready)    -         ready*    ready*    -         -         -
//   finish           complete  complete  complete  -         -         -
//   open             -         -         -         -         -         ready
//   *: exactly one caller is told, and queues the process. **: ready* if the mailbox has an event. -: not allowed.
//
// Threads.   push, cancel, cancel_any, asks_to_push, looks_alive, state: any. start, settle, finish: the holder. open:
//            the owner of a place that is complete.
// Progress.  start, finish, open: wait-free. push, cancel, settle: lock-free.
// Order.     The events of one sender come out in the order it pushed them.
// Memory.    A thread may push to a place without holding it: a late push finds another generation in the word, and
//            changes nothing. A generation never comes back: when all are used up, the owner of the place retires it
//            (process_table I3). Events need an address below 2^(64 - generation_bits).
//
// Invariants
//   I1  A process has exactly one holder in ready, running and called, and none in the other states.
//   I2  Each change from idle or blocked to ready is told to one caller; likewise a settle that finds news is told so.
//   I3  Each event that a push accepted is returned by exactly one start or finish of that generation.
//
// Synchronisation. Every change but open is a read-modify-write, and so continues the release sequences of earlier
// ones.
//   S1  push, cancel (release) -> start, finish (acquire): publishes the events. If start were a plain store, it would
//       not see them (museum, process_starts_by_a_store).
//   S2  settle (release) -> push, cancel (acquire): the caller that queues the process writes its link, which the
//       worker of the last run has read. The same order extends to start: a run sees what the run before it wrote.
//   open needs no order: the thread that publishes the new pid or queues the process publishes the new state with it.
//
// Checked by model_check/schedulers/processes/process_word_check.cpp. Origin: README.md;
// museum A16, A17, A19, A39, B30, B31.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

enum class process_state : std::uint8_t { complete, ready, running, called, blocked, idle };

// The answer to a push. `woke`: accepted, and the caller must queue the process.
enum class push_answer : std::uint8_t { accepted, woke, no_such_process, completing };

// The table above: the next state after one event from outside, and after the end of a run.
constexpr process_state after_message(process_state s) { return s == process_state::idle ? process_state::ready : s; }
constexpr process_state after_call(process_state s) {
    if (s == process_state::idle || s == process_state::blocked) return process_state::ready;
    return s == process_state::running ? process_state::called : s;
}
constexpr process_state after_settle(process_state s, process_state waits, bool event) {
    if (s == process_state::called || (waits == process_state::idle && event)) return process_state::ready;
    return waits;
}

struct process_word_limits {
    static constexpr unsigned generation_bits = 16;
};

template <class Node, class Sync = real_sync, class Limits = process_word_limits>
class process_word {
    using word = std::uint64_t;

public:
    static constexpr word last_generation = (word{1} << Limits::generation_bits) - 1;
    struct taken {
        Node* newest;  // the older ones follow by `next`; null: no event
        bool cancelled;
    };

    process_word() { word_.store(0, std::memory_order_relaxed); }
    process_word(const process_word&) = delete;
    process_word& operator=(const process_word&) = delete;

    // `calls`: the event ends a block. If it is accepted, the node belongs to the mailbox; otherwise still to the
    // caller.
    [[nodiscard]] push_answer push(word generation, Node* node, bool calls) {
        word seen = word_.load(std::memory_order_relaxed);
        for (;;) {
            const process_state now = state_of(seen);
            if (seen >> generation_shift != generation) return push_answer::no_such_process;
            if (now == process_state::complete) return push_answer::completing;
            node->next.write(node_of(seen));
            const process_state then = calls ? after_call(now) : after_message(now);
            const word next = (seen & ~(node_mask | state_mask)) | of(node) | of(then);
            if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                            std::memory_order_relaxed))  // S1, S2
                return then != now && then == process_state::ready ? push_answer::woke : push_answer::accepted;
        }
    }

    // The next start reports it, once for all cancels before it. A cancel ends a block.
    [[nodiscard]] push_answer cancel(word generation) {
        return cancel_if([generation](word seen) { return seen >> generation_shift == generation; });
    }
    // Cancels the process that has the place now, whichever it is.
    [[nodiscard]] push_answer cancel_any() {
        return cancel_if([](word) { return true; });
    }

    // The holder begins a run, and takes all events that have come.
    taken start(word generation) {
        return unpack(
            word_.exchange(of(generation) | of(process_state::running), std::memory_order_acquire));  // S1, S2
    }

    // Ends a run. `waits`: idle, blocked or ready. False: the process waits, and has no holder. True: an event has come
    // that it waits for, or it wants to run again; the caller still holds it, and queues it.
    [[nodiscard]] bool settle(word generation, process_state waits) {
        word seen = of(generation) | of(process_state::running);  // the most likely value: nothing has come
        for (;;) {
            const process_state then = after_settle(state_of(seen), waits, (seen & node_mask) != 0);
            if (word_.compare_exchange_weak(seen, (seen & ~state_mask) | of(then), std::memory_order_release,  // S2
                                            std::memory_order_relaxed))
                return then == process_state::ready;
        }
    }

    // The holder ends the process. All later pushes are refused. Returns the events that no start has taken.
    taken finish(word generation) {
        return unpack(word_.exchange(of(generation) | of(process_state::complete), std::memory_order_acquire));  // S1
    }

    // Begins the next process of this place; the caller is its holder. Preconditions: the state is complete, and the
    // place never had this generation.
    void open(word generation) { word_.store(of(generation) | of(process_state::ready), std::memory_order_relaxed); }

    // Call it before a look that a push will follow. The look alone would fetch the cache line as a shared copy, and
    // the push would then wait a second time, until all other copies are invalidated.
    void asks_to_push() const { Sync::prefetch_to_write(&word_); }

    // Hints: they may be old when they are read.
    bool looks_alive(word generation) const {
        const word seen = word_.load(std::memory_order_relaxed);
        return seen >> generation_shift == generation && state_of(seen) != process_state::complete;
    }
    word generation() const { return word_.load(std::memory_order_relaxed) >> generation_shift; }
    process_state state() const { return state_of(word_.load(std::memory_order_relaxed)); }

private:
    static constexpr unsigned generation_shift = 64 - Limits::generation_bits;
    static constexpr word state_mask = 7, cancel_bit = 8;
    static constexpr word node_mask = ((word{1} << generation_shift) - 1) & ~(state_mask | cancel_bit);

    static constexpr process_state state_of(word w) { return static_cast<process_state>(w & state_mask); }
    static Node* node_of(word w) { return reinterpret_cast<Node*>(w & node_mask); }
    static constexpr word of(process_state s) { return static_cast<word>(s); }
    static constexpr word of(word generation) { return generation << generation_shift; }
    static word of(Node* node) {
        static_assert(alignof(Node) > (state_mask | cancel_bit), "the address leaves room for state and cancel");
        return reinterpret_cast<word>(node);
    }
    static taken unpack(word w) { return {node_of(w), (w & cancel_bit) != 0}; }

    template <class Is>
    push_answer cancel_if(Is is) {
        word seen = word_.load(std::memory_order_relaxed);
        for (;;) {
            const process_state now = state_of(seen);
            if (!is(seen)) return push_answer::no_such_process;
            if (now == process_state::complete) return push_answer::completing;
            // Written even if the bit is set: the next start then sees what this canceller did before.
            const process_state then = after_call(now);
            const word next = (seen & ~state_mask) | cancel_bit | of(then);
            if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                            std::memory_order_relaxed))  // S1, S2
                return then != now && then == process_state::ready ? push_answer::woke : push_answer::accepted;
        }
    }

    typename Sync::template atomic<word> word_;
};

}  // namespace apiary
