// skynet and nqueens: fork-join with tasks of a few nanoseconds, so that they measure nothing but spawn and join.
//
// A poor result means: a spawn allocates or wakes, a join blocks, or a thief takes leaves instead of branches. For
// first-in-first-out pools it also measures memory: they open the whole tree breadth first.
// Twins: tokio_baseline/src/scenarios/, under the same names. After skynet (Karrlander) and BOTS.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "scenarios/tree_tasks.hpp"

namespace apiary::bench {

struct skynet_tree {
    static constexpr unsigned most_children = 10;
    struct Node {
        std::uint64_t first, size;
    };
    std::uint64_t leaves;

    [[nodiscard]] Node root() const noexcept { return {0, leaves}; }
    [[nodiscard]] unsigned children(const Node& node) const noexcept { return node.size > 1 ? 10 : 0; }
    [[nodiscard]] Node child(const Node& node, unsigned k) const noexcept {
        const std::uint64_t size = node.size / 10;
        return {node.first + k * size, size};
    }
    [[nodiscard]] std::uint64_t value(const Node& node) const noexcept { return node.size > 1 ? 0 : node.first; }
};

struct nqueens_tree {
    static constexpr unsigned most_children = 20;
    // The columns of this row that the queens above attack, a bit per column.
    struct Node {
        std::uint32_t columns, falling, rising;
        std::uint8_t row;  // one more word, and g++ stores all four as a vector: a tenth more for each node
    };
    std::uint32_t n;

    [[nodiscard]] Node root() const noexcept { return {}; }
    [[nodiscard]] unsigned children(const Node& node) const noexcept {
        const std::uint32_t open = free(node);
        return open == 0 ? 0 : ones(open);
    }
    [[nodiscard]] Node child(const Node& node, unsigned k) const noexcept {
        std::uint32_t open = free(node);
        while (k-- > 0) open &= open - 1;
        const std::uint32_t queen = open & -open;
        return {node.columns | queen, (node.falling | queen) << 1, (node.rising | queen) >> 1,
                static_cast<std::uint8_t>(node.row + 1)};
    }
    [[nodiscard]] std::uint64_t value(const Node& node) const noexcept { return node.row == n ? 1 : 0; }

private:
    // The code that rustc generates for count_ones on the common x86-64, which has no instruction for it. g++ 12 calls
    // a function.
    [[nodiscard]] static unsigned ones(std::uint32_t bits) noexcept {
        bits -= bits >> 1 & 0x55555555;
        bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
        return ((bits + (bits >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
    }
    [[nodiscard]] std::uint32_t free(const Node& node) const noexcept {
        if (node.row == n) return 0;
        return ~(node.columns | node.falling | node.rising) & ((std::uint32_t{1} << n) - 1);
    }
};

class skynet {
public:
    static constexpr std::string_view name = "skynet";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "leaves", .standard = 1'000'000, .most = 1'000'000'000},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = fork_join<Runtime>;

    template <class Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t leaves = options.param("leaves");
        std::uint64_t rest = leaves;
        while (rest % 10 == 0) rest /= 10;
        if (rest != 1) throw bad_arguments("--param leaves=" + std::to_string(leaves) + " is not a power of ten");
        return measure_tree<skynet_tree, Runtime>({leaves}, options);
    }
};

class nqueens {
public:
    static constexpr std::string_view name = "nqueens";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "n", .standard = 10, .most = 20}, calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = fork_join<Runtime>;

    template <class Runtime>
    static report measure(const run_options& options) {
        return measure_tree<nqueens_tree, Runtime>({static_cast<std::uint32_t>(options.param("n"))}, options);
    }
};

}  // namespace apiary::bench
