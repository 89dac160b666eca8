// The injector releases everything once, in order, never before its time.
#include <gtest/gtest.h>

#include <vector>

#include <apiary/bench/injector.hpp>

namespace {

using namespace apiary::bench;

TEST(Injector, ReleasesInOrderAndNeverEarly) {
    std::vector<std::int64_t> plan;
    for (std::int64_t i = 0; i < 50; ++i) plan.push_back(i / 5 * 10'000);
    std::vector<std::int64_t> released;
    const injection done = inject_from_new_thread(plan, [&](std::size_t i) {
        EXPECT_EQ(i, released.size());
        released.push_back(now_ns());
    });
    ASSERT_EQ(released.size(), plan.size());
    for (std::size_t i = 0; i < plan.size(); ++i) EXPECT_GE(released[i], done.zero_ns + plan[i]);
    EXPECT_EQ(done.lateness.count(), 45U) << "all but the first tenth";
}

TEST(Injector, AFailureOnItsThreadReachesTheCaller) {
    const std::vector<std::int64_t> plan{0};
    EXPECT_THROW((void)inject_from_new_thread(plan, [](std::size_t) { throw std::runtime_error("x"); }),
                 std::runtime_error);
}

TEST(Injector, ATenthIsDiscardedRoundedDown) {
    EXPECT_EQ(discarded(9), 0U);
    EXPECT_EQ(discarded(19), 1U);
    EXPECT_EQ(discarded(1000), 100U);
}

}  // namespace
