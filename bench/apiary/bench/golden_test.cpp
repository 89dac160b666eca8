// The vectors that both languages reproduce: bench/contract/golden.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <apiary/bench/histogram.hpp>
#include <apiary/bench/injector.hpp>
#include <apiary/bench/ledger.hpp>
#include <apiary/bench/service_time.hpp>

#include "scenarios/fib.hpp"
#include "scenarios/matmul.hpp"
#include "scenarios/tree_sum.hpp"
#include "scenarios/trees.hpp"
#include "scenarios/uts.hpp"

namespace golden_test {
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

TEST(Golden, MarkIsTheSame) {
    for (const json& v : vectors("mark")) EXPECT_EQ(mark(number(v.at("i"))), number(v.at("mark"))) << v;
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

TEST(Golden, ServiceTimesAreTheSame) {
    for (const json& v : vectors("service")) {
        const auto word = std::find(service_words.begin(), service_words.end(), v.at("service").get<std::string>());
        ASSERT_NE(word, service_words.end()) << v;
        const auto kind = static_cast<service>(word - service_words.begin());
        EXPECT_EQ(v.at("scale").get<std::int64_t>() * service_ns(kind, number(v.at("seed")), number(v.at("i"))),
                  v.at("ns").get<std::int64_t>())
            << v;
    }
}

TEST(Golden, ForksAreCounted) {
    for (const json& v : vectors("forks")) {
        const std::uint64_t value = number(v.at("value"));
        const auto name = v.at("scenario").get<std::string>();
        const std::uint64_t seen = name == "fib" ? forks_of(fib_node{value}) : forks_of(binary_tree(value).root());
        EXPECT_EQ(seen, number(v.at("forks"))) << v;
    }
}

// The serial walk gives these answers; the published node count of UTS T1 is among them.
TEST(Golden, AnswersAreTheSame) {
    const auto sum = [](const auto& tree) { return serial_sum(tree, tree.root()); };
    for (const json& v : vectors("answer")) {
        const auto name = v.at("scenario").get<std::string>();
        const std::uint64_t value = number(v.at("value"));
        const auto small = static_cast<std::uint32_t>(value);
        std::uint64_t seen = 0;
        if (name == "fib") seen = serial_fork_sum(fib_node{value});
        if (name == "tree_sum") seen = serial_fork_sum(binary_tree(value).root());
        if (name == "skynet") seen = sum(skynet_tree{value});
        if (name == "nqueens") seen = sum(nqueens_tree{small});
        if (name == "uts") seen = sum(uts_tree{small});
        if (name == "matmul") {
            matrices all(small);
            seen = all.expected();
            // Serially, leaf by leaf.
            for (std::uint32_t i = 0; i < small; i += matrices::leaf)
                for (std::uint32_t j = 0; j < small; j += matrices::leaf)
                    for (std::uint32_t k = 0; k < small; k += matrices::leaf)
                        all.multiply_leaf({i, j, k, matrices::leaf});
            EXPECT_EQ(all.answer(), seen) << v;
        }
        EXPECT_EQ(seen, number(v.at("answer"))) << v;
    }
}

TEST(Golden, TheInjectorIsTheSame) {
    EXPECT_EQ(injector_spin_ns, golden().at("injector").at("spin_ns").get<std::int64_t>());
    for (const json& v : vectors("own_lateness")) {
        own_lateness late(v.at("undisplaced").get<bool>());
        for (std::size_t i = 0; i < v.at("posts").size(); ++i) {
            const auto post = v.at("posts")[i].get<std::array<std::int64_t, 3>>();
            EXPECT_EQ(late.of(post[0], post[1], post[2]), v.at("late")[i].get<std::int64_t>()) << v;
        }
    }
    for (const json& v : vectors("own_cost")) {
        own_cost cost(v.at("undisplaced").get<bool>());
        for (const json& ns : v.at("slept")) cost.slept(ns.get<std::int64_t>());
        for (const json& ns : v.at("looked")) cost.looked(ns.get<std::int64_t>());
        EXPECT_EQ(cost.of(v.at("thread").get<std::int64_t>()), v.at("cost").get<std::int64_t>()) << v;
    }
}

}  // namespace
}  // namespace golden_test
