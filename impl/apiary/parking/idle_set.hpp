// idle_set: which workers sleep and how many search, in one word.
//
// A worker is in one of three states, and the word knows two of them:
//   running     it has work, and will look for more before it sleeps; not in the word
//   searching   it was woken to look for work and has not found any yet; counted
//   sleeping    it sleeps, or has announced that it is about to; its bit is set
// A sleeper that naps looks again by itself within a short while; a bit of the word says that somebody does.
//
// When to use it. For pools whose workers take work from places that several of them can reach: a
// poster wakes at most one sleeper, and none while a searcher is on its way. When not: to wake a fixed
// thread, for which a parker alone is enough. One word names 56 workers; a crew that may have more has several (idle_sets).
//
// Threads.   announce_sleep, withdraw, announce_nap, end_nap, stop_searching: the worker they name. The rest: any.
// Progress.  wait-free, but for claims, which are lock-free.
//
// Invariants
//   I1  A set bit is cleared exactly once, by the worker (withdraw) or by a claimer; never both.
//   I2  searching + sleeping + running = number of workers. A claim moves its worker from sleeping to
//       searching in the same step, so the claimer alone owes that worker one wake.
//   I3  claim_any claims nobody while somebody searches. Hence a searcher that finds work stops
//       searching, and where somebody sleeps looks once more and claims the next; one that finds none announces its
//       sleep and then looks once more at every source. A searcher may lie for milliseconds behind another thread: posts that say
//       its search is overdue claim another sleeper, which is never wrong.
//   I4  The nap bit is set by a worker that announces a nap and cleared by one that ends a nap: when set, one is between the two.
//       Its nap ends by itself, soon, and with it it becomes a searcher: it looks for all that posts left to it. With two
//       nappers the first to end clears the bit; posts then wake again, which is never wrong.
//   I5  The bit of several is set before the first worker of another set runs, and stays: this word alone then says neither that
//       nobody sleeps nor that all do.
//
// Synchronisation: store buffering, made safe twice over.
//   S1  Poster: push work, then `claim_any` loads the word. Worker: announce_sleep or stop_searching
//       changes the word, then looks at every source of work. One of the two sees the other: push,
//       word and look are seq_cst accesses (mpsc_inbox, global_pool).
//   S2  Where push and look are no seq_cst accesses (chase_lev_deque, steal_half_queue, lifo_slot) the pusher, a worker of this set, puts a light
//       fence before the load, and the other worker, by fence_against_pushers, a heavy one before its look. A worker that sleeps pushes
//       nothing, and when it wakes it changes the word and so sees what was announced meanwhile: hence no fence when all others sleep.
//
// Checked by model_check/parking/idle_set_check.cpp and schedulers/hive/hive_check.cpp. A load in place of
// the read-modify-write of stop_searching is the bug of tokio #1768; sleeping without the second look
// is exhibit A01.
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
    // Other workers of the crew are in other words.
    constexpr bool several() const { return (value & one_of_several) != 0; }
    constexpr bool somebody_may_sleep() const { return (value & (one_searcher - 1)) != 0; }
    constexpr unsigned searching() const { return static_cast<unsigned>((value & ~nap) / one_searcher); }
    constexpr bool napping() const { return (value & nap) != 0; }
    // Somebody sleeps, or may sleep in another word, and nobody searches; nor naps, for what can wait as long. One comparison:
    // every post makes it.
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

    // Before the first worker of another set, or of this one behind another, begins: a post that does not see the bit comes before
    // all that this worker announces (S1).
    void is_one_of_several() { word_.fetch_or(idle_word::one_of_several, std::memory_order_seq_cst); }

    // Precondition: its bit is clear. The worker is about to sleep: from now on it may be claimed. It then looks at every source of
    // work, and calls withdraw when it found some. Returns what the word was, as stop_searching does.
    idle_word announce_sleep(unsigned worker, bool was_searching) {
        // Its own bit is clear and a searcher is counted, so one addition changes both fields.
        const std::uint64_t change = idle_word::bit(worker) - (was_searching ? idle_word::one_searcher : 0);
        return {word_.fetch_add(change, std::memory_order_seq_cst)};  // S1
    }

    // The worker is awake again. True: by itself, and it is running. False: it was claimed, is now
    // searching, and a wake for it is on its way or has come.
    [[nodiscard]] bool withdraw(unsigned worker) {
        // Relaxed: it decides whether worker or claimer owns the bit, and orders nothing.
        const idle_word before{word_.fetch_and(~idle_word::bit(worker), std::memory_order_relaxed)};
        return before.sleeps(worker);
    }

    // As announce_sleep, of a worker that wakes by itself within a short while and then calls end_nap in place of withdraw.
    void announce_nap(unsigned worker, bool was_searching) {
        word_.fetch_or(idle_word::nap, std::memory_order_relaxed);  // announce_sleep orders it
        announce_sleep(worker, was_searching);
    }

    // The worker is awake again, and searching. True: by itself. False: it was claimed, and a wake for it is on its way or has come.
    [[nodiscard]] bool end_nap(unsigned worker) {
        // First the claim: a poster that still sees the bit is seen by the search that has begun.
        const bool by_itself = claim(worker);
        word_.fetch_and(~idle_word::nap, std::memory_order_relaxed);
        return by_itself;
    }

    // A searcher has found work. It then looks for more, since posts have counted on it until now, and
    // claims another worker when there is some.
    idle_word stop_searching() {
        return {word_.fetch_sub(idle_word::one_searcher, std::memory_order_seq_cst)};  // S1
    }

    // Behind either of the two and before the look, where workers push without a seq_cst access (S2). `before`: what it returned.
    // `workers()`: how many there are, in all sets; the thread that adds one calls Sync::fence_heavy() before that one begins.
    template <class Workers>
    static void fence_against_pushers(idle_word before, unsigned self, Workers workers) {
        Sync::fence_light();  // the number is read behind the change of the word
        const unsigned all = workers();
        if (static_cast<unsigned>(std::popcount(before.sleepers() | idle_word::bit(self))) < all) Sync::fence_heavy();
    }

    // Claims one sleeper, if there is one and nobody searches, nor naps when the work can wait as long as a nap. The caller must
    // wake it. `overdue` is asked when there is a sleeper and somebody searches; true: that search does not count.
    template <class Overdue>
    [[nodiscard]] std::optional<unsigned> claim_any(bool can_wait, Overdue overdue) {
        idle_word seen = look();
        return claim_any(seen, can_wait, overdue);
    }

    // The same in two steps, for a caller that wants the first alone in its fast path.
    [[nodiscard]] idle_word look() const { return {word_.load(std::memory_order_seq_cst)}; }  // S1
    // `seen`: what look returned; then what the answer rests on.
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

    // Claims this sleeper, whether another worker searches or not. False when it does not sleep. The caller must wake it.
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
        // Acquire: the claimer meets the worker, which may have been attached since, as its announce left it.
        // No release: what the claimed worker must see reaches it through its parker, and a decision not
        // to claim rests on the load before the first attempt.
        return word_.compare_exchange_weak(seen.value, claimed, std::memory_order_acquire, std::memory_order_relaxed);
    }

    alignas(cache_line) typename Sync::template atomic<std::uint64_t> word_;
};

}  // namespace apiary
