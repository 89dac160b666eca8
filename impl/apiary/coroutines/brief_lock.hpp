// brief_lock: a word that one thread holds for a few steps.
//
//   const typename brief_lock<Sync>::held inside(lock);
//
// When to use it. For a handful of stores that change together, on a path where a mutex would be most of the price: its
// release is a plain store, so a pass has one locked instruction and no call. When not: if the holder may block, may
// run code that takes the lock again, or holds it for long; use a mutex then.
//
// Threads.   All: any; the holder must not take it again.
// Progress.  One compare-exchange if it is free. Otherwise the thread spins, then yields, then sleeps 50 us at a time
//            until the lock is free: it waits for a holder that has lost its processor.
// Lifetime.  The release is the last access of its holder: the next holder may destroy the lock.
//
// Synchronisation
//   S1  ~held: store (release) -> held: compare-exchange (acquire). Each pass sees those before it.
//
// Checked by model_check/coroutines/brief_lock_check.cpp and channel_check.cpp. Tested by channel_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync = real_sync>
class brief_lock {
public:
    brief_lock() { word_.store(0, std::memory_order_relaxed); }
    brief_lock(const brief_lock&) = delete;
    brief_lock& operator=(const brief_lock&) = delete;

    class [[nodiscard]] held {
    public:
        [[gnu::always_inline]] explicit held(brief_lock& l) : lock_(l) {
            if (!l.take()) [[unlikely]]
                l.wait();
        }
        [[gnu::always_inline]] ~held() { lock_.word_.store(0, std::memory_order_release); }  // S1
        held(const held&) = delete;
        held& operator=(const held&) = delete;

    private:
        brief_lock& lock_;
    };

private:
    [[gnu::always_inline]] bool take() {
        std::uint32_t seen = 0;
        return word_.compare_exchange_strong(seen, 1, std::memory_order_acquire, std::memory_order_relaxed);  // S1
    }
    [[gnu::noinline, gnu::cold]] void wait() {
        Sync::reach("brief_lock.waited");
        do (void)Sync::spin_until(word_, [](std::uint32_t w) { return w == 0; });
        while (!take());
    }

    typename Sync::template atomic<std::uint32_t> word_;
};

}  // namespace apiary
