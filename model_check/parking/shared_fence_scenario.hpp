// Two workers go to sleep while a third pushes: each of them sees what was pushed, or the pusher sees that it sleeps.
// `Fence` is the one that the sleepers share.
#pragma once

#include <array>
#include <atomic>

template <class Sync, class Fence>
struct sleepers_share_a_fence {
    static constexpr unsigned threads = 3;

    Fence fence;
    typename Sync::template atomic<int> pushed;
    std::array<typename Sync::template atomic<int>, 2> asleep;
    std::array<bool, 2> sleeper_saw{}, pusher_saw{};

    void before() {
        pushed.store(0, std::memory_order_relaxed);
        for (auto& a : asleep) a.store(0, std::memory_order_relaxed);
    }
    void thread(unsigned i) {
        if (i == 2) {
            pushed.store(1, std::memory_order_relaxed);
            Sync::fence_light();
            for (unsigned k = 0; k != 2; ++k) pusher_saw[k] = asleep[k].load(std::memory_order_relaxed) != 0;
            return;
        }
        asleep[i].store(1, std::memory_order_relaxed);
        fence.pass();
        sleeper_saw[i] = pushed.load(std::memory_order_relaxed) != 0;
    }
    void after() {
        for (unsigned k = 0; k != 2; ++k)
            Sync::law(sleeper_saw[k] || pusher_saw[k], "a sleeper missed a push, and the pusher that it sleeps");
    }
};
