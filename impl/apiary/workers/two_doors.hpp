// two_doors: decides when a stop may end a scheduler's crews, if running work must be able to post until its end. The
// outer door, for posts of other threads, closes at the stop. The inner door, for posts of living work, closes when no
// work is alive any more.
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
//     living post    doors.enter_inside(mine);  here.post_local(…)
//     an ending      if (doors.leave(mine)) end_the_crews();
//     stop           if (doors.close(all_shares)) end_the_crews();   // as a hive stops: pools, flag, wakes
//     discard        (void)doors.close(all_shares);  end_the_crews();  // both doors at once
//
// If the crew refuses a post after its enter (a discarding stop has ended the crew), the poster calls leave for it.
//
// Each worker counts in a share of its own: a common word would be written by all workers for each piece of work.
// Shares are summed once, by the close. From then on a worker that has changed its share adds it to the word at once. A
// thread without a share counts in the word.
//
// Threads.   enter, close, living: any. enter_inside, leave: work that has entered and has not left; a share: one
//            thread, and the one call of close that sums it up.
// Progress.  enter: lock-free. The rest: wait-free.
// Invariants
//   I1  The word and all shares together are the number of living pieces of work. The word has two flags besides:
//       `stopped` from the stop on, and `summed` when the close has summed.
//   I2  Once the sum is there, the word counts every living piece: the enter that counted it was summed, or its worker
//       saw the close and added it to the word before it published the work. A share that is not 0 then belongs to a
//       call that has not returned: an enter, by work that the word counts, or a leave, whose work it still counts.
//   I3  Once the stop has come and nothing lives, nothing ever lives again: enter refuses, and no work is left to call
//       enter_inside. One call of leave or close finds that, and it alone returns true; no leave does before the sum is
//       there.
//
// Synchronisation
//   S1  leave: fetch_sub (release), of the word -> the last leave, or close: the same word (acquire); of a share -> the
//       exchange of it (acquire), and then by the word. The thread that ends the crews sees whatever any work did.
//   S2  close: store closed_, then exchange a share (release) -> enter_inside, leave: a change of the share (acquire),
//       then load closed_. Both change the share, so one is first: the close takes what the worker has changed, or the
//       worker sees the close.
//   The other enters need no order: the count itself decides, and the post after it publishes.
//
// Checked by model_check/workers/doors_check.cpp. Tested by doors_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class two_doors {
public:
    // What the thread that owns it has counted and the word does not hold yet. May be negative: work may end on another
    // thread than the one on which it entered.
    class share {
    public:
        share() { count_.store(0, std::memory_order_relaxed); }
        share(const share&) = delete;
        share& operator=(const share&) = delete;

    private:
        friend class two_doors;
        typename Sync::template atomic<std::uint64_t> count_;
    };

    two_doors() {
        word_.store(0, std::memory_order_relaxed);
        closed_.store(false, std::memory_order_relaxed);
    }
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
    // Called by living work: on a thread that owns a share, and on any other.
    void enter_inside(share& mine) {
        mine.count_.fetch_add(1, std::memory_order_acquire);  // S2
        if (closed_.load(std::memory_order_relaxed)) [[unlikely]]
            (void)bring(mine);  // never the last: the work that calls is alive
    }
    void enter_inside() { word_.fetch_add(one, std::memory_order_relaxed); }

    // True: this was the last living work after the stop, and the caller ends the crews.
    [[nodiscard]] bool leave(share& mine) {
        mine.count_.fetch_sub(1, std::memory_order_acq_rel);  // S1, S2
        return closed_.load(std::memory_order_relaxed) && bring(mine);
    }
    [[nodiscard]] bool leave() { return word_.fetch_sub(one, std::memory_order_acq_rel) == one + over; }  // S1

    // True: no work was alive, and the caller ends the crews. A second call closes nothing. `each(f)` calls f with
    // every share.
    template <class Each>
    [[nodiscard]] bool close(Each each) {
        if ((word_.fetch_or(stopped, std::memory_order_relaxed) & stopped) != 0) return false;
        closed_.store(true, std::memory_order_relaxed);  // S2
        std::uint64_t sum = 0;
        each([&sum](share& s) { sum += s.count_.exchange(0, std::memory_order_acq_rel); });  // S1, S2
        const std::uint64_t change = sum * one + summed;
        return word_.fetch_add(change, std::memory_order_acq_rel) + change == over;  // S1
    }
    [[nodiscard]] bool close() {
        return close([](auto) {});
    }

    // Hints, for reports. `each` as for close.
    template <class Each>
    std::uint64_t living(Each each) const {
        std::uint64_t sum = word_.load(std::memory_order_relaxed) / one;
        each([&sum](const share& s) { sum += s.count_.load(std::memory_order_relaxed); });
        // While others count, a leave may be seen without its enter: the sum is negative then.
        const auto n = static_cast<std::int64_t>(sum * one) / static_cast<std::int64_t>(one);
        return n > 0 ? static_cast<std::uint64_t>(n) : 0;
    }
    std::uint64_t living() const {
        return living([](auto) {});
    }
    bool outer_is_closed() const { return (word_.load(std::memory_order_relaxed) & stopped) != 0; }

private:
    static constexpr std::uint64_t stopped = 1, summed = 2, over = stopped + summed, one = 4;

    // Adds the share to the word, after the close was seen. Returns what leave returns.
    [[gnu::noinline]] bool bring(share& mine) {
        const std::uint64_t change = mine.count_.exchange(0, std::memory_order_relaxed) * one;
        if (change == 0) return false;  // the close has it
        Sync::reach("two_doors.brought_a_share");
        return word_.fetch_add(change, std::memory_order_acq_rel) + change == over;  // S1
    }

    alignas(cache_line) typename Sync::template atomic<std::uint64_t> word_;  // outside posts write it
    alignas(cache_line) typename Sync::template atomic<bool> closed_;         // every worker reads it
};

}  // namespace apiary
