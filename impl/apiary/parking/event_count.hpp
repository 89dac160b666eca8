// event_count: a condition variable for lock-free conditions. Threads wait for "something has changed"; a thread that
// changes something pays a fence and a load while no thread waits.
//
//     waiter                                     notifier
//     for (;;) {
//         events.prepare_wait();
//         if (take_work()) {                     publish the work
//             events.cancel_wait();              events.notify_one();
//             break;
//         }
//         events.commit_wait(my_number);
//     }
//
// When to use it. To wait for a condition that is kept in lock-free structures of any kind, with many waiters that are
// alike. When not: to wake a certain thread (use a parker), to save a wake while another worker already looks
// (idle_set), or to wait with a deadline (a waiter in the middle of the stack cannot leave).
//
// Waiters must be alike: before it commits, each of them looks for whatever a notify may announce. A signal may go to a
// waiter that prepared after the notify. That waiter looks after the notify, too, and finds what the other would have
// found, provided that it looks for it. Threads that wait for different things need an event count each.
//
// Threads.   notify_*: any thread. The others: a waiting thread. At most `max_waiters` threads are between prepare_wait
//            and the commit_wait or cancel_wait that ends it. A waiter's number belongs to one thread at a time.
// Progress.  prepare_wait: wait-free. cancel_wait, notify_one, notify, notify_all: lock-free. commit_wait: blocks.
// Errors.    The constructor throws std::length_error for more waiters than the word can name.
// Lifetime.  As a parker's: it must outlive the return of every notify.
//
// One word holds four fields, whose widths are in Limits:
//   top      the waiter that committed last, or none; each names the one below it: a stack
//   before   threads between prepare_wait and commit or cancel
//   signals  of those, how many need not block
//   epoch    counts the commits, so that a stack that looks the same is the same (unless 2^epoch_bits commits happen
//            while a notifier stands still between two of its steps; exhibit B29_epoch_wraps)
//
// Invariants
//   I1  signals <= before. A canceller takes a signal along only if signals == before: then one of them is its own.
//       Otherwise it leaves the signals to the others (exhibit B20).
//   I2  signals > 0 only while the stack is empty: notify wakes a committed waiter before it signals one that has not
//       committed. So no waiter misses a signal that a cancel takes along: none sleeps, and one that prepares later
//       looks later.
//   I3  A waiter is unparked exactly once for each time it is popped, and parks exactly once for each push.
//
// Synchronisation
//   E1  Store buffering: the waiter adds itself to `before`, then looks for work; the notifier publishes, then looks at
//       the word. Both have a seq_cst fence between the two steps: one of them sees the other.
//   E2  After its commit_wait a waiter sees whatever was published before the notify that ends it: by the parker's
//       token, or from the signal (release) to the commit that takes it (acquire).
//   E3  The push (release) -> the notifier's load (acquire): publishes the waiter's link. All changes of the word are
//       read-modify-writes, so the release sequence of a push continues under later ones.
//
// Checked by model_check/parking/event_count_check.cpp. Stressed by stress/parking/idle_stress.cpp.
// Source: Vyukov's eventcount, 2008. Eigen's has the same four fields, but serves uncommitted waiters first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <apiary/parking/parker.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

struct event_count_limits {
    static constexpr unsigned index_bits = 14;  // top; before and signals have as many
    static constexpr unsigned epoch_bits = 22;
};

// The packed word, readable.
template <class Limits>
struct event_word {
    static constexpr unsigned width = Limits::index_bits;
    static_assert(width >= 1 && 3 * width + Limits::epoch_bits <= 64);
    static constexpr std::uint64_t field = (std::uint64_t{1} << width) - 1;
    static constexpr std::uint64_t one_before = std::uint64_t{1} << width;

    std::uint64_t value = 0;

    constexpr std::uint64_t top() const { return value & field; }  // 1 + the waiter's number; 0: none
    constexpr std::uint64_t before() const { return value >> width & field; }
    constexpr std::uint64_t signals() const { return value >> 2 * width & field; }
    constexpr std::uint64_t epoch() const { return value >> 3 * width; }

    static constexpr event_word of(std::uint64_t top, std::uint64_t before, std::uint64_t signals,
                                   std::uint64_t epoch) {
        constexpr std::uint64_t whole_epoch = (std::uint64_t{1} << Limits::epoch_bits) - 1;
        return {top | before << width | signals << 2 * width | (epoch & whole_epoch) << 3 * width};
    }
};

template <class Sync = real_sync, class Limits = event_count_limits, class Parker = basic_parker<Sync>>
class event_count {
public:
    using word = event_word<Limits>;
    static constexpr std::size_t max_waiters = word::field;

    explicit event_count(std::size_t waiters) : waiters_(checked(waiters)) {
        word_.store(0, std::memory_order_relaxed);
    }

