// idle_set: which workers sleep and how many search, in one word.
//
// A worker is in one of three states, and the word knows two of them:
//   running     it has work, and will look for more before it sleeps; not in the word
//   searching   it was woken to look for work, or looks on before it sleeps or after it has seen some there, and has
//               found none yet; counted
//   sleeping    it sleeps, or has announced that it is about to; its bit is set
// A sleeper that naps looks again by itself within a short while; one bit of the word says that some sleeper naps.
//
// When to use it. For pools whose workers take work from places that several of them can reach: a poster wakes at most
// one sleeper, and none while a searcher is on its way. When not: to wake a fixed thread, for which a parker alone is
// enough. One word names 56 workers; a crew that may have more has several words (idle_sets).
//
// Threads.   announce_sleep, withdraw, announce_nap, end_nap, start_searching, stop_searching: the worker they name.
//            The rest: any.
// Progress.  Wait-free, except claims (end_nap makes one), which are lock-free.
//
// Invariants
//   I1  A set bit is cleared exactly once, by the worker (withdraw) or by a claimer; never by both.
//   I2  searching + sleeping + running = number of workers. A claim moves its worker from sleeping to searching in the
//       same step, so the claimer alone owes that worker one wake.
//   I3  claim_any claims no worker while another one searches. Hence a searcher that finds work stops searching and, if
//       a worker sleeps, looks once more and claims the next; one that finds none announces its sleep and then looks
//       once more at every source, but for I6. The searcher may be descheduled for milliseconds, so its search expires:
//       a post that calls it overdue claims another sleeper, which is never wrong.
//   I4  A worker that announces a nap sets the nap bit, and one that ends a nap clears it: while it is set, some worker
//       is between the two. Its nap ends by itself, soon, and makes it a searcher: it looks for all that posts left to
//       it. With two nappers the first to end clears the bit; posts then wake again, which is never wrong.
//   I5  The bit `one_of_several` is set before the first worker of another set runs, and stays: from then on this word
//       alone shows neither that no worker sleeps nor that all do.
//   I6  A worker that announces its sleep and finds another one counted as a searcher may leave its look to that one,
//       whose end of the search comes later in the order of this word's changes: it looks then, or leaves it in turn to
//       one that still searches. The last searcher finds none, and looks.
//
// Synchronisation: store buffering, made safe twice over.
//   S1  Poster: pushes work, then `claim_any` loads the word. Worker: announce_sleep or stop_searching changes the
//       word, then the worker looks at every source of work. One of the two sees the other: push, word and look are
//       seq_cst accesses (mpsc_inbox, global_pool).
//   S2  If push and look are not seq_cst accesses (chase_lev_deque, steal_half_queue, lifo_slot, fork_list), the
//       pusher, a worker of this set, issues a light fence before the load, and the other worker passes a heavy one,
//       its own or a shared one, before its look, by fence_against_pushers. A worker that sleeps pushes nothing; when
//       it wakes it changes the word and so sees what was announced meanwhile. Hence no fence is needed if each of the
//       others sleeps or is at rest (push_mark).
//
// Checked by model_check/parking/idle_set_check.cpp and schedulers/hive/hive_check.cpp. A load in place of the
// read-modify-write of stop_searching is the bug of tokio #1768; sleeping without the second look is exhibit A01.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

// The packed word, readable.
struct idle_word {
    static constexpr unsigned sleeper_bits = 56;
    static constexpr std::uint64_t one_of_several = std::uint64_t{1} << sleeper_bits;
    static constexpr std::uint64_t one_searcher = one_of_several << 1;  // 6 bits
    static constexpr std::uint64_t nap = std::uint64_t{1} << 63;
    static_assert(sleeper_bits < nap / one_searcher);

    std::uint64_t value = 0;

    constexpr std::uint64_t sleepers() const { return value & (one_of_several - 1); }
    // True if other words hold workers of the same crew.
    constexpr bool several() const { return (value & one_of_several) != 0; }
    constexpr bool somebody_may_sleep() const { return (value & (one_searcher - 1)) != 0; }
    constexpr unsigned searching() const { return static_cast<unsigned>((value & ~nap) / one_searcher); }
    constexpr bool napping() const { return (value & nap) != 0; }
    // True if a worker sleeps here, or may sleep in another word, and no worker searches or, if the work can wait as
    // long as a nap, naps. Every post makes this test, hence a single comparison.
    constexpr bool calls_for_a_wake(bool can_wait) const {
        return (can_wait ? value : value & ~nap) - 1 < one_searcher - 1;
    }
    constexpr bool relies_on_a_searcher() const { return sleepers() != 0 && searching() != 0; }
    constexpr bool sleeps(unsigned worker) const { return ((value >> worker) & 1U) != 0; }
    constexpr unsigned first_sleeper() const { return static_cast<unsigned>(std::countr_zero(sleepers())); }
    static constexpr std::uint64_t bit(unsigned worker) { return std::uint64_t{1} << worker; }
};

template <class Sync = real_sync>
class idle_set {
public:
    static constexpr unsigned max_workers = idle_word::sleeper_bits;

    idle_set() { word_.store(0, std::memory_order_relaxed); }

    // Call it before the first worker of another set begins, and for every set but the first before a worker of it
    // begins: a post that does not see the bit comes before all that this worker announces (S1).
    void is_one_of_several() { word_.fetch_or(idle_word::one_of_several, std::memory_order_seq_cst); }

