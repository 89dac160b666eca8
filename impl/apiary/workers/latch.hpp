// latch: a worker waits for it inside a job until a number of others have counted down. It lies on the stack of the job
// that waits.
//
//     latch<worker_type> children(here, 2);      // here: the worker that runs this job
//     …                                          // post two jobs; the end function of each calls
//     here.help_until(children, [] { return true; });   // children.count_down(), run or dropped
//
// When to use it. For a job that cannot go on before others have ended, and keeps its data on its stack: fork and join.
// When not: for a thread that is no worker (thread_latch); for a job that can be cut in two (let the last of the jobs
// that it waits for post the second part).
//
// Threads.   count_down: any, `count` times in all. is_open: any thread that keeps the latch alive. announce: the
//            worker that was named to the constructor.
// Progress.  Wait-free; count_down may wake the waiter.
// Lifetime.  The latch may be gone as soon as it is open, so the thread that opens it touches it no more: it reads the
//            worker to be woken before it counts. That worker outlives the latch, since it stays in its crew's table
//            until the crew ends. A thread that is no worker and counts down must meet the crew's rules for a thread
//            that posts.
//
// Invariants
//   I1  The word is twice the count, plus one from the waiter's announcement that it may sleep.
//   I2  Once open it stays open. The count that is the last and finds the announcement wakes the waiter; if the
//       announcement comes after the last count, announce returns false and the waiter does not sleep.
//
// Synchronisation
//   S1  count_down: fetch_sub (release) -> is_open: load (acquire). After the latch the waiter sees what the others
//       have done; all changes of the word are read-modify-writes, so this holds for each count.
//   I2 needs no order: count_down and announce change one word, so one of them sees the other.
//
// Checked by model_check/workers/help_check.cpp. Tested by help_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace apiary {

template <class Worker>
class latch {
public:
    explicit latch(Worker& waiter, std::uint32_t count = 1) : waiter_(&waiter) {
        word_.store(std::uint64_t{count} * one, std::memory_order_relaxed);
    }
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;

    void count_down() {
        Worker* const waiter = waiter_.read();  // before the count, after which the latch may be gone
        if (word_.fetch_sub(one, std::memory_order_release) == one + announced) waiter->wake();  // S1, I2
    }

    bool is_open() const { return word_.load(std::memory_order_acquire) < one; }  // S1

    // Call it before the waiter sleeps: from here on the last count wakes it. False: the latch is open.
    [[nodiscard]] bool announce() { return word_.fetch_or(announced, std::memory_order_relaxed) >= one; }

private:
    static constexpr std::uint64_t announced = 1, one = 2;

    const typename Worker::sync::template cell<Worker*> waiter_;  // a cell: a checker sees a read that comes too late
    typename Worker::sync::template atomic<std::uint64_t> word_;
};

}  // namespace apiary
