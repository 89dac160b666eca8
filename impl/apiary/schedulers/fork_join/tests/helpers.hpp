// helpers: what several tests of fork_join do on their workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <apiary/schedulers/fork_join/pool.hpp>

namespace fork_join_tests {

using context = apiary::fork_join_pool::context;

inline std::uint64_t fib(context& w, unsigned n) {
    if (n < 2) return n;
    const auto [x, y] =
        apiary::fork_join(w, [n](context& v) { return fib(v, n - 1); }, [n](context& v) { return fib(v, n - 2); });
    return x + y;
}

inline void wait_for(const std::atomic<bool>& flag) {
    while (!flag) std::this_thread::yield();
}
inline void wait_for_an_idle_worker(const context& w) {
    while (!w.asked()) std::this_thread::yield();
}

}  // namespace fork_join_tests
