// tree_sum: the sum over a balanced binary tree in memory, a fork at every inner node. The benchmark of spice and
// chili.
//
// A poor result means: the overhead of a fork is large, as in fib, against a load and an addition; for 1,023 nodes it
// also means that work of a microsecond is handed out too soon (at best, no worker gets any). Twin:
// tokio_baseline/src/scenarios/tree_sum.rs.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/binary_forks.hpp"

namespace apiary::bench {

// Nodes in one array, in the order of a walk that visits a node, then its left subtree, then its right one. A node is
// worth its number in it. A runtime that begins with the second of two branches gets the left one there, so that all
// walk forwards.
class binary_tree {
    struct stored {
        std::uint64_t value;
        const stored *left, *right;  // both or none
    };

public:
    struct node {
        const stored* at;

        [[nodiscard]] bool leaf() const noexcept { return at->left == nullptr; }
        [[nodiscard]] node left() const noexcept { return {at->left}; }
        [[nodiscard]] node right() const noexcept { return {at->right}; }
        [[nodiscard]] std::uint64_t value() const noexcept { return at->value; }
    };

    // 2^k - 1 nodes.
    explicit binary_tree(std::size_t nodes) : all_(nodes) { build(0, nodes); }
    binary_tree(const binary_tree&) = delete;
    binary_tree& operator=(const binary_tree&) = delete;

    [[nodiscard]] node root() const noexcept { return {all_.data()}; }

private:
    const stored* build(std::size_t first, std::size_t nodes) {
        const std::size_t below = nodes / 2;  // in each subtree
        all_[first] = {first, nullptr, nullptr};
        if (below != 0) {
            all_[first].left = build(first + 1, below);
            all_[first].right = build(first + 1 + below, below);
        }
        return &all_[first];
    }

    std::vector<stored> all_;
};

class tree_sum {
public:
    static constexpr std::string_view name = "tree_sum";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "nodes", .standard = (1 << 20) - 1, .most = (1 << 27) - 1},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = forks<Runtime>;

    template <class Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t nodes = options.param("nodes");
        if (!std::has_single_bit(nodes + 1))
            throw bad_arguments("--param nodes=" + std::to_string(nodes) + " is not one less than a power of two");
        const binary_tree tree(nodes);
        return measure_forks<binary_tree::node, Runtime>(tree.root(), "nodes_per_op", nodes, options);
    }
};

}  // namespace apiary::bench
