// basic_parker: one thread parks, any thread unparks it. A binary token on a futex.
//
// When to use it. If one thread waits until another has something for it: the driver of a worker, a waiter of an event
// count. When not: for several waiters (event_count), or where a mutex and a condition variable do as well.
//
// Threads.   park, park_until, take_token: one thread at a time, the owner. unpark: any.
// Progress.  unpark: wait-free; it makes a system call only if the owner may be asleep. park: blocks.
// Errors.    None. A deadline in the past does not block; nor does 0 or a negative one (nanoseconds of Sync::now_ns).
// Lifetime.  unpark may touch the word for a moment after the park that takes its token has returned: the parker must
//            outlive the *return* of every unpark (exhibit B25).
//
// Invariants
//   I1  The word is `token` from an unpark until a park takes it: a wake that comes first is not lost, and two wakes
//       before one park are one.
//   I2  The word is `asleep` only between the first and the last step of a park; an unpark that finds it so wakes the
//       owner.
//   I3  park returns only with a token; park_until with a token or after its deadline. No token is made up.
//
// Synchronisation
//   P1  unpark: exchange (release) -> the exchange of the park that takes the token (acquire). Every change of the word
//       is a read-modify-write, so a token laid over a token carries what both unparks published.
//   P2  No wake is missed: the kernel compares the word with `asleep` and blocks in one step, and unpark changes the
//       word before it wakes.
//
// Checked by model_check/parking/parker_check.cpp: the same outcomes as the policies' abstract parker, exhaustively.
// Stressed by stress/parking/parker_stress.cpp. Not modelled: the system call.
// Source: Drepper, "Futexes are tricky", 2011; std::thread::park of Rust has the same three states.
#pragma once

#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class basic_parker {
public:
    static constexpr std::int64_t forever = Sync::forever;

    // Blocks until there is a token, and takes it.
    void park() { (void)park_until(forever); }

    // False: the deadline passed and there was no token.
    bool park_until(std::int64_t deadline_ns) {
        std::uint32_t seen = empty;
        if (!word_.compare_exchange_strong(seen, asleep, std::memory_order_relaxed, std::memory_order_relaxed)) {
            // The token was there. An exchange, not a store: a newer unpark may have laid its token over the one just
            // seen, and the owner must acquire what that one published.
            word_.exchange(empty, std::memory_order_acquire);  // P1
            Sync::reach("parker.token_was_there");
            return true;
        }
        bool in_time = true;
        while (in_time && word_.load(std::memory_order_relaxed) == asleep) in_time = word_.wait(asleep, deadline_ns);
        // A token that arrives together with the deadline counts.
        const bool token_came = word_.exchange(empty, std::memory_order_acquire) == token;  // P1
        if (!in_time) Sync::reach(token_came ? "parker.token_at_the_deadline" : "parker.timed_out");
        return token_came;
    }

    // For the owner: takes the token, and tells whether there was one.
    bool take_token() {
        return word_.load(std::memory_order_relaxed) == token &&
               word_.exchange(empty, std::memory_order_acquire) == token;  // P1
    }

    // Leaves a token, and wakes the owner if it may be asleep.
    void unpark() {
        const std::uint32_t before = word_.exchange(token, std::memory_order_release);  // P1
        if (before == asleep) word_.wake_one();                                         // P2
        if (before == token) Sync::reach("parker.token_over_token");
    }

private:
    static constexpr std::uint32_t empty = 0, asleep = 1, token = 2;

    typename Sync::futex word_{empty};
};

}  // namespace apiary
