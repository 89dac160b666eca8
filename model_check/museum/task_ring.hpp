// The task window of seed 000 as one can repair it, and with each of its defects: tasks with inputs, in a ring whose head
// moves over what nobody uses any more.
//
// When to use it. For the exhibits of the task graph (A24 to A28, A31, A36 to A38, B32, B35, C05). Their twins run on the window
// that ships (shipped_window.hpp).
//
// Threads.   begin_task, add_input, end_task, end_scope: the submitter alone. complete: the thread that ran the
//            task. release: the holder of the reference. advance: any.
// Blocking.  begin_task waits for room. A producer's lock is held for one walk over its consumers.
//
// Invariants
//   I1  A task becomes ready once, by the thread that takes the last unit of `missing`. The submitter's own unit is given back by
//       end_task, when all edges are there.
//   I2  A producer is marked completed under its lock, together with the walk: an edge is either found by the walk or
//       finds the mark.
//   I3  A slot is consumed once, by the thread that gives the last of its references back: the scope's, the completer's own (given
//       back after its walks), one for each consumer. While the scope holds its one, the submitter may add more. Given
//       and returned are one count: a thread that gives one back, not the last, may not look at the slot again.
//   I4  head <= every task that is not consumed. Only the holder of the window's mutex moves it, and looks again.
//
// Synchronisation
//   S1  input_done (acq_rel) -> the input_done that makes the consumer ready: every input's writes.
//   S2  release (acq_rel) -> the release that consumes -> state (release) -> advance (acquire) -> head (release)
//       -> begin_task (acquire): the slot's last user, before its next.
#pragma once

#include <array>
#include <atomic>
#include <optional>

namespace apiary::museum {

enum class room_wait { under_the_mutex, never_signalled, looks_before_the_mutex, looks_once };
enum class reference_count { one_word, two_words_given_first, two_words_given_last };
enum class head_move { locked, by_anybody, only_from_the_head, loser_of_the_lock_leaves };

struct ring_defects {
    bool counts_reset_after_consumed = false;           // A24
    head_move head = head_move::locked;                 // A25, B32
    bool no_guard_while_edges_come = false;             // A26
    bool edge_ignores_completion = false;               // A27
    reference_count count = reference_count::one_word;  // A28, C05
    bool own_scope_unseen = false;                      // A31
    bool completed_before_walks = false;                // A36
    room_wait room = room_wait::under_the_mutex;        // A37
    bool published_before_pending = false;              // A38
    bool join_without_acquire = false;                  // B35

    bool operator==(const ring_defects&) const = default;
};

template <class Sync, unsigned Window, ring_defects Defects = ring_defects{}>
class task_ring {
    static constexpr unsigned most_edges = 2;  // of a task, to each side
    static constexpr bool counts_in_two_words = Defects.count != reference_count::one_word ||
                                                Defects.completed_before_walks || Defects.counts_reset_after_consumed;
    enum state : unsigned { consumed, pending, completed };

    struct slot {
        typename Sync::template atomic<unsigned> state{consumed};
        typename Sync::template atomic<unsigned> missing{0};  // inputs, and the submitter's own unit
        typename Sync::template atomic<unsigned> references{0};
        typename Sync::template atomic<unsigned> back{0};  // of the references; the seed's form only
        typename Sync::mutex edges;                        // guards the mark `completed` and the consumers
        typename Sync::template cell<unsigned> consumer_count{0}, producer_count{0};
        std::array<typename Sync::template cell<unsigned>, most_edges> consumers, producers;
    };

public:
    // Waits for room. The task cannot become ready before end_task, and holds a reference for the submitter's scope.
    // Nothing: the window is full and its oldest task is kept by this scope alone, which must be ended first.
    std::optional<unsigned> begin_task() {
        const unsigned task = next_.load(std::memory_order_relaxed);
        if (!wait_for_room(task)) return std::nullopt;
        if constexpr (Defects.published_before_pending) next_.store(task + 1, std::memory_order_release);
        slot& s = at(task);
        s.consumer_count.write(0);
        s.producer_count.write(0);
        s.missing.store(Defects.no_guard_while_edges_come ? 0 : 1, std::memory_order_relaxed);
        s.references.store(Defects.completed_before_walks ? 1 : 2, std::memory_order_relaxed);  // scope, completer
        if constexpr (!Defects.counts_reset_after_consumed) reset(s);
        s.state.store(pending, std::memory_order_relaxed);
        if constexpr (!Defects.published_before_pending) next_.store(task + 1, std::memory_order_release);
        return task;
    }

    // The producer's scope must be open.
    void add_input(unsigned task, unsigned producer) {
        slot &s = at(task), &p = at(producer);
        const typename Sync::lock held(p.edges);
        p.references.fetch_add(1, std::memory_order_relaxed);  // the scope's keeps it from 0 meanwhile
        append(s.producer_count, s.producers, producer);
        if (!Defects.edge_ignores_completion && p.state.load(std::memory_order_relaxed) == completed) return;
        s.missing.fetch_add(1, std::memory_order_relaxed);  // the submitter's own keeps it from 0 meanwhile
        append(p.consumer_count, p.consumers, task);
    }

    // True: ready, and the caller's to hand on.
    [[nodiscard]] bool end_task(unsigned task) {
        if constexpr (Defects.no_guard_while_edges_come) return at(task).missing.load(std::memory_order_relaxed) == 0;
        return input_done(task);
    }

