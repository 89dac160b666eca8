// The ledger: every task adds the mark of its number, so the sum shows a task that is lost, run twice or swapped for
// another (bench/contract/CLI.md, "check, exactly").
//
// Threads.  open, wait, sum: the main thread. complete: any task, as its last act, once per number.
// A ledger must outlive the runtime whose tasks hold a pointer to it.
//
// One word, one addition for each task: a mark is 32 bits of hash above a one, so the low half counts the tasks and the
// high half adds up which tasks they were.
//
// Synchronisation: complete adds with release; wait loads with acquire. Each addition continues the release
// sequences of those before it, so wait sees the writes of every task.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <apiary/bench/host.hpp>
#include <apiary/sync/cache_line.hpp>

namespace apiary::bench {

// The finaliser of SplitMix64.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t i) noexcept {
    std::uint64_t z = i + 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

// The mark that task number i adds.
[[nodiscard]] constexpr std::uint64_t mark(std::uint64_t i) noexcept {
    return (mix(i) & ~std::uint64_t{UINT32_MAX}) | 1;
}

// mark(0) + … + mark(n - 1), wrapping.
[[nodiscard]] constexpr std::uint64_t expected_sum(std::uint64_t n) noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) sum += mark(i);
    return sum;
}

// The complaint about a run whose tasks ran on a thread that posts.
inline constexpr std::string_view ran_on_a_poster =
    "tasks run on the thread that posts them, within the call: nothing was handed over";

// The built-in slow-down reaches one task in so many of a thread.
inline constexpr unsigned slowdown_every = 64;

class ledger {
public:
    explicit ledger(std::int64_t slowdown_ns) noexcept : slowdown_ns_(slowdown_ns) {}
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    static constexpr std::uint64_t most_tasks = UINT32_MAX;

    // Opens the account of 1 to most_tasks tasks. No task of an earlier account may still run.
    void open(std::uint64_t n) {
        if (n == 0 || n > most_tasks)
            throw std::length_error("a block of " + std::to_string(n) + " tasks; 1 to 4294967295 can be counted");
        sum_.store(0, std::memory_order_relaxed);
        finished_.store(0, std::memory_order_relaxed);
        expected_ = static_cast<std::uint32_t>(n);
    }

    // Task number i has run.
    void complete(std::uint64_t i) noexcept {
        slow_down();
        // Read first: once this task is counted, the next account may be opened.
        const std::uint32_t expected = expected_;
        const std::uint64_t m = mark(i);
        if (counted(sum_.fetch_add(m, std::memory_order_release) + m) == expected) [[unlikely]]
            finish();
    }

    // The built-in slow-down of a control arm: every 64th call of a thread waits. Producers call it, too, so it shows
    // whichever side is the bottleneck. It comes in bursts, because a whole nanosecond is too coarse where a task takes
    // twenty, and because the fences would take up all of a wait of a nanosecond or two.
    void slow_down() const noexcept { slow_down(slowdown_ns_); }

    // The same for callers without a ledger.
    static void slow_down(std::int64_t ns) noexcept {
        if (ns != 0) [[unlikely]]
            burst(ns);
    }

    // Sleeps until all tasks have run; returns when the last one ended (now_ns).
    std::int64_t wait() const noexcept {
        finished_.wait(0, std::memory_order_acquire);
        while (counted(sum_.load(std::memory_order_acquire)) < expected_) {
        }
        return end_ns_;
    }

    // Marks the calling thread, for its life, as one that posts to the runtime and is not part of it: no task may run
    // here.
    static void this_thread_posts() noexcept { posts_ = true; }

    // True if the last task of some account ran on a thread that posts. Then tasks run within the call that posts them,
    // and the run measured no hand-over. Only the end of a block looks at this, so it costs tasks nothing.
    [[nodiscard]] bool ran_on_a_poster() const noexcept { return inline_; }

    // Final after wait.
    [[nodiscard]] std::uint64_t sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint32_t counted(std::uint64_t sum) noexcept { return static_cast<std::uint32_t>(sum); }

    [[gnu::noinline, gnu::cold]] static void burst(std::int64_t ns) noexcept {
        thread_local unsigned calls = 0;
        if (++calls % slowdown_every == 0) busy_wait_ns(ns);
    }

    // The last task stamps the end itself: waking the main thread is no part of the work.
    [[gnu::noinline, gnu::cold]] void finish() noexcept {
        end_ns_ = now_ns();
        if (posts_) inline_ = true;
        finished_.store(1, std::memory_order_release);
        finished_.notify_one();
    }

    // Tasks write these.
    alignas(cache_line) std::atomic<std::uint64_t> sum_{0};
    // Tasks only read these.
    alignas(cache_line) std::uint32_t expected_ = 0;
    const std::int64_t slowdown_ns_;
    std::int64_t end_ns_ = 0;
    bool inline_ = false;  // written and read as end_ns_ is
    inline static thread_local bool posts_ = false;
    std::atomic<std::uint32_t> finished_{0};
};

}  // namespace apiary::bench
