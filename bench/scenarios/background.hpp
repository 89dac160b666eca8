// Tasks that keep a runtime busy beside the measured ones, until they are told to end: short ones that stall
// (background), and ones that compute (compute_load).
//
// Threads. stall, leave, run: the tasks. stop, call_end, wait: the main thread, which sleeps until the last has left.
// Synchronisation: leave, and the end of run, (release) pair with the load in stop and wait (acquire).
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

class background {
public:
    background(std::uint64_t tasks, std::int64_t stall_ns) : stall_ns_(stall_ns), live_(tasks) {}

    // Each task yields, stalls, and so on.
    template <poster Runtime>
    void start_yielders(Runtime& runtime) {
        for (std::uint64_t k = live_.load(std::memory_order_relaxed); k-- > 0;)
            runtime.post([this, k, r = &runtime] { yield_and_stall(*r, k); });
    }

    // Each task stalls and spawns itself again.
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

// Tasks that each keep a thread busy for a span of its processor time, are counted, and hand in the next.
class compute_load {
public:
    compute_load(std::uint64_t tasks, std::int64_t work_ns) : work_ns_(work_ns), live_(tasks) {}

    // One task. again(next): hands in a task that calls next.
    template <class Again>
    void run(Again again) {
        const std::int64_t end = thread_cpu_ns() + work_ns_;
        while (thread_cpu_ns() < end) {
        }
        done_.fetch_add(1, std::memory_order_relaxed);
        if (on_.load(std::memory_order_relaxed)) return again([this, again] { run(again); });
        live_.fetch_sub(1, std::memory_order_release);
        live_.notify_one();
    }

    [[nodiscard]] std::uint64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }

    void call_end() noexcept { on_.store(false, std::memory_order_relaxed); }

    void wait() const noexcept {
        for (std::uint64_t left; (left = live_.load(std::memory_order_acquire)) != 0;)
            live_.wait(left, std::memory_order_acquire);
    }

private:
    const std::int64_t work_ns_;
    std::atomic<bool> on_{true};
    std::atomic<std::uint64_t> done_{0}, live_;
};

}  // namespace apiary::bench
