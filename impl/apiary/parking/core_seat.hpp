// core_seat: where a user's event loop sits while a worker blocks in it, and how other threads wake the worker there.
//
// When to use it. In a driver whose place outlives the loop: the place stays in its crew's table for the next worker,
// and a thread that has claimed the last worker may still be on its way to wake it. When not: for a loop that lives as
// long as the driver.
//
// `Core` has wake(), which any thread may call. It ends the wait in progress or, if there is none, the next one.
//
// Threads.   sit, leave, core: the owner. wake: any.
// Progress.  sit, core: wait-free. wake: as the core's wake. leave: waits until no wake is inside the core.
// Invariants
//   I1  After leave no thread is in the core, and none enters it.
// Synchronisation
//   S1  wake: counts itself, then looks at the core. leave: takes the core away, then looks at the count. All four are
//       seq_cst: the waker finds no core, or the owner sees the waker and waits.
//   S2  wake: stops counting itself (release) -> leave: sees no waker (acquire). Whatever the wake did in the core
//       comes before the core's end.
//   S3  The owner sits, then polls by a poll_parker, whose fences (S1 there) order it: a waker that sees that it polls,
//       and sees no core, has left a token that the owner sees before it waits in the core.
//   S4  sit: store (release) -> wake: load (seq_cst). A waker that set out for the former core sees the next one fully
//       constructed.
//
// Checked by model_check/parking/parker_check.cpp; tested by hive_guest_test.cpp.
#pragma once

#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Core, class Sync = real_sync>
class core_seat {
public:
    core_seat() {
        core_.store(nullptr, std::memory_order_relaxed);
        wakers_.store(0, std::memory_order_relaxed);
    }

    Core* core() const { return core_.load(std::memory_order_relaxed); }

    void sit(Core& c) { core_.store(&c, std::memory_order_release); }  // S4
    void leave() {
        if (core() == nullptr) return;
        core_.store(nullptr, std::memory_order_seq_cst);           // S1
        if (wakers_.load(std::memory_order_seq_cst) == 0) return;  // S1, S2
        Sync::reach("core_seat.waited_for_a_waker");
        (void)Sync::spin_until(wakers_, [](std::uint32_t wakers) { return wakers == 0; });  // S2
    }

    // False if no core sits here.
    bool wake() {
        if (core_.load(std::memory_order_relaxed) == nullptr) return false;  // S3
        wakers_.fetch_add(1, std::memory_order_seq_cst);                     // S1
        Core* const c = core_.load(std::memory_order_seq_cst);               // S1, S4
        if (c != nullptr)
            c->wake();
        else
            Sync::reach("core_seat.woke_behind_the_end");
        wakers_.fetch_sub(1, std::memory_order_release);  // S2
        return c != nullptr;
    }

private:
    typename Sync::template atomic<Core*> core_;
    typename Sync::template atomic<std::uint32_t> wakers_;
};

}  // namespace apiary
