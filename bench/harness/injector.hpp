// The injector of open-loop scenarios: releases work at the times of a plan, on a thread of its own.
//
// It sleeps to the next intended time and releases everything that is due, late or not: what it did
// late is in its own histogram, and the latency of a task counts from the intended time all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <utility>

#include <apiary/bench/histogram.hpp>
#include <apiary/bench/host.hpp>

namespace apiary::bench {

// The first 10 % of n samples are left out of histograms, rounded down.
[[nodiscard]] constexpr std::size_t discarded(std::size_t n) noexcept { return n / 10; }

struct injection {
    std::int64_t zero_ns = 0;  // the start of the measurement, now_ns
    histogram lateness;        // injected - intended
};

// Calls release(i) for each i of the plan, at or after zero + plan[i].
template <class Release>
[[nodiscard]] injection inject(std::span<const std::int64_t> plan, Release release) {
    // The measurement starts this much later: the injector should be asleep when the first time comes.
    constexpr std::int64_t lead_ns = 10'000'000;
    injection done;
    set_timer_slack_1ns();
    done.zero_ns = now_ns() + lead_ns;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const std::int64_t intended = done.zero_ns + plan[i];
        std::int64_t injected = now_ns();
        if (injected < intended) {
            sleep_until_ns(intended);
            injected = now_ns();
        }
        release(i);
        if (i >= discarded(plan.size())) done.lateness.record(static_cast<std::uint64_t>(injected - intended));
    }
    return done;
}

// The same on a new thread; returns when the last task has been released.
template <class Release>
[[nodiscard]] injection inject_from_new_thread(std::span<const std::int64_t> plan, Release release) {
    injection done;
    std::exception_ptr failure;
    std::thread([&] {
        try {
            done = inject(plan, release);
        } catch (...) {
            failure = std::current_exception();
        }
    }).join();
    if (failure) std::rethrow_exception(failure);
    return done;
}

}  // namespace apiary::bench
