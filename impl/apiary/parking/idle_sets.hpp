// idle_sets: the idle sets of a crew with more workers than one word names, and how a post goes through them.
//
// When to use it. For a crew that may grow beyond 56 workers. While it is small, only the first set is in use, and a
// post costs what it costs with that set alone. When not: for at most 56 workers, for which an idle_set is enough.
//
// Worker w is in set w / PerSet, and changes that word alone: announce, withdraw and the rest are idle_set's. A post
// looks at the first word, and at the next one only if all workers of this one run. So it ends at the first set in
// which it claims a sleeper, or relies on a worker that searches or naps.
//
// Threads.   join: one at a time, in the order of the workers. The rest: any.
// Progress.  As idle_set; a post looks at no more than Sets words.
//
// Invariants
//   I1  Sets come into use one after another, each with the bit that says so (idle_set I5). A post that finds a later
//       set without the bit has seen the words of all workers.
//   I2  A searcher of one set searches for all: after the end of its search it looks at every source, and its own claim
//       goes through all sets. So a post may rely on a searcher of any set.
//   I3  While a worker of one set searches, a post may claim a sleeper of an earlier set, which is never wrong. So in
//       each set at most one worker searches that was neither claimed by name (as by itself) nor called for an
//       overdue search.
//
// Synchronisation: idle_set S1 and S2, for each word by itself. A post goes on to the next word if its look shows that
// all workers of the set run: each of them changes that word after the look, and then looks at every source (or, by
// idle_set I6, one of them that searches does). No order between looks at two words is needed. A summary word above the
// sets would need one: a sleeper would change two words, and a post between the two changes would see one of them.
//
// Checked by model_check/parking/idle_sets_check.cpp, with one worker to a word.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include <apiary/parking/idle_set.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

// Under a checked policy a crew is as large as a check: each execution constructs all slots of its worker table anew.
template <class Sync = real_sync, unsigned PerSet = Sync::checked ? 8 : idle_set<Sync>::max_workers,
          unsigned Sets = Sync::checked ? 1 : 5>
class idle_sets {
    static_assert(PerSet >= 1 && PerSet <= idle_set<Sync>::max_workers && Sets >= 1);

public:
    using set = idle_set<Sync>;
    static constexpr unsigned max_workers = PerSet * Sets;

    // The set of this worker; `within` is its number inside that set.
    set& of(unsigned worker) { return sets_[worker / PerSet]; }
    const set& of(unsigned worker) const { return sets_[worker / PerSet]; }
    static constexpr unsigned within(unsigned worker) { return worker % PerSet; }
    // How many of `workers` are in this one's set.
    static constexpr unsigned beside(unsigned worker, unsigned workers) {
        return std::min(PerSet, workers - worker / PerSet * PerSet);
    }

    // Adds a worker that has not begun, and returns its set.
    [[gnu::noinline]] set& join(unsigned worker) {
        if (worker >= PerSet) {
            sets_[0].is_one_of_several();
            of(worker).is_one_of_several();
        }
        return of(worker);
    }

    // As idle_set's, over all sets. The caller must wake the worker.
    [[nodiscard]] idle_word look() const { return sets_[0].look(); }
    template <class Overdue>
    [[nodiscard]] std::optional<unsigned> claim_any(idle_word seen, bool can_wait, Overdue overdue) {
        if (!seen.several()) [[likely]]
            return sets_[0].claim_any(seen, can_wait, overdue);
        return claim_in_turn(seen, can_wait, overdue);
    }
    [[nodiscard]] std::optional<unsigned> claim_any(bool can_wait = false) {
        return claim_any(look(), can_wait, [] { return false; });
    }

    // How many workers sleep, and whether a post would claim one. Both answers may be out of date.
    unsigned asleep() const {
        const idle_word seen = sets_[0].snapshot();
        const auto here = static_cast<unsigned>(std::popcount(seen.sleepers()));
        return seen.several() ? here + asleep_behind_the_first() : here;
    }
    bool calls_for_a_wake() const {
        const idle_word seen = sets_[0].snapshot();
        return seen.several() ? some_word_calls_for_a_wake() : seen.calls_for_a_wake(false);
    }

private:
    // Out of line, to spare small crews the code.
    [[gnu::noinline]] unsigned asleep_behind_the_first() const {
        unsigned all = 0;
        for (unsigned s = 1; s != Sets; ++s)
            all += static_cast<unsigned>(std::popcount(sets_[s].snapshot().sleepers()));
        return all;
    }
    [[gnu::noinline]] bool some_word_calls_for_a_wake() const {
        for (const set& one : sets_) {
            const idle_word seen = one.snapshot();
            if (seen.sleepers() != 0 || seen.searching() != 0) return seen.searching() == 0;
        }
        return false;
    }
    template <class Overdue>
    [[gnu::noinline]] std::optional<unsigned> claim_in_turn(idle_word seen, bool can_wait, Overdue overdue) {
        for (unsigned s = 0;;) {
            if (const auto worker = sets_[s].claim_any(seen, can_wait, overdue)) return s * PerSet + *worker;
            if (!all_run(seen, overdue)) {
                Sync::reach("idle_sets.relied_on_another");
                return std::nullopt;
            }
            if (!seen.several() || ++s == Sets) return std::nullopt;
            Sync::reach("idle_sets.looked_on");
            seen = sets_[s].look();
        }
    }
    // True if all workers of this one set run.
    template <class Overdue>
    static bool all_run(idle_word seen, Overdue& overdue) {
        return seen.sleepers() == 0 && (seen.searching() == 0 || overdue());
    }

    std::array<set, Sets> sets_;
};

}  // namespace apiary
