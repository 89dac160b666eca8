// mailbox_bound: counts the messages in one mailbox, and refuses more than its limit.
//
// When to use it. In process_place, for a process that has asked for a bound in its init. When not: for the mailbox
// itself, which is the process's word and knows no number.
//
// One word has the count, the limit and the generation of their process. So a sender that comes late, when the place
// has its next process, neither sees that process's limit nor takes or gives back room of it.
//
// Threads.   take, take_beyond, give_back, count, limit: any. open: the owner of the place, before any sender has the
//            pid.
// Progress.  lock-free.
// Invariants
//   I1  Where take alone is used, never more than `most` have taken room and not given it back.
//   I2  Room that was taken of one generation is given back to that generation, or to none.
//
// Synchronisation: none, all is relaxed. The process's word publishes the events; this word alone decides which
// sender has room.
//
// Checked by model_check/schedulers/processes/mailbox_bound_check.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

// What a send to a full mailbox does.
enum class when_full : std::uint8_t {
    refuse,          // the send answers `full`
    suspend_sender,  // one message more is taken in, and its sender is not stepped until the receiver has taken it
    drop_oldest,     // it is taken in; the receiver drops its oldest, which are dead letters
};

// A process asks for its bound in its init: context.mailbox = {.most = 100}.
struct mailbox_limit {
    static constexpr std::uint32_t largest = (1U << 22) - 1;
    std::uint32_t most = 0;  // messages that may wait; 0: no bound; a larger number than `largest` counts as `largest`
    when_full then = when_full::refuse;
};

enum class bound_answer : std::uint8_t { taken, full, gone };  // gone: the place has another process

template <class Sync = real_sync, unsigned GenerationBits = 16>
class mailbox_bound {
    using word = std::uint64_t;

public:
    mailbox_bound() { word_.store(0, std::memory_order_relaxed); }
    mailbox_bound(const mailbox_bound&) = delete;
    mailbox_bound& operator=(const mailbox_bound&) = delete;

    void open(word generation, mailbox_limit l) {
        const word most = l.most < mailbox_limit::largest ? l.most : mailbox_limit::largest;
        word_.store(generation << shift | static_cast<word>(l.then) << then_shift | most << most_shift,
                    std::memory_order_relaxed);
    }
    // `then` receives the policy for a full mailbox. drop_oldest has twice its limit: a receiver that does not run
    // drops nothing.
    [[nodiscard]] bound_answer take(word generation, when_full& then) {
        word seen = word_.load(std::memory_order_relaxed);
        do {
            if (seen >> shift != generation) return bound_answer::gone;
            const mailbox_limit l = limit_of(seen);
            then = l.then;
            if ((seen & count_mask) >= word{l.most} * (then == when_full::drop_oldest ? 2U : 1U))
                return bound_answer::full;
        } while (!word_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed, std::memory_order_relaxed));
        return bound_answer::taken;
    }
    // For a message whose sender waits. False: gone.
    [[nodiscard]] bool take_beyond(word generation) {
        return change(generation, [](word count) { return count + 1; });
    }
    void give_back(word generation, std::uint64_t n) {
        // Less than n: messages that came before init had said its bound were not counted.
        (void)change(generation, [n](word count) { return count < n ? 0 : count - n; });
    }
    // Hints.
    std::uint64_t count(word generation) const {
        const word seen = word_.load(std::memory_order_relaxed);
        return seen >> shift == generation ? seen & count_mask : 0;
    }
    mailbox_limit limit() const { return limit_of(word_.load(std::memory_order_relaxed)); }

private:
    // Twice the largest limit, and a message beyond it for each of four million senders.
    static constexpr unsigned count_bits = 24, most_bits = 22;
    static constexpr unsigned most_shift = count_bits, then_shift = most_shift + most_bits, shift = 64 - GenerationBits;
    static_assert(then_shift + 2 <= shift);
    static constexpr word count_mask = (word{1} << count_bits) - 1;

    static mailbox_limit limit_of(word w) {
        return {static_cast<std::uint32_t>(w >> most_shift & mailbox_limit::largest),
                static_cast<when_full>(w >> then_shift & 3)};
    }
    template <class Next>
    bool change(word generation, Next next) {
        word seen = word_.load(std::memory_order_relaxed);
        do {
            if (seen >> shift != generation) return false;
        } while (!word_.compare_exchange_weak(seen, (seen & ~count_mask) | next(seen & count_mask),
                                              std::memory_order_relaxed, std::memory_order_relaxed));
        return true;
    }

    typename Sync::template atomic<word> word_;  // generation, policy, limit, count
};

}  // namespace apiary
