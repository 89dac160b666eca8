// second_of_two: two threads arrive once each, in any order, and the second one is told so.
//
//   if (both.second()) …                          // the other has arrived, and everything it did is visible here
//
// When to use it. If two threads must leave a frame before it goes. Also if a service that knows nothing of the frame
// ends an await: the second of the suspending thread and the ending thread resumes the coroutine, so the service may
// end the wait before the coroutine is suspended. When not: if a lock publishes the waiter (waiter.hpp).
//
// Threads.   second: any two, once each.
// Progress.  Wait-free: one fetch_add.
// Lifetime.  The first thread must not touch it afterwards: the frame may be gone.
//
// Synchronisation
//   S1  second: fetch_add (release) -> the second one: the same word (acquire).
//
// Checked by model_check/coroutines/{sleep,on_compute,readable}_check.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class second_of_two {
public:
    second_of_two() { come_.store(0, std::memory_order_relaxed); }
    second_of_two(const second_of_two&) = delete;
    second_of_two& operator=(const second_of_two&) = delete;

    [[nodiscard]] bool second() { return come_.fetch_add(1, std::memory_order_acq_rel) == 1; }  // S1

private:
    typename Sync::template atomic<std::uint32_t> come_;
};

}  // namespace apiary
