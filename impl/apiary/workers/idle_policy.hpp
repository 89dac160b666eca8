// idle_policy: what a worker does when a turn found nothing: yield and look again, nap, or sleep.
//
// When to use it. Once for each worker. It decides and does nothing itself: the worker tells it
// what it saw. Every answer is correct and only its cost differs: no task is lost whatever the
// answers are (parking/sleeper.hpp).
//
// The rules. The parameter in parentheses switches a rule off.
//   look again      after a yield, since work often comes in succession, and posts meanwhile wake
//                   nobody (looks_before_sleep 0).
//   not for one     a worker that ran at most one task since its last sleep, while all others
//                   sleep, sleeps at once: tasks then come from outside, now and then
//                   (sleeps_after_one false).
//   poster first    but a worker that displaced the poster that woke it does look: that poster has
//                   perhaps just begun, and a yield lets it post on without a wake for each task
//                   (lets_poster_go_on false).
//   contended       a yield that takes long and brings little shows that others want the processor.
//                   The next sleeps come without: a few, for it may be over soon, and eight times
//                   as many whenever the next timed yield is as long, up to a most
//                   (sleeps_after_long_yield 0). A yield that is not takes one such step back.
//   nap             a worker that was woken in vain, beside another that is awake, takes short
//                   timed sleeps first: chains of tasks would wake it again and again (naps 0).
//
// Threads. The worker's own. Progress: constant time.
// Tested by idle_policy_test.cpp, a table of cases. Decisions: D35, D40, D44, D49, D56, D57, D68.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <apiary/workers/parameters.hpp>

namespace apiary {

class idle_policy {
public:
    explicit idle_policy(const worker_parameters& p) : p_(p) {}

    // A turn found work.
    void worked() { idle_turns_ = 0; }

    // A turn found nothing. True: yield, tell `yielded` if the yield is a timed one, and look again; false: sleep. `ran`: how many
    // tasks the worker has run. `others_sleep()`, `displaced_waker()`: asked only where they matter, for both cost something.
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

    // Every eighth yield is timed, because that costs two looks at the clock; and the first after sleeps without one.
    [[nodiscard]] bool times_this_yield() {
        if (++yields_ != timed_yields) return false;
        yields_ = 0;
        return true;
    }
    // Judged when the worker has run all that came meanwhile.
    void yielded(std::int64_t took_ns, std::uint64_t ran) { yield_ns_ = took_ns, ran_before_yield_ = ran; }

    // Before a sleep. True: nap first. `claimed`: a post woke it and it found nothing; `searching`: likewise, or its nap ended.
    template <class OthersSleep>
    [[nodiscard]] bool naps(bool claimed, bool searching, OthersSleep others_sleep) {
        if (claimed)
            naps_left_ = p_.naps;
        else if (!searching)
            naps_left_ = 0;                                     // it has found work since
        if (naps_left_ != 0 && others_sleep()) naps_left_ = 0;  // then no worker posts such chains
        if (naps_left_ == 0) return false;
        --naps_left_;
        return true;
    }

    // After a sleep or a nap.
    void slept(std::uint64_t ran) { ran_before_sleep_ = ran; }

private:
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
    unsigned contended_sleeps_ = 0;  // so many still come without a look
    unsigned next_contended_sleeps_ = first_contended_sleeps;
    std::int64_t yield_ns_ = none;  // the yield to be judged
    std::uint64_t ran_before_yield_ = 0, ran_before_sleep_ = 0;
};

}  // namespace apiary