    // Calls on_ready(consumer) for each consumer that this makes ready, under the task's lock.
    template <class OnReady>
    void complete(unsigned task, OnReady on_ready) {
        slot& s = at(task);
        if constexpr (Defects.completed_before_walks) s.state.store(completed, std::memory_order_release);
        {
            const typename Sync::lock held(s.edges);
            if constexpr (!Defects.completed_before_walks) s.state.store(completed, std::memory_order_relaxed);
            const unsigned consumers = s.consumer_count.read();
            for (unsigned i = 0; i != consumers; ++i)
                if (const unsigned consumer = s.consumers[i].read(); input_done(consumer)) on_ready(consumer);
        }
        const unsigned producers = s.producer_count.read();
        for (unsigned i = 0; i != producers; ++i) release(s.producers[i].read());
        if constexpr (Defects.completed_before_walks)
            consume_if_unused(task);
        else
            release(task);
    }

    // The end of the submitter's scope: its tasks take no more consumers.
    void end_scope() {
        for (const unsigned end = next_.load(std::memory_order_relaxed); scope_begin_ != end;) release(scope_begin_++);
    }

    // Gives one reference back. Nothing of the slot is touched after that but by the one that gives back the last.
    void release(unsigned task) {
        slot& s = at(task);
        if constexpr (counts_in_two_words) {
            unsigned given = s.references.load(std::memory_order_acquire);
            const unsigned back = s.back.fetch_add(1, std::memory_order_acq_rel) + 1;
            if (Defects.count != reference_count::two_words_given_first)
                given = s.references.load(std::memory_order_acquire);
            if (back != given) return;
        } else {
            const unsigned left = s.references.fetch_sub(1, std::memory_order_acq_rel) - 1;  // I3, S2
            if (left == 1) tell_submitter();  // the last one may be its scope's
            if (left != 0) return;
        }
        if constexpr (Defects.completed_before_walks)
            consume_if_unused(task);
        else
            consume(task);
    }

    // Moves the head over what is consumed.
    void advance() {
        if constexpr (Defects.head == head_move::by_anybody) {
            while (front_is_consumed(head_.load(std::memory_order_acquire)))
                head_.fetch_add(1, std::memory_order_acq_rel);
        } else if constexpr (Defects.head == head_move::loser_of_the_lock_leaves) {
            if (!window_.try_lock()) return;
            advance_locked();
            window_.unlock();
        } else {
            const typename Sync::lock held(window_);
            advance_locked();
            if constexpr (Defects.room != room_wait::never_signalled) room_.notify_one();
        }
    }

    // The oldest task that may be in use: what lies before it is reclaimed.
    unsigned head() const { return head_.load(std::memory_order_relaxed); }

private:
    slot& at(unsigned task) { return slots_[task % Window]; }

    static void reset(slot& s) {
        if constexpr (counts_in_two_words) s.back.store(0, std::memory_order_relaxed);
    }

    template <class Count, class Edges>
    static void append(Count& count, Edges& edges, unsigned task) {
        const unsigned n = count.read();
        edges[n].write(task);
        count.write(n + 1);
    }

    bool full(unsigned task) const { return task - head_.load(std::memory_order_acquire) == Window; }  // S2

    // False: this scope alone keeps the window full.
    bool wait_for_room(unsigned task) {
        if constexpr (Defects.room == room_wait::looks_before_the_mutex) {
            while (full(task)) {
                typename Sync::lock held(window_);
                room_.wait(held);
            }
            return true;
        }
        if (!full(task)) return true;
        typename Sync::lock held(window_);
        if constexpr (Defects.room == room_wait::looks_once) {
            if (full(task)) room_.wait(held);
            return true;
        }
        for (; full(task); room_.wait(held))
            if (kept_by_own_scope(head_.load(std::memory_order_relaxed))) return false;
        return true;
    }

    bool kept_by_own_scope(unsigned head) {
        if constexpr (counts_in_two_words || Defects.own_scope_unseen) return false;
        // Relaxed: the thread that made it 1 comes to the window's mutex afterwards (tell_submitter).
        return head >= scope_begin_ && at(head).references.load(std::memory_order_relaxed) == 1;
    }
    void tell_submitter() {
        const typename Sync::lock held(window_);
        if constexpr (Defects.room != room_wait::never_signalled) room_.notify_one();
    }

    bool input_done(unsigned task) {
        constexpr auto join = Defects.join_without_acquire ? std::memory_order_release : std::memory_order_acq_rel;
        return at(task).missing.fetch_sub(1, join) == 1;  // I1, S1
    }

    void consume(unsigned task) {
        slot& s = at(task);
        s.state.store(consumed, std::memory_order_release);
        if constexpr (Defects.counts_reset_after_consumed) reset(s);
        if (Defects.head == head_move::only_from_the_head && task != head_.load(std::memory_order_acquire)) return;
        advance();
    }

    // The seed's form, for want of the completer's own reference.
    void consume_if_unused(unsigned task) {
        slot& s = at(task);
        if (s.back.load(std::memory_order_seq_cst) != s.references.load(std::memory_order_seq_cst)) return;
        unsigned expected = completed;
        if (s.state.compare_exchange_strong(expected, consumed, std::memory_order_seq_cst, std::memory_order_seq_cst))
            advance();
    }

    bool front_is_consumed(unsigned head) {
        // A slot that was never used, or is free again, looks consumed: the end tells.
        return head != next_.load(std::memory_order_acquire) &&
               at(head).state.load(std::memory_order_acquire) == consumed;  // S2
    }

    void advance_locked() {
        unsigned head = head_.load(std::memory_order_relaxed);
        while (front_is_consumed(head)) ++head;
        head_.store(head, std::memory_order_release);  // S2
    }

    std::array<slot, Window> slots_;
    typename Sync::template atomic<unsigned> next_{0}, head_{0};
    unsigned scope_begin_ = 0;     // the submitter's
    typename Sync::mutex window_;  // I4
    typename Sync::condvar room_;
};

}  // namespace apiary::museum
