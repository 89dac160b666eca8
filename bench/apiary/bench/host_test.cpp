// The processor runs no other code of a thread beside its short wait. Each figure is the least of several tries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include <apiary/bench/host.hpp>

namespace host_test {
namespace {

using namespace apiary::bench;

constexpr int tries = 20;
constexpr int calls = 10'000;

template <class Call>
void keep_least(std::int64_t& least, int times, Call call) {
    const std::int64_t start = now_ns();
    for (int i = 0; i < times; ++i) call();
    least = std::min(least, now_ns() - start);
}

// Takes long in few instructions, so the processor's window holds the code on both sides of it.
struct divisions {
    std::uint64_t x = 3;

    void operator()() noexcept {
        for (int i = 0; i < 10; ++i) {
            x = UINT64_MAX / x;
            __asm__ __volatile__("" : "+r"(x));
        }
    }
};

// The same calibrated loop does both waits, so its error does not matter here.
TEST(Host, ShortWaitsAddUp) {
    std::int64_t short_ones = INT64_MAX, long_ones = INT64_MAX;
    for (int i = 0; i < tries; ++i) {
        keep_least(short_ones, calls, [] { busy_wait_ns(100); });
        keep_least(long_ones, calls / 10, [] { busy_wait_ns(1000); });
    }
    EXPECT_GE(static_cast<double>(short_ones), 0.95 * static_cast<double>(long_ones));
}

TEST(Host, NothingRunsBesideAShortWait) {
    std::int64_t waits = INT64_MAX, work = INT64_MAX, both = INT64_MAX;
    divisions divide;
    for (int i = 0; i < tries; ++i) {
        keep_least(waits, calls, [] { busy_wait_ns(50); });
        keep_least(work, calls, [&] { divide(); });
        keep_least(both, calls, [&] {
            divide();
            busy_wait_ns(50);
        });
    }
    EXPECT_GE(static_cast<double>(both), 0.85 * static_cast<double>(waits + work)) << waits << " and " << work;
}

}  // namespace
}  // namespace host_test
