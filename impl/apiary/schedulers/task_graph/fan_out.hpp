// fan_out: what a task shows its consumers, in one word: the list of consumers that wait for it, the references that
// keep its output, and whether it has ended.
//
// When to use it. In the slots of a task_window. When not: for a list of waiters whose owner is not reused (mpsc_inbox,
// closed at the end, is enough).
//
// The word has: the number of references (held by consumers that read the output, by a scope, and by the task itself
// until it has ended), the newest edge of the list (0: none), the lap of the window in which the slot is used, and four
// flags. closed: the task has ended. failed: its consumers are to be cancelled. kept: a scope holds one of the
// references. watched: the submitter waits until the task is spent. A task is spent when no reference is left except
// the scope's; it is consumed when none is left at all, and its slot is then free.
//
// Threads.   open, link, watch, end_scope: the submitter. close: the thread that has run the task,
//            once. release: a holder of a reference. consumed, spent, snapshot: the submitter.
// Progress.  link: lock-free. The rest: wait-free.
//
// Invariants
//   I1  close reads the list and closes it in one step: either an edge is in the list that close returns, or its link
//       is told that the task has ended. So no consumer is forgotten (exhibits A27, B34).
//   I2  The references are one count, which exactly one thread takes to 0. A thread that has given one back, or has
//       closed the list, does not look at the slot again: the slot may have its next task (A28, A36, B36, C05).
//   I3  The step that closes gives back the task's own reference. After it the closer walks edges only; they belong to
//       consumers, which cannot end before the walk has reached them.
//   I4  While the submitter waits at a watched slot it adds no links, so the references only fall: exactly one step
//       makes the task spent, and the thread of that step notifies the submitter.
//   I5  A link names the lap that it means, so it cannot reach the slot's next task.
//
// Synchronisation
//   S1  link: compare-exchange (release) -> close: fetch_add (acquire). Publishes edges and their consumers. Later
//       changes of the word are read-modify-writes, so each link's release sequence reaches close.
//   S2  close: fetch_add (release) -> link: load and failed compare-exchange (acquire). A late consumer sees what the
//       task did.
//   S3  close, release (release) -> consumed, watch (acquire). The slot's last use comes before its next task, and what
//       the task did comes before the submitter's look at its output.
//   S4  watch: fetch_or (release) -> close, release (acquire). The notifying thread sees how to notify the submitter;
//       the submitter, once notified, sees what all holders of references did.
//
// Checked by model_check/schedulers/task_graph.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

struct task_graph_limits {
    static constexpr unsigned reference_bits = 18, edge_bits = 19, lap_bits = 23;
};

// The packed word, readable.
template <class Limits>
struct fan_out_word {
    static constexpr unsigned edge_at = Limits::reference_bits, lap_at = edge_at + Limits::edge_bits,
                              flags_at = lap_at + Limits::lap_bits;
    static_assert(flags_at + 4 <= 64);
    static constexpr std::uint64_t one = 1, closed_flag = std::uint64_t{1} << flags_at, failed_flag = closed_flag << 1,
                                   kept_flag = closed_flag << 2, watched_flag = closed_flag << 3;
    static constexpr std::uint64_t max_references = (std::uint64_t{1} << Limits::reference_bits) - 1;
    static constexpr std::uint64_t max_edge = (std::uint64_t{1} << Limits::edge_bits) - 1;
    static constexpr std::uint64_t lap_mask = (std::uint64_t{1} << Limits::lap_bits) - 1;

    std::uint64_t value = 0;

    constexpr std::uint64_t references() const { return value & max_references; }
    constexpr std::uint32_t edge() const { return static_cast<std::uint32_t>(value >> edge_at & max_edge); }
    constexpr std::uint64_t lap() const { return value >> lap_at & lap_mask; }
    constexpr bool closed() const { return (value & closed_flag) != 0; }
    constexpr bool failed() const { return (value & failed_flag) != 0; }
    constexpr bool kept() const { return (value & kept_flag) != 0; }
    constexpr bool watched() const { return (value & watched_flag) != 0; }
    constexpr bool spent() const { return references() == (kept() ? 1U : 0U); }

