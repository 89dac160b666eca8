// The ledger: every task adds the mark of its number, so the sum shows a task that is lost, run twice or swapped for
// another (bench/contract/CLI.md, "check, exactly").
//
// Threads.  open, wait, sum: the main thread. complete: any task, as its last act, once per number.
// A ledger must outlive the runtime whose tasks hold a pointer to it.
//
// A mark is 32 bits of hash above a one, so the low half of a sum counts the tasks and the high half adds up which tasks
// they were. account.hpp has the sum: one word on real hosts.
//
// Synchronisation: the task that is the account's last acquires what the others released, and signals with release; wait
// acquires.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include <apiary/bench/real_host.hpp>
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

template <class Host>
class basic_ledger {
    using S = typename Host::sync;

public:
    using host = Host;

    // `threads` run the tasks; more may.
    explicit basic_ledger(std::int64_t slowdown_ns, unsigned threads = 1) : account_(threads), slowdown_ns_(slowdown_ns) {}
    basic_ledger(const basic_ledger&) = delete;
    basic_ledger& operator=(const basic_ledger&) = delete;

    static constexpr std::uint64_t most_tasks = UINT32_MAX;

    // Opens the account of 1 to most_tasks tasks. No task of an earlier account may still run.
    void open(std::uint64_t n) {
        if (n == 0 || n > most_tasks)
            throw std::length_error("a block of " + std::to_string(n) + " tasks; 1 to 4294967295 can be counted");
        account_.open(n);
        over_.lower();
    }

    // Task number i has run.
    void complete(std::uint64_t i) noexcept {
        slow_down();
        if (account_.template add<Host>(mark(i))) [[unlikely]]
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
        over_.wait();
        return end_ns_;
    }

    // Marks the calling thread, for its life, as one that posts to the runtime and is not part of it: no task may run
    // here.
    static void this_thread_posts() noexcept {
        static poster any;
        S::set_current(&any);
    }

    // True if the last task of some account ran on a thread that posts. Then tasks run within the call that posts them,
    // and the run measured no hand-over. Only the end of a block looks at this, so it costs tasks nothing.
    [[nodiscard]] bool ran_on_a_poster() const noexcept { return inline_; }

    // Final after wait.
    [[nodiscard]] std::uint64_t sum() const noexcept { return account_.sum(); }

private:
    struct poster {};

    [[gnu::noinline, gnu::cold]] static void burst(std::int64_t ns) noexcept {
        thread_local unsigned calls = 0;
        if (++calls % slowdown_every == 0) busy_wait_ns(ns);
    }

    // The last task stamps the end itself: waking the main thread is no part of the work.
    [[gnu::noinline, gnu::cold]] void finish() noexcept {
        end_ns_ = Host::now_ns();
        if (S::template current<poster>() != nullptr) inline_ = true;
        over_.raise();
    }

    typename Host::account account_;
    const std::int64_t slowdown_ns_;
    std::int64_t end_ns_ = 0;
    bool inline_ = false;  // written and read as end_ns_ is
    typename Host::signal over_;
};

using ledger = basic_ledger<real_host>;

// Of an adapter's host.
template <class Runtime>
using ledger_of = basic_ledger<host<Runtime>>;

}  // namespace apiary::bench