    // Precondition: the worker's bit is clear. The worker is about to sleep: from now on it may be claimed. It then
    // looks at every source of work (but for I6), and calls withdraw if it found some. Returns the word as it was, as
    // stop_searching does.
    idle_word announce_sleep(unsigned worker, bool was_searching) {
        // Its own bit is clear and a searcher is counted, so one addition changes both fields.
        const std::uint64_t change = idle_word::bit(worker) - (was_searching ? idle_word::one_searcher : 0);
        return {word_.fetch_add(change, std::memory_order_seq_cst)};  // S1
    }

    // The worker is awake again. True: it woke by itself, and is running. False: it was claimed, is now searching, and
    // a wake for it is on its way or has come.
    [[nodiscard]] bool withdraw(unsigned worker) {
        // Relaxed: it decides whether worker or claimer owns the bit, and orders nothing.
        const idle_word before{word_.fetch_and(~idle_word::bit(worker), std::memory_order_relaxed)};
        return before.sleeps(worker);
    }

    // announce_sleep, for a worker that wakes by itself within a short while and then calls end_nap instead of
    // withdraw.
    void announce_nap(unsigned worker, bool was_searching) {
        word_.fetch_or(idle_word::nap, std::memory_order_relaxed);  // announce_sleep orders it
        announce_sleep(worker, was_searching);
    }

    // The worker is awake again, and searching. True: it woke by itself. False: it was claimed, and a wake for it is on
    // its way or has come.
    [[nodiscard]] bool end_nap(unsigned worker) {
        // Claims first: a poster that still sees the nap bit relies on the search, which has begun by then.
        const bool by_itself = claim(worker);
        word_.fetch_and(~idle_word::nap, std::memory_order_relaxed);
        return by_itself;
    }

    // A running worker searches from now on: posts rely on it, and it ends the search as one that was woken does, by
    // stop_searching or announce_sleep. Relaxed: a post that sees the count comes before that end, which S1 orders
    // before the look; one that does not see it wakes a sleeper.
    void start_searching() { word_.fetch_add(idle_word::one_searcher, std::memory_order_relaxed); }

    // Call it when a searcher has found work. It then looks for more, since posts have relied on it until now, and
    // claims another worker if there is some.
    idle_word stop_searching() {
        return {word_.fetch_sub(idle_word::one_searcher, std::memory_order_seq_cst)};  // S1
    }

    // Call it after announce_sleep or stop_searching and before the look, if workers push without a seq_cst access
    // (S2). `before`: the word that the call returned. `workers()`: the number of workers in all sets; a thread that
    // adds a worker calls Sync::fence_heavy() before that one begins. `may_push()`: whether one of the others may push
    // (push_mark). It may pass a heavy fence itself, and then answers false (shared_fence).
    template <class Workers, class MayPush>
    static void fence_against_pushers(idle_word before, unsigned self, Workers workers, MayPush may_push) {
        Sync::fence_light();  // orders the change of the word before the read of the number
        const unsigned all = workers();
        if (static_cast<unsigned>(std::popcount(before.sleepers() | idle_word::bit(self))) >= all) return;
        if (may_push()) Sync::fence_heavy();
    }
    template <class Workers>
    static void fence_against_pushers(idle_word before, unsigned self, Workers workers) {
        fence_against_pushers(before, self, workers, [] { return true; });
    }

    // Claims one sleeper if there is one and no worker searches or, if the work can wait as long as a nap (`can_wait`),
    // naps. The caller must wake it. Calls `overdue()` if there is a sleeper and a worker searches; true: that search
    // does not count.
    template <class Overdue>
    [[nodiscard]] std::optional<unsigned> claim_any(bool can_wait, Overdue overdue) {
        idle_word seen = look();
        return claim_any(seen, can_wait, overdue);
    }

    // The same in two steps, for a caller that wants only the first in its fast path.
    [[nodiscard]] idle_word look() const { return {word_.load(std::memory_order_seq_cst)}; }  // S1
    // `seen`: the word that look returned; afterwards, the word on which the answer rests.
    template <class Overdue>
    [[nodiscard]] std::optional<unsigned> claim_any(idle_word& seen, bool can_wait, Overdue overdue) {
        while (seen.sleepers() != 0 &&
               (seen.calls_for_a_wake(can_wait) || (seen.relies_on_a_searcher() && overdue()))) {
            const unsigned worker = seen.first_sleeper();
            if (move_to_searching(seen, worker)) return worker;
            Sync::reach("idle_set.claim_lost");
        }
        if (seen.sleepers() != 0)
            Sync::reach(seen.relies_on_a_searcher() ? "idle_set.relied_on_a_searcher" : "idle_set.left_to_a_napper");
        return std::nullopt;
    }

    // Treats any search under way as sufficient.
    [[nodiscard]] std::optional<unsigned> claim_any(bool can_wait = false) {
        return claim_any(can_wait, [] { return false; });
    }

    // Claims this sleeper, whether another worker searches or not. False: it does not sleep. The caller must wake it.
    [[nodiscard]] bool claim(unsigned worker) {
        idle_word seen{word_.load(std::memory_order_seq_cst)};  // S1
        while (seen.sleeps(worker))
            if (move_to_searching(seen, worker)) return true;
        return false;
    }

    idle_word snapshot() const { return {word_.load(std::memory_order_relaxed)}; }

private:
    bool move_to_searching(idle_word& seen, unsigned worker) {
        const std::uint64_t claimed = seen.value - idle_word::bit(worker) + idle_word::one_searcher;
        // Acquire: the claimer sees the worker, which may have been attached since, as it was at its announcement. No
        // release: the claimed worker sees through its parker what it must see, and a decision not to claim rests on
        // the load before the first attempt.
        return word_.compare_exchange_weak(seen.value, claimed, std::memory_order_acquire, std::memory_order_relaxed);
    }

    alignas(cache_line) typename Sync::template atomic<std::uint64_t> word_;
};

}  // namespace apiary
