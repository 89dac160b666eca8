// shared_fence: a heavy fence for several threads at once: those that ask while one is under way share the next.
//
// A heavy fence interrupts all processors that run a thread of the process, and Linux issues one after the other (since
// 6.8). If sixty threads go to sleep together, the last waits for the fences of all others before its own begins. One
// fence that begins when all have asked orders as much.
//
// When to use it. For workers that go to sleep together, and together are woken, as those of fork_join. When not: where
// the wait for the kernel is useful, because it keeps thieves that find nothing away from workers that have work
// (impl/DECISIONS.md D264).
//
// Threads.   Any.
// Progress.  Wait-free, but for the fence itself: a thread that has looked `MostLooks` times issues its own, since the
//            one that it waits for may not have a processor.
//
// Invariants
//   I1  round_ grows, and is odd while the thread that made it odd issues the fence of a round.
//   I2  A thread that asks shares no round that had begun by then: the fence may have been over before the thread wrote
//       what is to be ordered (exhibit C32).
// Synchronisation: what a caller wrote before happens before some heavy fence, and that before what it reads later.
//   S1  The caller asks by a read-modify-write of round_ (release) -> the compare-exchange that begins a later round,
//       by the fence that follows it. Every change of round_ is a read-modify-write, so what comes in between does not
//       break the chain. To ask by a seq_cst fence and a load would do on the processors that we know, but not by the
//       rules of light and heavy fences.
//   S2  The fence of the round, then the end of the round -> the caller: load (acquire).
//
// Checked by model_check/parking/shared_fence_check.cpp. The kernel shares the grace periods of RCU by the same
// arithmetic (rcu_seq_snap).
#pragma once

#include <cstdint>

#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

// MostLooks: rounds that a thread looks at before it issues a fence of its own. Few under a checker.
template <class Sync = real_sync, unsigned MostLooks = Sync::checked ? 2 : 1024>
class shared_fence {
public:
    // Orders what the caller wrote before against what it reads after, as Sync::fence_heavy() does.
    void pass() {
        const std::uint64_t asked = round_.fetch_add(0, std::memory_order_release);  // S1
        const std::uint64_t enough = asked + 2 + (asked & 1);  // the end of a round that begins from now on (I2)
        for (unsigned looks = 0; looks != MostLooks; ++looks) {
            std::uint64_t now = round_.load(std::memory_order_acquire);  // S2
            if (now >= enough) return Sync::reach("shared_fence.shared");
            if ((now & 1) == 0 &&
                round_.compare_exchange_strong(now, now + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
                Sync::fence_heavy();  // S1, S2
                (void)round_.fetch_add(1, std::memory_order_relaxed);
                return;
            }
            Sync::relax();
        }
        Sync::reach("shared_fence.waited_in_vain");
        Sync::fence_heavy();
    }

private:
    alignas(cache_line) typename Sync::template atomic<std::uint64_t> round_{0};
};

}  // namespace apiary
