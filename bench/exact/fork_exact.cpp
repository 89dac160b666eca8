// Exact driver of fork_join: one worker of a pool, so that no job is taken by another. What a fork and its join cost beside two
// calls, and what a task_scope costs of ten jobs, in instructions; that none allocates.
#include <array>
#include <cstdint>

#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/task_scope.hpp>

#include "exact/exact.hpp"

namespace {

using apiary::exact::must;
using pool = apiary::fork_join_pool;

// As many leaves as `n` says, by halves: a fork for each but the last. Not inlined: how far g++ inlines a function into itself depends
// on what else is in the file, and a fork was 43.35 or 44.40 instructions by that alone.
[[gnu::noinline]] std::uint64_t leaves(pool::context& w, std::uint64_t n) {
    if (n < 2) return n;
    const auto [left, right] = apiary::fork_join(
        w, [n](pool::context& mine) { return leaves(mine, n / 2); },
        [n](pool::context& mine) { return leaves(mine, n - n / 2); });
    return left + right;
}

// The same by plain calls: what is not the fork's.
[[gnu::noinline]] std::uint64_t leaves_by_calls(std::uint64_t n) {
    if (n < 2) return n;
    return leaves_by_calls(n / 2) + leaves_by_calls(n - n / 2);
}

// Nobody lingers: how long that takes is no count.
constexpr apiary::fork_join_config alone{.workers = 1, .linger_ns = 0};

void fork(std::uint64_t n) {
    pool p(alone);
    must(p.run([n](pool::context& w) { return leaves(w, n); }) == n, "a leaf was lost");
    must(p.counters().handed_out <= 1,
         "a job was handed out, and no other worker is there");  // a list begins with a request
}

void scope_of_ten(std::uint64_t n) {
    pool p(alone);
    const std::uint64_t ran = p.run([n](pool::context& w) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < n; ++i) {
            apiary::task_scope s(w);
            for (std::uint64_t k = 0; k < 10; ++k) s.run([&sum, k] { sum += k; });
            must(s.wait(), "a job had no turn");
        }
        return sum;
    });
    must(ran == 45 * n, "a job was lost");
    must(p.counters().handed_out <= 1, "a job was handed out, and no other worker is there");
}

void two_calls(std::uint64_t n) { must(leaves_by_calls(n) == n, "a leaf was lost"); }

constexpr std::array operations{
    apiary::exact::operation{"fork", &fork},
    apiary::exact::operation{"scope_of_ten", &scope_of_ten},
    apiary::exact::operation{"two_calls", &two_calls},
};

}  // namespace

int main(int argc, char** argv) { return apiary::exact::main_of(operations, argc, argv); }
