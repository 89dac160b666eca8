// poll_parker: a parker whose owner blocks on the parker's futex or, while it has descriptors to watch, in a system
// call of its own, which an interrupt ends. The futex is much the cheaper of the two.
//
// When to use it. For an event loop that is mostly just woken. When not: if the owner never polls (basic_parker).
//
// Threads.   park_until, poll_until_woken: the owner. unpark: any.
// Progress.  unpark: wait-free, except for the interrupt. The others block.
//
// Invariants
//   I1  The token is the parker's: a wake stays until a park or a poll takes it, whichever way the owner waits next.
//   I2  An interrupt ends one poll. An interrupt that comes late ends a later poll, which keeps its token.
//
// Synchronisation
//   S1  poll_until_woken: sets `polls_`, then looks for the token. unpark: leaves the token, then looks at `polls_`.
//       Both have a seq_cst fence between the two steps. Store buffering: the owner sees the token, or the waker
//       interrupts.
//
// Checked by model_check/parking/parker_check.cpp. Not modelled: that an interrupt (a write to an eventfd) also ends a
// poll (epoll_pwait2) that begins later.
#pragma once

#include <cstdint>

#include <apiary/parking/parker.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class poll_parker {
public:
    static constexpr std::int64_t forever = Sync::forever;

    poll_parker() { polls_.store(false, std::memory_order_relaxed); }

    // False: the deadline passed and there was no token.
    bool park_until(std::int64_t deadline_ns) { return parker_.park_until(deadline_ns); }

    // Unless there is a token, calls `poll`, which an interrupt ends. At its end takes the token if there is one.
    template <class Poll>
    void poll_until_woken(Poll poll) {
        polls_.store(true, std::memory_order_relaxed);
        Sync::fence(std::memory_order_seq_cst);  // S1
        if (parker_.take_token()) {
            Sync::reach("poll_parker.token_was_there");
        } else {
            poll();
            (void)parker_.take_token();
        }
        polls_.store(false, std::memory_order_relaxed);
    }

    template <class Interrupt>
    void unpark(Interrupt interrupt) {
        parker_.unpark();
        Sync::fence(std::memory_order_seq_cst);  // S1
        if (!polls_.load(std::memory_order_relaxed)) return;
        Sync::reach("poll_parker.interrupted");
        interrupt();
    }

private:
    basic_parker<Sync> parker_;
    typename Sync::template atomic<bool> polls_;
};

}  // namespace apiary
