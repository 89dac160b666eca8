// The row as text, and its header against the treaty.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include <apiary/bench/row.hpp>

namespace row_test {
namespace {

using namespace apiary::bench;

TEST(Row, TheHeaderIsTheOneInCsvMd) {
    std::ifstream treaty(APIARY_CONTRACT_DIR "/CSV.md");
    std::string line;
    bool found = false;
    while (std::getline(treaty, line)) found = found || line == measured_columns;
    EXPECT_TRUE(found) << measured_columns;
}

TEST(Row, AFreshRowHasEveryColumnAndNoFigure) {
    const std::string text = row{}.to_csv();
    EXPECT_EQ(std::count(text.begin(), text.end(), ','),
              std::count(measured_columns.begin(), measured_columns.end(), ','));
    EXPECT_EQ(text.find_first_not_of(','), text.size() - 2) << "only status=ok: " << text;
}

TEST(Row, EveryColumnStandsUnderItsName) {
    row r;
    row::count* const counts[] = {
        &r.workers,     &r.seed,       &r.warmup_blocks,   &r.steady,     &r.blocks,     &r.ops,        &r.wall_ns,
        &r.cpu_ns,      &r.lat_count,  &r.lat_min_ns,      &r.lat_p50_ns, &r.lat_p90_ns, &r.lat_p95_ns, &r.lat_p99_ns,
        &r.lat_p999_ns, &r.lat_max_ns, &r.lateness_p99_ns, &r.nvcsw,      &r.nivcsw,     &r.minflt,     &r.maxrss_kib,
        &r.allocs,      &r.wakes,      &r.parks,           &r.steals};
    std::uint64_t value = 0;
    for (row::count* c : counts) *c = value++;
    r.scenario = "s";
    r.ns_per_op = 0.5;
    r.ops_per_s = 1.25;
    r.offered_per_s = 2;
    r.achieved_per_s = 3;
    r.check = 0xABC;
    r.flags = "f";
    EXPECT_EQ(r.to_csv(),
              "s,0,1,2,3,4,5,6,7,0.5,1.25,2,3,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,0000000000000abc,f,ok");
}

TEST(Row, FloatsHaveAtMostThreeDecimalsAndNoExponent) {
    EXPECT_EQ(short_decimal(1.0), "1");
    EXPECT_EQ(short_decimal(0.0), "0");
    EXPECT_EQ(short_decimal(100.0), "100");
    EXPECT_EQ(short_decimal(1.0 / 3.0), "0.333");
    EXPECT_EQ(short_decimal(2'123'456.7899), "2123456.79");
    EXPECT_EQ(short_decimal(1e21), "1000000000000000000000");
    EXPECT_EQ(short_decimal(std::numeric_limits<double>::infinity()), "") << "no figure: not measured";
}

}  // namespace
}  // namespace row_test
