// graph_generators: plans of well-known shapes. The patterns of Task Bench and those of linear
// algebra; every task has type 0 and the cost that is given, unless said.
//
// Tested by graph_plan_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <graphs/graph_plan.hpp>

namespace apiary {

namespace detail {

inline std::uint64_t mixed(std::uint64_t x) {
    x *= 0x9E3779B97F4A7C15U;
    x ^= x >> 31, x *= 0xBF58476D1CE4E5B9U;
    return x >> 20;
}

template <class... Numbers>
planned_task named(std::string_view what, std::int64_t cost_ns, Numbers... numbers) {
    std::string name(what);
    ((name += '_' + std::to_string(numbers)), ...);
    return {.name = std::move(name), .cost_ns = cost_ns};
}

// Steps of `width` tasks each; producers(step, i, add) names points of the step before.
template <class Producers>
graph_plan in_steps(std::string_view what, std::uint64_t width, std::uint64_t steps, std::int64_t cost_ns,
                    Producers producers) {
    graph_plan plan;
    for (std::uint64_t s = 0; s != steps; ++s)
        for (std::uint64_t i = 0; i != width; ++i) {
            plan.push_back(named(what, cost_ns, s, i));
            if (s == 0) continue;
            producers(s, i, [&](std::uint64_t point) {
                if (point < width) plan.back().after.push_back((s - 1) * width + point);
            });
        }
    return plan;
}

}  // namespace detail

inline graph_plan chain_plan(std::uint64_t tasks, std::int64_t cost_ns) {
    return detail::in_steps("chain", 1, tasks, cost_ns, [](auto, auto, auto add) { add(std::uint64_t{0}); });
}

inline graph_plan stencil_plan(std::uint64_t width, std::uint64_t steps, std::int64_t cost_ns) {
    return detail::in_steps("stencil", width, steps, cost_ns, [](auto, std::uint64_t i, auto add) {
        for (const std::uint64_t point : {i - 1, i, i + 1}) add(point);  // 0 - 1 is beyond the width
    });
}

// The five nearest points of the step before.
inline graph_plan nearest_plan(std::uint64_t width, std::uint64_t steps, std::int64_t cost_ns) {
    return detail::in_steps("nearest", width, steps, cost_ns, [](auto, std::uint64_t i, auto add) {
        for (std::uint64_t k = 0; k != 5; ++k) add(i + k - 2);
    });
}

// Five points that lie apart, and move from step to step. From a width of 5 on they are five.
inline graph_plan spread_plan(std::uint64_t width, std::uint64_t steps, std::int64_t cost_ns) {
    return detail::in_steps("spread", width, steps, cost_ns, [width](std::uint64_t s, std::uint64_t i, auto add) {
        for (std::uint64_t k = 0; k != std::min<std::uint64_t>(width, 5); ++k) add((i + s + k * width / 5) % width);
    });
}

// Butterflies over `width`, a power of two for the whole transform.
inline graph_plan fft_plan(std::uint64_t width, std::uint64_t steps, std::int64_t cost_ns) {
    std::uint64_t rounds = 1;
    while ((std::uint64_t{1} << rounds) < width) ++rounds;
    return detail::in_steps("fft", width, steps, cost_ns, [rounds](std::uint64_t s, std::uint64_t i, auto add) {
        add(i);
        add(i ^ std::uint64_t{1} << (s - 1) % rounds);
    });
}

// A binary tree whose leaves come first: each other task has two children.
inline graph_plan tree_plan(unsigned depth, std::int64_t cost_ns) {
    graph_plan plan;
    std::uint64_t below = 0;
    for (unsigned level = depth + 1; level-- != 0;) {
        const std::uint64_t begin = plan.size();
        for (std::uint64_t i = 0; i != std::uint64_t{1} << level; ++i) {
            plan.push_back(detail::named("tree", cost_ns, level, i));
            if (level != depth) plan.back().after = {below + 2 * i, below + 2 * i + 1};
        }
        below = begin;
    }
    return plan;
}

inline graph_plan wavefront_plan(std::uint64_t rows, std::uint64_t columns, std::int64_t cost_ns) {
    graph_plan plan;
    for (std::uint64_t r = 0; r != rows; ++r)
        for (std::uint64_t c = 0; c != columns; ++c) {
            plan.push_back(detail::named("cell", cost_ns, r, c));
            if (r != 0) plan.back().after.push_back((r - 1) * columns + c);
            if (c != 0) plan.back().after.push_back(r * columns + c - 1);
        }
    return plan;
}

namespace detail {

// Tasks that write one tile and read others, which the tasks before have written.
class tiled_plan {
public:
    explicit tiled_plan(std::uint64_t tiles) : tiles_(tiles), version_(tiles * tiles, none) {}

