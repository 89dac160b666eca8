// Chooses the block that counts: calibration, warm-up until steady, then the median of the measured blocks.
//
// The caller has the clock: `run_block(ops)` does one block and says how long it took.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace apiary::bench {

struct block {
    std::uint64_t ops = 0;
    std::int64_t wall_ns = 0;
    std::int64_t cpu_ns = 0;
    std::uint64_t sum = 0;                // of the ledger
    std::optional<std::uint64_t> allocs;  // calls of operator new during the block
    bool on_poster = false;               // its last task ran on a thread that posts

    [[nodiscard]] double ns_per_op() const { return static_cast<double>(wall_ns) / static_cast<double>(ops); }
};

struct block_settings {
    unsigned warmup_blocks = 5;              // at most
    unsigned blocks = 3;                     // measured; at least 1
    std::int64_t block_ns = 100'000'000;     // a calibrated block lasts at least this long
    std::optional<std::uint64_t> fixed_ops;  // no calibration
    std::uint64_t floor_ops = 1;             // where calibration starts
};

struct block_outcome {
    block median;
    unsigned warmup_blocks = 0;
    bool steady = false;
};

// Two warm-up blocks agree when they differ by at most 2 % of the smaller one.
[[nodiscard]] inline bool agree(double a, double b) { return std::abs(a - b) <= 0.02 * std::min(a, b); }

// Blocks of the calibration are neither warm-up nor measured blocks.
template <class RunBlock>
[[nodiscard]] std::uint64_t calibrate(const block_settings& settings, RunBlock& run_block) {
    constexpr std::uint64_t most = std::uint64_t{1}
                                   << 31;  // no real block is that long, and a ledger counts no further
    std::uint64_t ops = settings.floor_ops;
    while (run_block(ops).wall_ns < settings.block_ns && ops < most) ops *= 2;
    return ops;
}

template <class RunBlock>
[[nodiscard]] block_outcome run_blocks(const block_settings& settings, RunBlock run_block) {
    const std::uint64_t ops = settings.fixed_ops ? *settings.fixed_ops : calibrate(settings, run_block);

    block_outcome outcome;
    std::optional<double> before;
    while (!outcome.steady && outcome.warmup_blocks < settings.warmup_blocks) {
        const double now = run_block(ops).ns_per_op();
        ++outcome.warmup_blocks;
        outcome.steady = before && agree(*before, now);
        before = now;
    }

    std::vector<block> measured;
    for (unsigned i = 0; i < settings.blocks; ++i) measured.push_back(run_block(ops));
    std::ranges::sort(measured, {}, &block::ns_per_op);
    outcome.median = measured.at((measured.size() - 1) / 2);  // the lower one of an even count
    return outcome;
}

}  // namespace apiary::bench
