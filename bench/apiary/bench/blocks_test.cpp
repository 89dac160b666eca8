// Calibration, warm-up and median, with a clock that the test sets.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include <apiary/bench/blocks.hpp>

namespace blocks_test {
namespace {

using namespace apiary::bench;

// Answers with the given wall times, one per block, and remembers the counts it was asked for.
struct script {
    std::vector<std::int64_t> walls;
    std::vector<std::uint64_t> asked{};

    block operator()(std::uint64_t ops) {
        block b;
        b.ops = ops;
        b.wall_ns = b.cpu_ns = walls.at(asked.size());
        asked.push_back(ops);
        return b;
    }
    bool used_up() const { return asked.size() == walls.size(); }
};

const block_settings fixed{.warmup_blocks = 5, .blocks = 3, .block_ns = 100'000, .fixed_ops = 10, .floor_ops = 16};

template <class Change>
block_settings fixed_but(Change change) {
    block_settings s = fixed;
    change(s);
    return s;
}

TEST(Blocks, WarmUpEndsWhenTwoInSuccessionAgree) {
    script s{{5000, 3000, 3060, 1, 2, 3}};
    const block_outcome o = run_blocks(fixed, std::ref(s));
    EXPECT_TRUE(s.used_up());
    EXPECT_TRUE(o.steady);
    EXPECT_EQ(o.warmup_blocks, 3U);
    EXPECT_EQ(o.median.wall_ns, 2);
}

TEST(Blocks, AgreementMustBeInSuccession) {
    script s{{1000, 2000, 1000, 2000, 1000, 7, 7, 7}};
    const block_outcome o = run_blocks(fixed, std::ref(s));
    EXPECT_TRUE(s.used_up());
    EXPECT_FALSE(o.steady);
    EXPECT_EQ(o.warmup_blocks, 5U);
}

TEST(Blocks, TwoPercentOfTheSmallerOneIsTheLimit) {
    EXPECT_TRUE(agree(100.0, 102.0) && agree(102.0, 100.0));
    EXPECT_FALSE(agree(100.0, 102.1) || agree(102.1, 100.0));
}

TEST(Blocks, WithoutOrWithOneWarmUpBlockNothingCanAgree) {
    for (const unsigned n : {0U, 1U}) {
        script s{std::vector<std::int64_t>(n + 3, 9)};
        const block_outcome o = run_blocks(fixed_but([&](auto& f) { f.warmup_blocks = n; }), std::ref(s));
        EXPECT_EQ(o.warmup_blocks, n);
        EXPECT_FALSE(o.steady);
    }
}

TEST(Blocks, CalibrationDoublesFromTheFloorAndTheCountIsKept) {
    script s{{30'000, 60'000, 120'000, 120'000, 120'000, 90'000, 91'000, 92'000}};
    const block_outcome o = run_blocks(fixed_but([](auto& f) { f.fixed_ops.reset(); }), std::ref(s));
    EXPECT_EQ(s.asked, (std::vector<std::uint64_t>{16, 32, 64, 64, 64, 64, 64, 64}));
    EXPECT_EQ(o.median.wall_ns, 91'000);
    EXPECT_EQ(o.warmup_blocks, 2U) << "calibration is no warm-up";
    EXPECT_TRUE(o.steady);
}

TEST(Blocks, CalibrationOfABlockThatTakesNoTimeEnds) {
    const block_outcome o = run_blocks(fixed_but([](auto& f) { f.fixed_ops.reset(); }), [](std::uint64_t ops) {
        block b;
        b.ops = ops;
        return b;
    });
    EXPECT_EQ(o.median.ops, std::uint64_t{16} << 27);
}

TEST(Blocks, AnEvenCountTakesTheLowerMedian) {
    script s{{40, 10, 30, 20}};
    const block_settings settings = fixed_but([](auto& f) {
        f.warmup_blocks = 0;
        f.blocks = 4;
    });
    EXPECT_EQ(run_blocks(settings, std::ref(s)).median.wall_ns, 20);
}

TEST(Blocks, AllValuesComeFromTheSameBlock) {
    script s{{300, 100, 200}};
    const block_outcome o = run_blocks(fixed_but([](auto& f) { f.warmup_blocks = 0; }), std::ref(s));
    EXPECT_EQ(o.median.wall_ns, 200);
    EXPECT_EQ(o.median.cpu_ns, 200);
}

}  // namespace
}  // namespace blocks_test
