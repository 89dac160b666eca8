// uts: Unbalanced Tree Search, the published tree T1, whose shape no program can foresee: a node's SHA-1 decides how
// many children it has.
//
// A poor result means: work is balanced by halves of a queue and not by need. Each node costs about a hash.
// Twin: tokio_baseline/src/scenarios/uts.rs. Olivier et al., "UTS: An Unbalanced Tree Search Benchmark", LCPC 2006.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <apiary/bench/sha1.hpp>

#include "scenarios/tree_tasks.hpp"

namespace apiary::bench {

struct uts_tree {
    static constexpr unsigned most_children = 100;
    static constexpr std::uint32_t seed = 19;
    static constexpr double branching = 4;
    struct Node {
        sha1_digest state;
        std::uint32_t height;
    };
    std::uint32_t depth;

    [[nodiscard]] Node root() const noexcept {
        sha1_digest bytes{};
        for (unsigned i = 0; i < 4; ++i) bytes[16 + i] = static_cast<std::uint8_t>(seed >> (24 - 8 * i));
        return {sha1(bytes), 0};
    }
    [[nodiscard]] unsigned children(const Node& node) const noexcept {
        if (node.height >= depth) return 0;
        std::uint32_t h = 0;
        for (std::size_t i = 16; i < 20; ++i) h = h << 8 | node.state[i];
        const double u = static_cast<double>(h & 0x7FFFFFFF) / 0x1p31;
        return std::min(static_cast<unsigned>(std::floor(std::log(1 - u) / per_child)), most_children);
    }
    [[nodiscard]] Node child(const Node& node, unsigned k) const noexcept {
        return {sha1(node.state, k), node.height + 1};
    }
    [[nodiscard]] std::uint64_t value(const Node&) const noexcept { return 1; }

private:
    static inline const double per_child = std::log(1 - 1 / (1 + branching));  // worked out once, as in the twins
};

class uts {
public:
    static constexpr std::string_view name = "uts";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "depth", .standard = 10, .least = 0, .most = 13},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = fork_join<Runtime>;

    template <class Runtime>
    static report measure(const run_options& options) {
        return measure_tree<uts_tree, Runtime>({static_cast<std::uint32_t>(options.param("depth"))}, options);
    }
};

}  // namespace apiary::bench
