// sleeper: how one worker of a pool goes to sleep without missing work.
//
// The protocol between a worker and a poster, on top of idle_set and a driver to block in:
//
//   worker                                     poster
//   1  announce_sleep (set my bit)             1  push the work
//   2  look at every source of work            2  claim a sleeper, unless a worker searches
//   3  found some: withdraw, work              3  wake the claimed worker's driver
//      none: block in the driver
//   4  withdraw: was I claimed?
//
// Step 1 of the worker comes before its step 2, and step 1 of the poster before its step 2: whatever the interleaving,
// the worker sees the work or the poster sees the worker (idle_set S1, S2). The wake of step 3 is a token that stays
// until it is taken, so it does not matter whether the worker blocks yet. A token that comes after the worker went on
// by itself makes one later block return at once, and is harmless.
//
// Threads. The worker that owns it. claim: any.
// Driver.  It blocks in `wait(deadline_ns)` until `wake()` (any thread; sticky), the deadline, or an event.
// Checked by model_check/parking/idle_set_check.cpp and schedulers/hive/hive_check.cpp.
#pragma once

#include <cstdint>

#include <apiary/parking/idle_set.hpp>

namespace apiary {

template <class Sync, class Driver>
class sleeper {
public:
    sleeper(unsigned worker, idle_set<Sync>& idle, Driver& driver) : idle_(idle), driver_(driver), worker_(worker) {}

    // Blocks until it is woken or the deadline passes, unless `work_visible()` finds work. That call must look at every
    // source from which this worker can take: work in a source that it leaves out can be stranded. It may leave out
    // what another worker can take, too, if others_searching() is not 0: one of these looks for it (idle_set I6).
    // `counts()` is asked if work was found. True: the worker searches from now on, as after search().
    template <class WorkVisible, class Counts>
    void sleep(std::int64_t deadline_ns, WorkVisible work_visible, Counts counts) {
        const bool searched = searching_;
        before_ = idle_.announce_sleep(worker_, searched);
        const bool sleeps = !(Sync::recheck("sleeper.last_look") && work_visible());
        if (sleeps) driver_.wait(deadline_ns);
        if (!sleeps && counts()) {
            claimed_ = !idle_.claim(worker_);
            searching_ = true;
            Sync::reach("sleeper.stayed_and_counts");
            return;
        }
        searching_ = claimed_ = !idle_.withdraw(worker_);
        gave_up_ = Sync::recheck("sleeper.gave_up") && (searched || gave_up_) && !sleeps;
        Sync::reach(sleeps ? "sleeper.slept" : searching_ ? "sleeper.stayed_and_was_claimed" : "sleeper.stayed");
    }

    template <class WorkVisible>
    void sleep(std::int64_t deadline_ns, WorkVisible work_visible) {
        sleep(deadline_ns, work_visible, [] { return false; });
    }

    // As sleep, but for a short while, during which posts that can wait as long wake no worker (idle_set I4). After it
    // the worker searches, whichever thread woke it. Precondition: the deadline is near. The look saves a nap if work
    // is there already. Work that it misses is found after the nap, by the search or at the last look of the sleep
    // that follows, so the look needs no fence against the pushers.
    template <class WorkVisible>
    void nap(std::int64_t deadline_ns, WorkVisible work_visible) {
        idle_.announce_nap(worker_, searching_);
        if (!work_visible()) driver_.wait(deadline_ns);
        claimed_ = !idle_.end_nap(worker_);
        searching_ = true;
        Sync::reach(claimed_ ? "sleeper.nap_was_ended" : "sleeper.napped");
    }

    // The worker found nothing and looks on: until found_work or its next sleep posts rely on it.
    void search() {
        if (searching_) return;
        searching_ = true;
        idle_.start_searching();
        Sync::reach("sleeper.searched_on");
    }

    // Call it when work was found, before it runs. True: this worker was searching, or gave up its search and then saw
    // work at the last look. Posts have relied on it, so if more work is visible it must wake another worker. Also
    // false if no worker slept when it ended its search: one that falls asleep later finds this one counted no more.
    [[nodiscard]] bool found_work() {
        if (!owes_a_look()) return false;
        gave_up_ = false;
        if (searching_) {
            searching_ = claimed_ = false;
            before_ = idle_.stop_searching();
        }
        return before_.somebody_may_sleep();
    }

    // Call it first in the look of sleep, and first in the look that a true found_work asks for, if workers push
    // without a seq_cst access (idle_set S2; the arguments are explained there).
    template <class... Args>
    void fence_against_pushers(Args... args) const {
        idle_set<Sync>::fence_against_pushers(before_, worker_, args...);
    }

    // Whether found_work may be true; asked before each task.
    bool owes_a_look() const { return searching_ || gave_up_; }

    // For the look of sleep: the word as the announcement found it, and how many others searched.
    idle_word before() const { return before_; }
    unsigned others_searching() const { return before_.searching() - (searching_ ? 1U : 0U); }

    // Posts rely on this worker, and it has found nothing yet.
    bool searching() const { return searching_; }
    // A post has woken this worker, and it has found nothing yet.
    bool claimed() const { return claimed_; }

    // Any thread: idle_set::claim, of this worker.
    [[nodiscard]] bool claim() { return idle_.claim(worker_); }

private:
    idle_set<Sync>& idle_;
    Driver& driver_;
    const unsigned worker_;
    idle_word before_;  // the word as the last announce_sleep or stop_searching of this worker found it
    bool searching_ = false;
    bool claimed_ = false;  // only when searching_
    bool gave_up_ = false;  // gave up its search, with work in sight
};

}  // namespace apiary