    std::uint64_t& tile(std::uint64_t i, std::uint64_t j) { return version_[i * tiles_ + j]; }
    void add(planned_task t, std::uint8_t type, std::uint64_t& writes, std::vector<std::uint64_t> reads) {
        t.type = type;
        reads.insert(reads.begin(), writes);
        for (const std::uint64_t p : reads)
            if (p != none) t.after.push_back(p);
        writes = plan.size();
        plan.push_back(std::move(t));
    }
    graph_plan plan;

private:
    static constexpr std::uint64_t none = UINT64_MAX;
    const std::uint64_t tiles_;
    std::vector<std::uint64_t> version_;  // of each tile, the task that has written it last
};

}  // namespace detail

// The tiled factorisation of the lower half. Costs in the proportion of the kernels' operations, gemm's being `cost_ns`; gemm and
// syrk are of type `updates`.
inline graph_plan cholesky_plan(std::uint64_t tiles, std::int64_t cost_ns, std::uint8_t updates = 0) {
    detail::tiled_plan to(tiles);
    const auto tile = [&to](std::uint64_t i, std::uint64_t j) -> std::uint64_t& { return to.tile(i, j); };
    const auto add = [&to](planned_task t, std::uint8_t type, std::uint64_t& writes, std::vector<std::uint64_t> reads) {
        to.add(std::move(t), type, writes, std::move(reads));
    };
    for (std::uint64_t k = 0; k != tiles; ++k) {
        add(detail::named("potrf", cost_ns / 6, k), 0, tile(k, k), {});
        for (std::uint64_t i = k + 1; i < tiles; ++i)
            add(detail::named("trsm", cost_ns / 2, i, k), 0, tile(i, k), {tile(k, k)});
        for (std::uint64_t i = k + 1; i < tiles; ++i) {
            for (std::uint64_t j = k + 1; j < i; ++j)
                add(detail::named("gemm", cost_ns, i, j, k), updates, tile(i, j), {tile(i, k), tile(j, k)});
            add(detail::named("syrk", cost_ns / 2, i, k), updates, tile(i, i), {tile(i, k)});
        }
    }
    return std::move(to.plan);
}

// The tiled factorisation into a lower and an upper half, without pivoting; costs as above, gemm's being `cost_ns`.
inline graph_plan lu_plan(std::uint64_t tiles, std::int64_t cost_ns, std::uint8_t updates = 0) {
    detail::tiled_plan to(tiles);
    for (std::uint64_t k = 0; k != tiles; ++k) {
        to.add(detail::named("getrf", cost_ns / 3, k), 0, to.tile(k, k), {});
        for (std::uint64_t i = k + 1; i < tiles; ++i) {
            to.add(detail::named("trsmL", cost_ns / 2, k, i), 0, to.tile(k, i), {to.tile(k, k)});
            to.add(detail::named("trsmU", cost_ns / 2, i, k), 0, to.tile(i, k), {to.tile(k, k)});
        }
        for (std::uint64_t i = k + 1; i < tiles; ++i)
            for (std::uint64_t j = k + 1; j < tiles; ++j)
                to.add(detail::named("gemm", cost_ns, i, j, k), updates, to.tile(i, j), {to.tile(i, k), to.tile(k, j)});
    }
    return std::move(to.plan);
}

// Its own point, and each of the nearest five with even chances.
inline graph_plan random_nearest_plan(std::uint64_t seed, std::uint64_t width, std::uint64_t steps,
                                      std::int64_t cost_ns) {
    return detail::in_steps("near", width, steps, cost_ns, [seed, width](std::uint64_t s, std::uint64_t i, auto add) {
        for (std::uint64_t k = 0; k != 5; ++k)
            if (k == 2 || detail::mixed(seed + (s * width + i) * 8 + k) % 2 == 1) add(i + k - 2);
    });
}

// Layers of `width`; each task has up to three producers in the layer before.
inline graph_plan layered_plan(std::uint64_t seed, std::uint64_t width, std::uint64_t layers, std::int64_t cost_ns) {
    return detail::in_steps("layer", width, layers, cost_ns, [seed, width](std::uint64_t s, std::uint64_t i, auto add) {
        std::vector<std::uint64_t> points;
        for (std::uint64_t k = 0; k != 3; ++k) {
            points.push_back(detail::mixed(seed + (s * width + i) * 4 + k) % width);
        }
        std::sort(points.begin(), points.end());
        points.erase(std::unique(points.begin(), points.end()), points.end());
        for (const std::uint64_t p : points) add(p);
    });
}

}  // namespace apiary
