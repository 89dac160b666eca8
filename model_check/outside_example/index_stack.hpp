// index_stack: a lock-free stack of small numbers, such as the free slots of a pool.
//
// Threads.   all: any thread.
// Progress.  lock-free.
// Precondition of push: the index is in no stack; the thread that popped it may push it.
//
// Invariants
//   I1  head = tag and index of the newest element; next_[i] = the element below i.
//   I2  Every push and pop changes the tag, so a head that looks the same is the same (ABA), until the tag has gone once
//       around while a pop stands still: 2^Limits::tag_bits changes. With 0 bits two changes are enough.
//
// Synchronisation
//   S1  push: compare-exchange of the head (release) -> pop: its look at the head (acquire), the first one and those of a
//       compare-exchange that fails. Every change of the head continues what earlier ones released.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include <apiary/sync/real_sync.hpp>

struct index_stack_limits {
    static constexpr unsigned capacity = 1024, tag_bits = 48;
};

template <class Sync = apiary::real_sync, class Limits = index_stack_limits>
class index_stack {
public:
    index_stack() {
        head_.store(nothing, std::memory_order_relaxed);
        for (auto& next : next_) next.store(nothing, std::memory_order_relaxed);
    }

    void push(unsigned index) {
        std::uint64_t seen = head_.load(std::memory_order_relaxed);
        do {
            next_[index].store(index_of(seen), std::memory_order_relaxed);
        } while (!head_.compare_exchange_weak(seen, after(seen, index), std::memory_order_release,  // S1
                                              std::memory_order_relaxed));
    }

    std::optional<unsigned> pop() {
        std::uint64_t seen = head_.load(std::memory_order_acquire);  // S1: next_ of what is at the head
        for (;;) {
            if (index_of(seen) == nothing) return std::nullopt;
            const std::uint64_t next = next_[index_of(seen)].load(std::memory_order_relaxed);
            // Acquire where it succeeds: free while the tag tells heads apart (the one replaced is the one seen), needed without.
            if (head_.compare_exchange_weak(seen, after(seen, next), std::memory_order_acquire,
                                            std::memory_order_acquire))  // S1
                return static_cast<unsigned>(index_of(seen));
        }
    }

private:
    static constexpr unsigned index_bits = 16;
    static constexpr std::uint64_t nothing = (1U << index_bits) - 1;
    static_assert(Limits::capacity < nothing && Limits::tag_bits <= 64 - index_bits);

    static std::uint64_t index_of(std::uint64_t head) { return head & nothing; }
    static std::uint64_t after(std::uint64_t seen, std::uint64_t index) {
        constexpr std::uint64_t tags = (std::uint64_t{1} << Limits::tag_bits) - 1;
        return (((seen >> index_bits) + 1) & tags) << index_bits | index;
    }

    typename Sync::template atomic<std::uint64_t> head_;
    std::array<typename Sync::template atomic<std::uint64_t>, Limits::capacity> next_;
};
