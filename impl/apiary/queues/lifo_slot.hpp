// lifo_slot: room for one element, in front of a work-stealing deque. One owner puts and takes with plain stores and
// loads; thieves take, too, and pay for both sides.
//
// When to use it. For the newest ready task of a worker, which runs next there unless the task that posted it is long.
// When not: if thefts are as frequent as takes, since each costs a system call.
//
// Threads.   put, take, vacant: the owner, one thread at a time. looks_empty, met, steal: any.
// Progress.  Wait-free. A take that meets a thief adds one compare-exchange; a steal may give up.
// Elements.  Pointers, never null.
//
// Invariants
//   I1  `element_` holds the element, or null. Only the owner stores an element there.
//   I2  `turn_` is odd while the owner takes. It changes with each take, so no take lies between two equal turns.
//   I3  One thief at a time: the one that turns `claimed_` from false to true.
//   I4  While a thief with `claimed_` set is past its fence, and saw an even turn, every take of the owner sees the
//       claim: both then take by compare-exchange, and one of them gets the element. Otherwise the thief leaves it
//       alone.
//
// Synchronisation
//   S1  put: store element (release) -> steal: compare-exchange (acquire). Publishes what it points to.
//   S2  take: odd turn, light fence, load claim. steal: claim, heavy fence, load turn. Store buffering: the owner sees
//       the claim, or the thief sees the odd turn, or that the take is over.
//   S3  take: store the even turn (release) -> steal: load turn (acquire). A thief that sees that a take is over finds
//       the slot empty.
//   S4  steal: clear the claim (release) -> take: load claim (acquire). An owner that sees that a theft is over finds
//       what it left.
//   S5  Owner: put, then a light fence and the look for a sleeper. Sleeper: its announcement, then a heavy fence and
//       looks_empty (idle_set S2).
//
// Checked by model_check/queues/lifo_slot_check.cpp and schedulers/hive/hive_check.cpp.
//
// Go's runnext and Tokio's LIFO slot are the same place, but take it by a compare-exchange each time. Dice, Huang,
// Yang: Asymmetric Dekker synchronization, 2001; Goldblat: Asymmetric fences (P1202).
#pragma once

#include <cstdint>
#include <optional>

#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class T, class Sync = real_sync>
class lifo_slot {
public:
    using turn = std::uint32_t;

    lifo_slot() {
        element_.store(nullptr, std::memory_order_relaxed);
        turn_.store(0, std::memory_order_relaxed);
        claimed_.store(false, std::memory_order_relaxed);
    }
    lifo_slot(const lifo_slot&) = delete;
    lifo_slot& operator=(const lifo_slot&) = delete;

    // For the owner: true if put may follow. It stays true until then.
    bool vacant() const { return element_.load(std::memory_order_relaxed) == nullptr; }

    // Precondition: the slot is vacant.
    void put(T* element) { element_.store(element, std::memory_order_release); }  // S1

    // Null if the slot is empty.
    T* take() {
        if (vacant()) return nullptr;
        const turn before = turn_.load(std::memory_order_relaxed);
        turn_.store(before + 1, std::memory_order_relaxed);
        Sync::fence_light();                                             // S2
        const bool rivalled = claimed_.load(std::memory_order_acquire);  // S2, S4
        T* element = element_.load(std::memory_order_relaxed);
        if (rivalled) [[unlikely]]
            element = race_for(element);
        else
            element_.store(nullptr, std::memory_order_relaxed);
        turn_.store(before + 2, std::memory_order_release);  // S3
        return element;
    }

    // A hint: the slot is empty, or its owner is taking the element. It does not miss an element whose put precedes it
    // in the order of asymmetric fences (S5).
    bool looks_empty() const { return !met(); }

    // A hint: the turn at which the slot holds an element. If two calls return the same turn, the owner took nothing in
    // between.
    std::optional<turn> met() const {
        if (vacant()) return std::nullopt;
        const turn now = turn_.load(std::memory_order_relaxed);
        return now % 2 == 0 ? std::optional(now) : std::nullopt;
    }

    // Null if the slot is empty, or the owner or another thief is taking the element.
    T* steal() {
        if (looks_empty() || claimed_.exchange(true, std::memory_order_relaxed)) return nullptr;  // I3
        Sync::fence_heavy();                                                                      // S2
        T* element = nullptr;
        if (turn_.load(std::memory_order_acquire) % 2 == 0)  // S2, S3
            element = race_for(element_.load(std::memory_order_relaxed));
        else
            Sync::reach("lifo_slot.left_to_the_owner");
        claimed_.store(false, std::memory_order_release);  // S4
        return element;
    }

private:
    // I4. An element that was taken and put again meanwhile is as good: takes what is there then.
    T* race_for(T* element) {
        Sync::reach("lifo_slot.raced");
        const bool won =
            element != nullptr && element_.compare_exchange_strong(element, nullptr, std::memory_order_acquire,  // S1
                                                                   std::memory_order_relaxed);
        return won ? element : nullptr;
    }

    alignas(cache_line) typename Sync::template atomic<T*> element_;
    typename Sync::template atomic<turn> turn_;
    typename Sync::template atomic<bool> claimed_;
};

}  // namespace apiary
