// The vectors that both languages reproduce: bench/contract/golden.json.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <apiary/bench/histogram.hpp>
#include <apiary/bench/ledger.hpp>

namespace {

using namespace apiary::bench;
using json = nlohmann::json;

const json& golden() {
    static const json all = [] {
        std::ifstream in(APIARY_CONTRACT_DIR "/golden.json");
        return json::parse(in);
    }();
    return all;
}

// Above 2^53 a number is written as "0x" and 16 hexadecimal digits.
std::uint64_t number(const json& j) {
    return j.is_string() ? std::stoull(j.get<std::string>(), nullptr, 16) : j.get<std::uint64_t>();
}

const json& vectors(const char* name) {
    const json& list = golden().at(name);
    EXPECT_FALSE(list.empty()) << name;
    return list;
}

TEST(Golden, MixIsTheSame) {
    for (const json& v : vectors("mix")) EXPECT_EQ(mix(number(v.at("i"))), number(v.at("mix"))) << v;
}

TEST(Golden, BlockSumsAreTheSame) {
    for (const json& v : vectors("block_sum")) EXPECT_EQ(expected_sum(number(v.at("n"))), number(v.at("sum"))) << v;
}

TEST(Golden, BucketsAreTheSame) {
    for (const json& v : vectors("bucket")) {
        const std::size_t index = histogram::index_of(number(v.at("value")));
        EXPECT_EQ(index, number(v.at("index"))) << v;
        EXPECT_EQ(histogram::edges_of(index).lo, number(v.at("lo"))) << v;
        EXPECT_EQ(histogram::edges_of(index).hi, number(v.at("hi"))) << v;
    }
}

TEST(Golden, PercentilesAreTheSame) {
    for (const json& v : vectors("percentile")) {
        SCOPED_TRACE(v.at("name").get<std::string>());
        histogram h;
        for (std::size_t k = 0; k < v.at("values").size(); ++k)
            h.record(number(v.at("values")[k]), number(v.at("counts")[k]));
        EXPECT_EQ(h.count(), number(v.at("count")));
        EXPECT_EQ(h.min(), number(v.at("min")));
        EXPECT_EQ(h.max(), number(v.at("max")));
        for (const json& q : v.at("quantiles")) {
            const permille p{number(q.at("permille"))};
            EXPECT_EQ(p.rank(h.count()), number(q.at("rank"))) << q;
            EXPECT_EQ(h.percentile(p), number(q.at("value"))) << q;
            EXPECT_EQ(h.printed_percentile(p).has_value(), number(q.at("printed")) == 1) << q;
        }
    }
}

}  // namespace
