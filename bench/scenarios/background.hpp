// Tasks that keep a runtime busy beside the measured ones, until they are told to end.
//
// Threads. stall, leave: the tasks. stop: the main thread, which sleeps until the last has left.
// Synchronisation: leave (release) pairs with the load in stop (acquire).
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

class background {
public:
    background(std::uint64_t tasks, std::int64_t stall_ns) : stall_ns_(stall_ns), live_(tasks) {}

    // Each yields, stalls, and so on.
    template <poster Runtime>
    void start_yielders(Runtime& runtime) {
        for (std::uint64_t k = live_.load(std::memory_order_relaxed); k-- > 0;)
            runtime.post([this, k, r = &runtime] { yield_and_stall(*r, k); });
    }

    // Each stalls and spawns itself again.
    template <poster Runtime>
    void start_stallers(Runtime& runtime) {
        for (std::uint64_t k = live_.load(std::memory_order_relaxed); k-- > 0;)
            runtime.post([this, k, r = &runtime] { stall_and_respawn(*r, k); });
    }

    void stop() noexcept {
        on_.store(false, std::memory_order_relaxed);
        for (std::uint64_t left; (left = live_.load(std::memory_order_acquire)) != 0;)
            live_.wait(left, std::memory_order_acquire);
    }

private:
    template <poster Runtime>
    void yield_and_stall(Runtime& runtime, std::uint64_t k) {
        if (!on_.load(std::memory_order_relaxed)) return leave();
        bench::yield(runtime, k, [this, k, r = &runtime] {
            stall();
            yield_and_stall(*r, k);
        });
    }

    template <poster Runtime>
    void stall_and_respawn(Runtime& runtime, std::uint64_t k) {
        if (!on_.load(std::memory_order_relaxed)) return leave();
        stall();
        bench::yield(runtime, k, [this, k, r = &runtime] { stall_and_respawn(*r, k); });
    }

    void stall() const noexcept {
        const std::int64_t end = now_ns() + stall_ns_;
        while (now_ns() < end) std::this_thread::yield();
    }

    void leave() noexcept {
        live_.fetch_sub(1, std::memory_order_release);
        live_.notify_one();
    }

    const std::int64_t stall_ns_;
    std::atomic<bool> on_{true};
    std::atomic<std::uint64_t> live_;
};

}  // namespace apiary::bench
