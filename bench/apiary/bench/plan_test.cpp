// Plan files, good and bad.
#include <gtest/gtest.h>

#include <sstream>

#include <apiary/bench/plan.hpp>

namespace plan_test {
namespace {

using namespace apiary::bench;
using times = std::vector<std::int64_t>;

times read(const std::string& text) {
    std::istringstream in(text);
    return read_plan(in, "p");
}

std::string refusal(const std::string& text) {
    try {
        (void)read(text);
    } catch (const bad_plan& e) {
        return e.what();
    }
    return "accepted";
}

TEST(Plan, CommentsAreSkippedAndEqualTimesAreABurst) {
    EXPECT_EQ(read("# seed 7\n0\n1000\n# in between\n1000\n2500\n"), (times{0, 1000, 1000, 2500}));
}

TEST(Plan, TheLastLineEndMayBeMissing) { EXPECT_EQ(read("5\n6"), (times{5, 6})); }

TEST(Plan, AMalformedLineIsNamedByItsNumberAndItsText) {
    EXPECT_EQ(refusal("# one\n10\n12x\n"),
              "p: line 3: expected one non-negative integer (nanoseconds) and nothing else, seen '12x'");
    for (const char* line : {"-1", "1.5", " 7", "7 ", "+7", "0x10", "", "1_000", "7\r"})
        EXPECT_NE(refusal(std::string("1\n") + line + "\n2\n").find("line 2"), std::string::npos) << line;
}

TEST(Plan, ANumberThatIsTooLargeIsRefused) {
    EXPECT_EQ(read("9223372036854775807"), (times{INT64_MAX}));
    EXPECT_NE(refusal("9223372036854775808").find("too large"), std::string::npos);
}

TEST(Plan, AStepBackIsRefused) { EXPECT_EQ(refusal("10\n9\n"), "p: line 2: the times must ascend, seen 9 after 10"); }

TEST(Plan, APlanWithoutTimesIsRefused) {
    EXPECT_NE(refusal("# nothing\n").find("no release time"), std::string::npos);
    EXPECT_NE(refusal("").find("no release time"), std::string::npos);
}

TEST(Plan, ALongLineIsShownShortened) { EXPECT_LT(refusal(std::string(500, 'z')).size(), 200U); }

TEST(Plan, AFileThatIsNotThereIsNamed) {
    try {
        (void)read_plan_file("/nonexistent/plan");
        FAIL() << "accepted";
    } catch (const bad_plan& e) {
        EXPECT_NE(std::string(e.what()).find("/nonexistent/plan"), std::string::npos);
    }
}

}  // namespace
}  // namespace plan_test
