// The command line is read correctly, and every refusal names the bad word and the names that exist.
#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include <apiary/bench/command_line.hpp>

namespace command_line_test {
namespace {

using namespace apiary::bench;

report nothing(const run_options&) { return {}; }

constexpr std::array<std::string_view, 2> colours{"red", "blue"};
constexpr std::array parameters{parameter{.name = "size", .standard = 3, .most = 9},
                                parameter{.name = "colour", .standard = 0, .words = colours},
                                parameter{.name = "ops", .standard = {}}};
constexpr std::array tunables{parameter{.name = "batch", .standard = 16, .most = 64}};
constexpr std::array scenarios{scenario_entry{"closed", false, parameters, &nothing},
                               scenario_entry{"open", true, {}, &nothing},
                               scenario_entry{"foreign", false, parameters, nullptr}};

call parse_line(const std::string& line) {
    std::vector<std::string> words{"subject"};
    std::istringstream in(line);
    for (std::string word; in >> word;) words.push_back(word);
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    return parse({"subject", "1", scenarios, tunables}, static_cast<int>(argv.size()), argv.data());
}

std::string refusal(const std::string& line) {
    try {
        (void)parse_line(line);
    } catch (const bad_arguments& e) {
        return e.what();
    }
    return "accepted";
}

TEST(CommandLine, TheDefaultsAreThoseOfTheTreaty) {
    const run_call c = parse_line("run --scenario closed --workers 2").run_words;
    EXPECT_EQ(c.scenario->name, "closed");
    EXPECT_EQ(c.options.workers, 2U);
    EXPECT_EQ(c.options.blocks.warmup_blocks, 5U);
    EXPECT_EQ(c.options.blocks.blocks, 3U);
    EXPECT_EQ(c.options.blocks.block_ns, 100'000'000);
    EXPECT_EQ(c.options.slowdown_ns, 0);
    EXPECT_EQ(c.options.param("size"), 3U);
    EXPECT_FALSE(c.options.optional_param("ops"));
    EXPECT_FALSE(c.hist_path);
}

TEST(CommandLine, AWordStandsForItsIndex) {
    EXPECT_EQ(parse_line("run --scenario closed --workers 1").run_words.options.param("colour"), 0U);
    EXPECT_EQ(parse_line("run --scenario closed --workers 1 --param colour=blue").run_words.options.param("colour"),
              1U);
    for (const char* seen : {"green", "1", ""}) {
        const std::string why = refusal(std::string("run --scenario closed --workers 1 --param colour=") + seen);
        EXPECT_NE(why.find("there are: red, blue"), std::string::npos) << why;
    }
}

TEST(CommandLine, EveryOptionIsRead) {
    const run_call c = parse_line(
                           "run --workers 3 --scenario closed --seed 18446744073709551615 --blocks 1 "
                           "--warmup-blocks 0 --block-ms 7 --hist h --plan unread --slowdown-ns 9 "
                           "--param ops=50 --param size=4")
                           .run_words;
    EXPECT_EQ(c.options.seed, UINT64_MAX);
    EXPECT_EQ(c.options.blocks.blocks, 1U);
    EXPECT_EQ(c.options.blocks.warmup_blocks, 0U);
    EXPECT_EQ(c.options.blocks.block_ns, 7'000'000);
    EXPECT_EQ(c.options.slowdown_ns, 9);
    EXPECT_EQ(c.hist_path, "h");
    EXPECT_EQ(c.options.param("size"), 4U);
    EXPECT_EQ(c.options.optional_param("ops"), 50U);
}

TEST(CommandLine, UnknownNamesAreAnsweredWithTheNamesThatExist) {
    EXPECT_EQ(refusal("run --scenario nope --workers 1"),
              "--scenario: unknown scenario 'nope'; there are: closed, open, foreign");
    EXPECT_EQ(refusal("run --scenario closed --workers 1 --param siez=1"),
              "--param: closed has no parameter 'siez'; there are: size, colour, ops");
    EXPECT_NE(refusal("run --scenario closed --workers 1 --wrokers 1").find("--slowdown-ns"), std::string::npos);
    EXPECT_NE(refusal("measure").find("--list, run"), std::string::npos);
    EXPECT_NE(refusal("").find("--list, run"), std::string::npos);
}

TEST(CommandLine, ValuesOutOfRangeAreShown) {
    for (const char* words :
         {"--workers 0", "--workers -1", "--workers two", "--workers +2", "--workers 0x2", "--workers 1025",
          "--workers 1 --blocks 0", "--workers 1 --block-ms 0", "--workers 1 --seed 18446744073709551616",
          "--workers 1 --slowdown-ns 1.5", "--workers 1 --param size=0", "--workers 1 --param size=10",
          "--workers 1 --param ops=", "--workers 1 --param size=x"}) {
        const std::string line = std::string("run --scenario closed ") + words;
        EXPECT_NE(refusal(line).find("expected a whole number"), std::string::npos) << line << ": " << refusal(line);
    }
}

TEST(CommandLine, MissingAndDoubledWordsAreRefused) {
    EXPECT_NE(refusal("run --workers 1").find("--scenario is required"), std::string::npos);
    EXPECT_NE(refusal("run --scenario closed").find("--workers is required"), std::string::npos);
    EXPECT_NE(refusal("run --scenario closed --workers").find("--workers"), std::string::npos);
    EXPECT_NE(refusal("run --scenario open --workers 1").find("--plan FILE is required"), std::string::npos);
    EXPECT_NE(refusal("run --scenario closed --workers 1 --workers 2").find("--workers"), std::string::npos);
    EXPECT_NE(refusal("run --scenario closed --workers 1 --param ops=1 --param ops=2").find("twice"),
              std::string::npos);
    EXPECT_NE(refusal("run --scenario closed --workers 1 --param ops").find("KEY=VALUE"), std::string::npos);
    EXPECT_NE(refusal("--version --list").find("exactly one"), std::string::npos);
}

TEST(CommandLine, ANumberOfTheRuntimeItselfIsNoParameterOfTheScenario) {
    const run_call c = parse_line("run --scenario closed --workers 1 --tune batch=64").run_words;
    EXPECT_EQ(c.tuned, (std::map<std::string, std::uint64_t>{{"batch", 64}}));
    EXPECT_FALSE(c.options.optional_param("batch"));
    EXPECT_EQ(parse_line("--tunables").kind, call::tunables);
    const std::string run = "run --scenario closed --workers 1 ";
    EXPECT_EQ(refusal(run + "--tune size=1"), "--tune: subject has no parameter 'size'; there are: batch");
    EXPECT_EQ(refusal(run + "--tune batch=65"), "--tune batch: expected a whole number from 1 to 64, seen '65'");
    EXPECT_EQ(refusal(run + "--tune batch"), "--tune: expected KEY=VALUE, seen 'batch'");
    EXPECT_EQ(refusal(run + "--tune batch=1 --tune batch=2"), "--tune: 'batch' is given twice");
}

TEST(CommandLine, AnUnsupportedScenarioIsNoBadInput) {
    EXPECT_EQ(parse_line("run --scenario foreign --workers 1").run_words.scenario->measure, nullptr);
}

TEST(CommandLine, ABadPlanIsBadInput) {
    EXPECT_NE(refusal("run --scenario open --workers 1 --plan /nonexistent/plan").find("/nonexistent/plan"),
              std::string::npos);
}

}  // namespace
}  // namespace command_line_test
