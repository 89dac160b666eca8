// The histogram's own laws; golden_test.cpp compares it with the other language.
#include <gtest/gtest.h>

#include <sstream>

#include <apiary/bench/histogram.hpp>

namespace histogram_test {
namespace {

using namespace apiary::bench;

TEST(Histogram, BucketsTileTheWholeRangeWithoutGapOrOverlap) {
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < histogram::buckets; ++i) {
        const auto [lo, hi, count] = histogram::edges_of(i);
        ASSERT_EQ(lo, next) << i;
        ASSERT_EQ(histogram::index_of(lo), i);
        ASSERT_EQ(histogram::index_of(hi), i);
        next = hi + 1;
    }
    EXPECT_EQ(next, 0U) << "the last bucket ends at 2^64 - 1";
}

TEST(Histogram, NoBucketIsWiderThanItsShareOfTheValue) {
    for (std::size_t i = histogram::linear; i < histogram::buckets; ++i) {
        const auto [lo, hi, count] = histogram::edges_of(i);
        ASSERT_LT(hi - lo, lo / 127) << i;
    }
}

TEST(Histogram, RanksAreExactForCountsThatADoubleCannotHold) {
    EXPECT_EQ(permille{500}.rank(0), 1U);
    EXPECT_EQ(permille{990}.rank(100), 99U);
    EXPECT_EQ(permille{990}.rank(101), 100U);
    EXPECT_EQ(permille{999}.rank(1000), 999U);
    EXPECT_EQ(permille{500}.rank(UINT64_MAX), std::uint64_t{1} << 63);
}

TEST(Histogram, AnEmptyOneHasNoFigures) {
    const histogram h;
    EXPECT_FALSE(h.min() || h.max() || h.percentile({500}) || h.printed_percentile({500}));
}

TEST(Histogram, APercentileNeedsAHundredSamplesAboveIt) {
    histogram h;
    h.record(5, 9999);
    EXPECT_FALSE(h.printed_percentile({990})) << "99 above";
    h.record(5);
    EXPECT_EQ(h.printed_percentile({990}), 5U) << "100 above";
}

TEST(Histogram, TheUpperEdgeNeverExceedsTheMaximum) {
    histogram h;
    h.record(1'000'000);
    EXPECT_EQ(h.percentile({500}), 1'000'000U);
}

TEST(Histogram, MergingIsTheSameAsRecordingTogether) {
    histogram a, b, both;
    for (std::uint64_t v = 1; v < 1'000'000; v = v * 3 + 1) {
        (v % 2 == 0 ? a : b).record(v, v % 5);
        both.record(v, v % 5);
    }
    a.merge(b);
    std::ostringstream merged, together;
    a.write_csv(merged);
    both.write_csv(together);
    EXPECT_EQ(merged.str(), together.str());
    EXPECT_EQ(a.max(), both.max());
    EXPECT_EQ(a.min(), both.min());
}

TEST(Histogram, TheFileHoldsTheHeaderAndTheFilledBuckets) {
    histogram h;
    h.record(7, 2);
    h.record(256);
    std::ostringstream out;
    h.write_csv(out);
    EXPECT_EQ(out.str(), "value_lo_ns,value_hi_ns,count\n7,7,2\n256,257,1\n");
}

}  // namespace
}  // namespace histogram_test
