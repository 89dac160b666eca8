// mailbox_bound: counts the messages in one mailbox, and refuses more than its limit.
//
// When to use it. In process_place, for a process that has asked for a bound in its init. When not: for the mailbox
// itself, which is the process's word and knows no number.
//
// One word has the count, the limit and the generation of a process. So a sender that still has the pid of the place's
// former process neither sees the limit of the next one, nor takes or gives back its room.
//
// Threads.   take, take_beyond, give_back, count, limit: any. open: the owner of the place, before any sender has the
//            pid.
// Progress.  lock-free.
// Invariants
//   I1  If only take is used, at most `most` messages hold room at a time (twice `most` with drop_oldest).
//   I2  Room is given back to the generation from which it was taken, or not at all.
//
// Synchronisation: none; all accesses are relaxed. The process's word publishes the events; this word only decides
// which sender gets room.
//
// Checked by model_check/schedulers/processes/mailbox_bound_check.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

// What happens when a message is sent to a full mailbox.
enum class when_full : std::uint8_t {
    refuse,          // the send returns `full`
    suspend_sender,  // the mailbox takes one more message; its sender is not stepped until the receiver has taken it
    drop_oldest,     // the mailbox takes it; the receiver drops its oldest messages, which are dead letters
};

// A process sets its bound in its init: context.mailbox = {.most = 100}.
struct mailbox_limit {
    static constexpr std::uint32_t largest = (1U << 22) - 1;
    std::uint32_t most = 0;  // messages that may wait; 0: no bound; above `largest` it counts as `largest`
    when_full then = when_full::refuse;
};

enum class bound_answer : std::uint8_t { taken, full, gone };  // gone: the place has another process now

template <class Sync = real_sync, unsigned GenerationBits = 16>
class mailbox_bound {
    using word = std::uint64_t;

public:
    mailbox_bound() = default;
    mailbox_bound(const mailbox_bound&) = delete;
    mailbox_bound& operator=(const mailbox_bound&) = delete;

    void open(word generation, mailbox_limit l) {
        const word most = l.most < mailbox_limit::largest ? l.most : mailbox_limit::largest;
        word_.store(generation << shift | static_cast<word>(l.then) << then_shift | most << most_shift,
                    std::memory_order_relaxed);
    }
    // `then` receives the policy for a full mailbox. With drop_oldest there is room for twice the limit: only a
    // receiver that runs drops messages.
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
    // For a message whose sender waits until it is taken. False: the process is gone.
    [[nodiscard]] bool take_beyond(word generation) {
        return change(generation, [](word count) { return count + 1; });
    }
    void give_back(word generation, std::uint64_t n) {
        // The count may be less than n: messages that came before init set the bound were not counted.
        (void)change(generation, [n](word count) { return count < n ? 0 : count - n; });
    }
    // Hints.
    std::uint64_t count(word generation) const {
        const word seen = word_.load(std::memory_order_relaxed);
        return seen >> shift == generation ? seen & count_mask : 0;
    }
    mailbox_limit limit() const { return limit_of(word_.load(std::memory_order_relaxed)); }

private:
    // Enough for twice the largest limit, and besides for one message beyond the limit from each of four million
    // senders.
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

    typename Sync::template atomic<word> word_{0};  // generation, policy, limit, count
};

}  // namespace apiary
