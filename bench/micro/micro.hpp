// The common part of the micro-benchmarks: a check that ends the program, and the timing of two threads at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <apiary/sync/real_sync.hpp>

namespace apiary::micro {

// A benchmark of a broken structure must not give a figure; SkipWithError would print a line and exit with 0.
inline void must(bool holds, const char* what) {
    if (holds) [[likely]]
        return;
    std::fprintf(stderr, "micro-benchmark: %s\n", what);
    std::abort();
}

// Times both bodies, from the moment both threads are ready until both have ended.
template <class Here, class There>
[[nodiscard]] double seconds_of_both(Here here, There there) {
    std::atomic<bool> ready{false}, start{false};
    std::atomic<std::int64_t> there_end{0};
    std::thread other([&] {
        ready.store(true, std::memory_order_release);
        while (!start.load(std::memory_order_acquire)) real_sync::relax();
        there();
        there_end.store(real_sync::now_ns(), std::memory_order_relaxed);
    });
    while (!ready.load(std::memory_order_acquire)) std::this_thread::yield();
    const std::int64_t begin = real_sync::now_ns();
    start.store(true, std::memory_order_release);
    here();
    const std::int64_t here_end = real_sync::now_ns();
    other.join();
    const std::int64_t end = std::max(here_end, there_end.load(std::memory_order_relaxed));
    return static_cast<double>(end - begin) * 1e-9;
}

}  // namespace apiary::micro
