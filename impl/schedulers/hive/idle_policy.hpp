// idle_policy: what an IO worker does when a turn found nothing: yield and look again, nap, or sleep.
//
// When to use it. Once for each worker. It decides and does nothing itself: the worker tells it what it saw. No rule decides
// what is right, only what it costs; no task is lost whatever the answers are (parking/sleeper.hpp).
//
// The rules. The number in parentheses switches a rule off; the second has none.
//   look again      after a yield, since work often comes in succession, and posts meanwhile wake nobody (looks_before_sleep 0).
//   not for one     a worker that ran at most one task since its last sleep, while all others sleep, sleeps at once: tasks then
//                   come from outside, now and then. But not when it displaced the poster that woke it: that poster has
//                   perhaps just begun, and a yield lets it post on without a wake for each task.
//   contended       a yield that takes long and brings little shows that others want the processor. The next sleeps come
//                   without (sleeps_after_long_yield 0).
//   nap             a worker that was woken in vain beside one that is awake takes short timed sleeps first: chains of tasks
//                   would wake it again and again (naps 0).
//
// Threads. The worker's own. Progress: constant time.
// Tested by idle_policy_test.cpp, a table of cases. Decisions: D35, D40, D44, D49, D56, D57.
#pragma once

#include <cstdint>
#include <utility>

#include <apiary/schedulers/hive/parameters.hpp>

namespace apiary {

class idle_policy {
public:
    explicit idle_policy(const hive_parameters& p) : p_(p) {}

    // A turn found work.
    void worked() { idle_turns_ = 0; }

    // A turn found nothing. True: yield, tell `yielded` if the yield is a timed one, and look again; false: sleep. `ran`: how many
    // tasks the worker has run. `others_sleep()`, `displaced_waker()`: asked only where they matter, for both cost something.
    template <class OthersSleep, class DisplacedWaker>
    [[nodiscard]] bool look_again(std::uint64_t ran, OthersSleep others_sleep, DisplacedWaker displaced_waker) {
        judge_yield(ran);
        if (idle_turns_++ < p_.looks_before_sleep && contended_sleeps_ == 0 &&
            (ran - ran_before_sleep_ > 1 || !others_sleep() || displaced_waker()))
            return true;
        idle_turns_ = 0;
        if (contended_sleeps_ > 0) --contended_sleeps_;
        return false;
    }

    // Every eighth yield is timed, because that costs two looks at the clock.
    [[nodiscard]] bool times_this_yield() { return ++yields_ % timed_yields == 0; }
    // Judged when the worker has run all that came meanwhile.
    void yielded(std::int64_t took_ns, std::uint64_t ran) { yield_ns_ = took_ns, ran_before_yield_ = ran; }

    // Before a sleep. True: nap first. `claimed`: a post woke it and it found nothing; `searching`: likewise, or its nap ended.
    template <class OthersSleep>
    [[nodiscard]] bool naps(bool claimed, bool searching, OthersSleep others_sleep) {
        if (claimed)
            naps_left_ = p_.naps;
        else if (!searching)
            naps_left_ = 0;  // it has found work since
        if (naps_left_ != 0 && others_sleep()) naps_left_ = 0;  // nobody is there who would post so
        if (naps_left_ == 0) return false;
        --naps_left_;
        return true;
    }

    // After a sleep or a nap.
    void slept(std::uint64_t ran) { ran_before_sleep_ = ran; }

private:
    void judge_yield(std::uint64_t ran) {
        const std::int64_t took = std::exchange(yield_ns_, 0);
        const auto brought = static_cast<std::int64_t>(ran - ran_before_yield_);
        if (took > p_.long_yield_ns && took / p_.yield_pays_ns > brought)
            contended_sleeps_ = p_.sleeps_after_long_yield;
    }

    static constexpr unsigned timed_yields = 8;
    const hive_parameters& p_;
    unsigned idle_turns_ = 0, yields_ = 0, naps_left_ = 0;
    unsigned contended_sleeps_ = 0;  // so many still come without a look
    std::int64_t yield_ns_ = 0;      // 0: none to be judged
    std::uint64_t ran_before_yield_ = 0, ran_before_sleep_ = 0;
};

}  // namespace apiary