    // Next, look for work and call cancel_wait or commit_wait.
    void prepare_wait() {
        word_.fetch_add(word::one_before, std::memory_order_relaxed);
        Sync::fence(std::memory_order_seq_cst);  // E1
    }

    // Call it if there is work, or another reason not to wait.
    void cancel_wait() {
        word seen{word_.load(std::memory_order_relaxed)};
        for (;;) {
            const bool one_is_mine = seen.signals() == seen.before();  // I1
            const word left =
                word::of(seen.top(), seen.before() - 1, seen.signals() - (one_is_mine ? 1U : 0U), seen.epoch());
            // Relaxed: it decides which waiter has the signal, and orders nothing.
            if (word_.compare_exchange_weak(seen.value, left.value, std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
                if (one_is_mine) Sync::reach("event_count.cancel_took_its_signal");
                if (left.signals() != 0) Sync::reach("event_count.cancel_left_a_signal");
                return;
            }
        }
    }

    // Blocks until a notify that came after this thread's prepare_wait and that no other waiter took.
    void commit_wait(std::size_t waiter) {
        word seen{word_.load(std::memory_order_relaxed)};
        for (;;) {
            if (seen.signals() != 0) {
                const word left = word::of(seen.top(), seen.before() - 1, seen.signals() - 1, seen.epoch());
                if (word_.compare_exchange_weak(seen.value, left.value, std::memory_order_acquire,  // E2
                                                std::memory_order_relaxed)) {
                    Sync::reach("event_count.commit_took_a_signal");
                    return;
                }
            } else {
                waiters_[waiter].below.store(seen.top(), std::memory_order_relaxed);
                const word pushed = word::of(waiter + 1, seen.before() - 1, 0, seen.epoch() + 1);
                if (word_.compare_exchange_weak(seen.value, pushed.value, std::memory_order_release,  // E3
                                                std::memory_order_relaxed)) {
                    Sync::reach("event_count.commit_sleeps");
                    waiters_[waiter].parker.park();
                    return;
                }
            }
        }
    }

    // At least one waiter that prepared before this call looks again, if there is one. n calls end at most n waits, so
    // none is woken in vain.
    void notify_one() { notify(1); }

    void notify(std::size_t n) {
        Sync::fence(std::memory_order_seq_cst);  // E1
        while (n != 0) {
            word seen{word_.load(std::memory_order_acquire)};  // E3
            if (seen.top() != 0) {
                waiting_thread& first = waiters_[seen.top() - 1];
                const word popped =
                    word::of(first.below.load(std::memory_order_relaxed), seen.before(), seen.signals(), seen.epoch());
                // Relaxed: the parker's token carries what was published.
                if (word_.compare_exchange_weak(seen.value, popped.value, std::memory_order_relaxed,
                                                std::memory_order_relaxed)) {
                    Sync::reach("event_count.notify_woke");
                    first.parker.unpark();
                    --n;
                } else {
                    Sync::reach("event_count.notify_lost");
                }
            } else if (seen.signals() < seen.before()) {
                const std::uint64_t open = seen.before() - seen.signals();
                const word signalled = word::of(0, seen.before(), seen.signals() + (n < open ? n : open), seen.epoch());
                if (word_.compare_exchange_weak(seen.value, signalled.value, std::memory_order_release,  // E2
                                                std::memory_order_relaxed)) {
                    Sync::reach("event_count.notify_signalled");
                    return;
                }
            } else {
                return;
            }
        }
    }

    // Every waiter that prepared before this looks again.
    void notify_all() {
        Sync::fence(std::memory_order_seq_cst);  // E1
        word seen, all;
        do {
            seen = {word_.load(std::memory_order_acquire)};  // E3
            if (seen.top() == 0 && seen.signals() == seen.before()) return;
            all = word::of(0, seen.before(), seen.before(), seen.epoch());
        } while (!word_.compare_exchange_weak(seen.value, all.value, std::memory_order_release,  // E2
                                              std::memory_order_relaxed));
        if (seen.top() != 0 && seen.before() != 0) Sync::reach("event_count.notify_all_met_both");
        for (std::uint64_t next = seen.top(); next != 0;) {
            waiting_thread& w = waiters_[next - 1];
            // read before the unpark, after which the waiter may commit again
            next = w.below.load(std::memory_order_relaxed);
            w.parker.unpark();
        }
    }

    word snapshot() const { return {word_.load(std::memory_order_relaxed)}; }

private:
    struct alignas(cache_line) waiting_thread {
        Parker parker;
        typename Sync::template atomic<std::uint64_t> below{0};  // 1 + the number of the waiter below; 0: none
    };

    static std::size_t checked(std::size_t waiters) {
        if (waiters <= max_waiters) return waiters;
        throw std::length_error("event_count: " + std::to_string(waiters) + " waiters; the word can name " +
                                std::to_string(max_waiters));
    }

    alignas(cache_line) typename Sync::template atomic<std::uint64_t> word_;
    std::vector<waiting_thread> waiters_;
};

}  // namespace apiary
