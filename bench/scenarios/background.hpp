// Tasks that keep a runtime busy beside the measured ones, until they are told to end: short ones that stall
// (background), and ones that compute (compute_load).
//
// Threads. stall, leave, run: the tasks. start: the main thread, and tasks. stop, call_end, wait, ran_each_once: the main
// thread, which sleeps until the last has left.
// Synchronisation: leave, and the end of run, (release) pair with the load in stop and wait (acquire).
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>

#include <apiary/bench/ledger.hpp>
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

// Tasks that each keep a thread busy for a span of its processor time, are in an account of their own, and hand in the
// next. Each has the number of its hand-in, whose mark it adds when it ends.
class compute_load {
public:
    // slice_ns: a task offers its slice after so much work; 0: it does not.
    compute_load(std::uint64_t tasks, std::int64_t work_ns, std::int64_t slice_ns = 0)
        : work_ns_(work_ns), slice_ns_(slice_ns), live_(tasks) {}

    struct never {
        bool operator()(auto&&) const { return false; }
    };
    // Hands in one task by post; it hands in its successor by hand_in. Both have the runtime call what they get.
    // offer(rest): true if the runtime will call rest().
    template <class Post, class HandIn, class Offer = never>
    void start(Post post, HandIn hand_in, Offer offer = {}) {
        const std::uint64_t number = handed_in_.fetch_add(1, std::memory_order_relaxed);
        post([this, number, hand_in, offer] { run({number, work_ns_}, hand_in, offer); });
    }

    [[nodiscard]] std::uint64_t done() const noexcept { return sum_.load(std::memory_order_relaxed) & UINT32_MAX; }

    // After wait: every task that was handed in has run, and none twice. ledger.hpp says what it can miss.
    [[nodiscard]] bool ran_each_once() const noexcept {
        return sum_.load(std::memory_order_relaxed) == expected_sum(handed_in_.load(std::memory_order_relaxed));
    }
    static constexpr std::string_view complaint = "a task of the load was lost, run twice or swapped";

    void call_end() noexcept { on_.store(false, std::memory_order_relaxed); }

    void wait() const noexcept {
        for (std::uint64_t left; (left = live_.load(std::memory_order_acquire)) != 0;)
            live_.wait(left, std::memory_order_acquire);
    }

private:
    struct part {
        std::uint64_t number;
        std::int64_t left_ns;
    };

    template <class HandIn, class Offer>
    void run(part p, HandIn hand_in, Offer offer) {
        while (slice_ns_ != 0 && p.left_ns > slice_ns_) {
            keep_busy(slice_ns_);
            p.left_ns -= slice_ns_;
            if (offer([this, p, hand_in, offer] { run(p, hand_in, offer); })) return;
        }
        keep_busy(p.left_ns);
        sum_.fetch_add(mark(p.number), std::memory_order_relaxed);
        if (on_.load(std::memory_order_relaxed)) return start(hand_in, hand_in, offer);
        live_.fetch_sub(1, std::memory_order_release);
        live_.notify_one();
    }

    static void keep_busy(std::int64_t ns) noexcept {
        const std::int64_t end = thread_cpu_ns() + ns;
        while (thread_cpu_ns() < end) {
        }
    }

    const std::int64_t work_ns_, slice_ns_;
    std::atomic<bool> on_{true};
    std::atomic<std::uint64_t> handed_in_{0}, sum_{0}, live_;
};

}  // namespace apiary::bench
