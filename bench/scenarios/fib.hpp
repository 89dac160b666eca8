// fib: two branches for every addition of fib(n), by its definition. It measures the cost of a fork and a join only.
//
// A poor result means: a fork allocates, fences, or wakes, or a join blocks. For first-in-first-out pools it also
// measures memory: they open the whole tree breadth first. The floor is the subject machine, whose compiler is free to
// inline, and machine_calls, where every branch is a call. Twin: tokio_baseline/src/scenarios/fib.rs. After Cilk.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "scenarios/binary_forks.hpp"

namespace apiary::bench {

struct fib_node {
    std::uint64_t n;

    [[nodiscard]] bool leaf() const noexcept { return n < 2; }
    [[nodiscard]] fib_node left() const noexcept { return {n - 1}; }
    [[nodiscard]] fib_node right() const noexcept { return {n - 2}; }
    [[nodiscard]] std::uint64_t value() const noexcept { return n < 2 ? n : 0; }
};

class fib {
public:
    static constexpr std::string_view name = "fib";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "n", .standard = 27, .least = 0, .most = 60},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = forks<Runtime>;

    template <class Runtime>
    static report measure(const run_options& options) {
        const fib_node root{options.param("n")};
        return measure_forks<fib_node, Runtime>(root, "forks_per_op", forks_of(root), options);
    }
};

}  // namespace apiary::bench
