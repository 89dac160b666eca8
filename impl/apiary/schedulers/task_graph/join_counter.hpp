// join_counter: counts the producers that a task still waits for. The last one to arrive makes the task ready.
//
// When to use it. In the slots of a task_window. When not: for a thread that waits (latch).
//
// The creation hold. A task must not become ready while its edges are being added. This cannot happen: the counter
// expects all producers from the start, and the submitter links the last edge when everything else is in place. For
// producers that ended before their edge was added, the submitter itself calls arrive.
//
// Threads.   expect: the submitter, before the first edge. arrive: each producer once, or the submitter
//            for it. start, state: the worker that runs the task; the submitter, as a hint.
// Progress.  Wait-free.
// Invariants
//   I1  Each unit is given back once. Exactly one call, the one that gives back the last units, returns true.
//   I2  A caller that finds exactly as many units left as it brings is the only one that can change the count. So it
//       needs no read-modify-write.
//
// Synchronisation
//   S1  arrive: fetch_sub (release) -> the last arrive: load or fetch_sub (acquire). The thread that makes the task
//       ready sees what all producers did (exhibit B35).
//
// Checked by model_check/schedulers/task_graph.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class join_counter {
public:
    static constexpr std::uint32_t running = UINT32_MAX;

    join_counter() { left_.store(0, std::memory_order_relaxed); }

    void expect(std::uint32_t producers) { left_.store(producers, std::memory_order_relaxed); }

    // True: the task is ready, and the caller must queue it.
    [[nodiscard]] bool arrive(std::uint32_t producers = 1) {
        if (left_.load(std::memory_order_acquire) == producers) {  // S1, I2
            left_.store(0, std::memory_order_relaxed);
            return true;
        }
        return left_.fetch_sub(producers, std::memory_order_acq_rel) == producers;  // S1
    }

    // For reports only: afterwards left() is `running` and no longer a number of producers.
    void start() { left_.store(running, std::memory_order_relaxed); }
    std::uint32_t left() const { return left_.load(std::memory_order_relaxed); }

private:
    typename Sync::template atomic<std::uint32_t> left_;
};

}  // namespace apiary
