// idle_policy: what a worker does when a turn found nothing: yield and look again, nap, or sleep.
//
// When to use it. One for each worker. It only decides: the worker tells it what it saw. Every answer is correct and
// only its cost differs: whatever the answers are, no task is lost (parking/sleeper.hpp).
//
// The rules. The parameter in parentheses switches a rule off.
//   look again      after a yield, since work often comes in succession, and posts meanwhile wake no worker
//                   (looks_before_sleep 0).
//   not for one     a worker that ran at most one task since its last sleep, while all others sleep, sleeps at once:
//                   tasks then come from outside, now and then (sleeps_after_one false).
//   poster first    except that a worker that displaced the poster that woke it does look: the poster may just have
//                   begun, and a yield lets it post on without a wake for each task (lets_poster_go_on false).
//   contended       a yield that takes long and brings little means that the processor is contended. The worker then
//                   skips the yield before its next sleeps: before a few, since the contention may end soon, and before
//                   eight times as many whenever the next timed yield is as long, up to a maximum
//                   (sleeps_after_long_yield 0). A timed yield that is short takes one such step back.
//   nap             after a spurious wake, beside another worker that is awake, a worker takes up to `naps` short timed
//                   parks before it sleeps: chains of tasks would wake it again and again (naps 0).
//   one looks       where several workers are awake and enough of them search, a worker without work neither steals nor
//                   looks before its sleep: thieves that find little cost their victims more than they take
//                   (workers_per_searcher 0). Where work is mostly shorter than a theft, a worker that has seen some
//                   before its sleep counts as searching, too (lookers_count).
//
// Threads. The worker's own. Progress: constant time.
// Tested by idle_policy_test.cpp, a table of cases.
// Decisions: impl/DECISIONS.md D35, D40, D44, D49, D56, D57, D68, D259, D261.
// README.md has what each rule was measured to bring, and names those without a measured effect.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include <apiary/parking/idle_set.hpp>
#include <apiary/workers/parameters.hpp>

namespace apiary {

class idle_policy {
public:
    explicit idle_policy(const worker_parameters& p) : p_(p) {}

    // A turn found work.
    void worked() { idle_turns_ = 0; }

    // A turn found nothing. True: yield, call `yielded` if the yield is a timed one, and look again. False: sleep.
    // `ran`: how many tasks the worker has run. `others_sleep()` and `displaced_waker()` cost something, and are asked
    // only if they matter.
    template <class OthersSleep, class DisplacedWaker>
    [[nodiscard]] bool look_again(std::uint64_t ran, OthersSleep others_sleep, DisplacedWaker displaced_waker) {
        judge_yield(ran);
        if (idle_turns_++ < p_.looks_before_sleep && contended_sleeps_ == 0 &&
            (!p_.sleeps_after_one || ran - ran_before_sleep_ > 1 || !others_sleep() ||
             (p_.lets_poster_go_on && displaced_waker())))
            return true;
        idle_turns_ = 0;
        if (contended_sleeps_ > 0) --contended_sleeps_;
        return false;
    }

    // Times every eighth yield, because timing costs two looks at the clock; also the first yield after sleeps that
    // came without a yield.
    [[nodiscard]] bool times_this_yield() {
        if (++yields_ != timed_yields) return false;
        yields_ = 0;
        return true;
    }
    // The yield is judged when the worker has run all tasks that came meanwhile.
    void yielded(std::int64_t took_ns, std::uint64_t ran) { yield_ns_ = took_ns, ran_before_yield_ = ran; }

    // Another thread wants this processor: a worker that looks on would be in its way.
    bool contended() const { return contended_sleeps_ != 0; }

    // Call it before a sleep. True: nap first. `claimed`: a post woke the worker and it found nothing; `searching`:
    // likewise, or its nap ended, or it looked on (idle_spin), or looked again and counts (below); then naps of an
    // earlier wake may be left.
    template <class OthersSleep>
    [[nodiscard]] bool naps(bool claimed, bool searching, OthersSleep others_sleep) {
        if (claimed)
            naps_left_ = p_.naps;
        else if (!searching)
            naps_left_ = 0;                                     // the worker has found work since
        if (naps_left_ != 0 && others_sleep()) naps_left_ = 0;  // if all others sleep, none posts such chains
        if (naps_left_ == 0) return false;
        --naps_left_;
        return true;
    }

    // Of a worker without work, which has `members` - 1 others in its set. `searchers` of these search; `seen`: the
    // word. True: it leaves the looking to them. Never without a searcher. Detached workers count as awake.
    [[nodiscard]] bool leaves_it_to(unsigned searchers, idle_word seen, unsigned members) const {
        if (searchers == 0 || p_.workers_per_searcher == 0) return false;
        const std::int64_t others_run = awake(seen, members) - 1 - std::int64_t{searchers};
        return several_awake(seen, members) &&
               others_run <= std::int64_t{searchers} * std::int64_t{p_.workers_per_searcher};
    }
    // Of a worker that has seen work before its sleep and looks again. True: others may leave the looking to it.
    [[nodiscard]] bool counts_as_searcher(idle_word seen, unsigned members) const {
        return p_.lookers_count && p_.workers_per_searcher != 0 && several_awake(seen, members);
    }

    // After a sleep or a nap.
    void slept(std::uint64_t ran) { ran_before_sleep_ = ran; }

private:
    static std::int64_t awake(idle_word seen, unsigned members) {
        return std::int64_t{members} - std::popcount(seen.sleepers());
    }
    bool several_awake(idle_word seen, unsigned members) const {
        return awake(seen, members) > std::int64_t{p_.few_awake};
    }

    void judge_yield(std::uint64_t ran) {
        if (yield_ns_ == none) return;
        const std::int64_t took = std::exchange(yield_ns_, none);
        const auto brought = static_cast<std::int64_t>(ran - ran_before_yield_);
        if (took > p_.long_yield_ns && took / p_.yield_pays_ns > brought) {
            const unsigned most = p_.sleeps_after_long_yield;
            contended_sleeps_ = std::min(next_contended_sleeps_, most);
            next_contended_sleeps_ = contended_sleeps_ < most / step ? contended_sleeps_ * step : most;
            yields_ = timed_yields - 1;
        } else {
            next_contended_sleeps_ = std::max(next_contended_sleeps_ / step, first_contended_sleeps);
        }
    }

    static constexpr std::int64_t none = -1;
    static constexpr unsigned timed_yields = 8, first_contended_sleeps = 16, step = 8;
    const worker_parameters& p_;
    unsigned idle_turns_ = 0, yields_ = 0, naps_left_ = 0;
    unsigned contended_sleeps_ = 0;  // how many more sleeps come without a second look
    unsigned next_contended_sleeps_ = first_contended_sleeps;
    std::int64_t yield_ns_ = none;  // the yield that is still to be judged
    std::uint64_t ran_before_yield_ = 0, ran_before_sleep_ = 0;
};

}  // namespace apiary
