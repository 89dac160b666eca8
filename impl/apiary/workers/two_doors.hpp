// two_doors: when a stop may end a scheduler's crews, if running work must be able to post until its end. The outer
// door, for posts of other threads, closes at the stop. The inner one, for posts of living work, closes when no work is
// alive any more.
//
// When to use it. If a draining stop lets continuations, successors or processes finish. When not: if a stop refuses
// every post from then on (hive); closing the crew's pool does that.
//
// The front end says which work is alive: work enters if no living work waits for it, and leaves when it has ended, run
// or dropped. A job that others wait for inside (latch) ends before them, and need not enter: in fork and join only
// roots enter. A job that may outlive the job that posted it must enter: a successor, a process, a continuation. The
// crews know nothing of this count: a front end without two_doors pays nothing, and its owner's `stopping()` says that
// both doors are closed.
//
//     outside post   if (!doors.enter()) refuse;  crew.post(…)
//     living post    doors.enter_inside();  here.post_local(…)
//     an ending      if (doors.leave()) end_the_crews();
//     stop           if (doors.close()) end_the_crews();       // as a hive stops: pools, flag, wakes
//     discard        (void)doors.close();  end_the_crews();    // both doors at once
//
// If the crew refuses a post after its enter (a discarding stop has ended the crew), that post leaves again.
//
// Threads.   enter, close: any. enter_inside, leave: work that has entered and has not left.
// Progress.  enter: lock-free. The rest: wait-free. All calls share one word.
// Invariants
//   I1  The word is twice the number of living pieces of work, plus one from the stop on.
//   I2  Once the stop has come and nothing lives, nothing ever lives again: enter refuses, and no work is left to call
//       enter_inside. One call of leave or close finds that, and it alone returns true.
//
// Synchronisation
//   S1  leave: fetch_sub (release) -> the last leave, or close: the same word (acquire). The thread that ends the crews
//       sees whatever any work did.
//   enter and enter_inside need no order: the count itself decides, and the post after it publishes.
//
// Checked by model_check/workers/doors_check.cpp. Tested by doors_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class two_doors {
public:
    two_doors() { word_.store(0, std::memory_order_relaxed); }
    two_doors(const two_doors&) = delete;
    two_doors& operator=(const two_doors&) = delete;

    // Called from outside. False: the outer door is closed.
    [[nodiscard]] bool enter() {
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        do {
            if ((seen & stopped) != 0) return false;
        } while (!word_.compare_exchange_weak(seen, seen + one, std::memory_order_relaxed, std::memory_order_relaxed));
        return true;
    }
    // Called by living work.
    void enter_inside() { word_.fetch_add(one, std::memory_order_relaxed); }

    // True: this was the last living work after the stop, and the caller ends the crews.
    [[nodiscard]] bool leave() { return word_.fetch_sub(one, std::memory_order_acq_rel) == one + stopped; }  // S1

    // True: no work was alive, and the caller ends the crews. A second call closes nothing.
    [[nodiscard]] bool close() { return word_.fetch_or(stopped, std::memory_order_acquire) == 0; }  // S1

    // Hints, for reports.
    std::uint64_t living() const { return word_.load(std::memory_order_relaxed) / one; }
    bool outer_is_closed() const { return (word_.load(std::memory_order_relaxed) & stopped) != 0; }

private:
    static constexpr std::uint64_t stopped = 1, one = 2;

    typename Sync::template atomic<std::uint64_t> word_;
};

}  // namespace apiary