    constexpr fan_out_word with_edge(std::uint32_t e) const {
        return {(value & ~(max_edge << edge_at)) | std::uint64_t{e} << edge_at};
    }
    constexpr fan_out_word unwatched() const { return {value & ~watched_flag}; }
};

enum class link_result {
    linked,  // the task will find the edge when it ends
    ended,   // it has ended normally; the reference is held if one was asked for
    failed,  // it has ended, and its consumers are cancelled
    gone,    // it was consumed; its output is gone
};

template <class Sync = real_sync, class Limits = task_graph_limits>
class fan_out {
public:
    using word = fan_out_word<Limits>;

    struct step {
        std::uint32_t newest_edge;  // 0: none
        bool notify;                // the caller must wake the submitter
    };

    fan_out() { word_.store(0, std::memory_order_relaxed); }

    // Begins a new task in a consumed slot. The task holds one reference, and an open scope holds another.
    void open(std::uint64_t lap, bool kept) {
        const std::uint64_t references = kept ? 2 * word::one + word::kept_flag : word::one;
        word_.store((lap & word::lap_mask) << word::lap_at | references, std::memory_order_relaxed);
    }

    // Puts the edge in front of the list of the lap's task, or returns why it cannot. `hold`: also takes a reference,
    // unless the task is gone. set_next(e) must write e as the edge after it.
    template <class SetNext>
    [[nodiscard]] link_result link(std::uint64_t lap, std::uint32_t edge, bool hold, SetNext set_next) {
        word seen{word_.load(std::memory_order_acquire)};  // S2
        for (;;) {
            if (seen.lap() != (lap & word::lap_mask) || seen.references() == 0) return link_result::gone;  // I5
            word wanted{seen.unwatched().value + (hold ? word::one : 0)};
            if (!seen.closed()) {
                set_next(seen.edge());
                wanted = wanted.with_edge(edge);
            } else if (!hold) {
                return end_of(seen);
            }
            if (word_.compare_exchange_weak(seen.value, wanted.value, std::memory_order_release,  // S1
                                            std::memory_order_acquire))                           // S2
                return seen.closed() ? end_of(seen) : link_result::linked;
        }
    }

    // Call it when the task has ended. After it the caller may touch nothing of the slot (I2, I3).
    [[nodiscard]] step close(bool failed) {
        const std::uint64_t change = word::closed_flag + (failed ? word::failed_flag : 0) - word::one;
        const word before{word_.fetch_add(change, std::memory_order_acq_rel)};  // S1 to S4
        return {before.edge(), makes_it_spent(before)};
    }

    // Gives a reference back. True: the caller must wake the submitter. After it the caller may touch nothing of the
    // slot (I2).
    [[nodiscard]] bool release() {
        return makes_it_spent(word{word_.fetch_sub(word::one, std::memory_order_acq_rel)});  // S3, S4
    }

    // Gives the scope's reference back. Relaxed: the submitter itself reclaims.
    void end_scope() { word_.fetch_sub(word::one + word::kept_flag, std::memory_order_relaxed); }

    // Asks to be notified when the task is spent. True: it is spent already, and no notification will come.
    [[nodiscard]] bool watch() {
        return word{word_.fetch_or(word::watched_flag, std::memory_order_acq_rel)}.spent();  // S3, S4
    }

    [[nodiscard]] bool consumed() const { return word{word_.load(std::memory_order_acquire)}.references() == 0; }  // S3
    [[nodiscard]] bool spent() const { return word{word_.load(std::memory_order_acquire)}.spent(); }               // S3
    word snapshot() const { return {word_.load(std::memory_order_relaxed)}; }

private:
    static link_result end_of(word w) { return w.failed() ? link_result::failed : link_result::ended; }
    static bool makes_it_spent(word before) {
        return before.watched() && word{before.value - word::one}.spent();  // I4
    }

    typename Sync::template atomic<std::uint64_t> word_;
};

}  // namespace apiary
