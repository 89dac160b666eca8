// The ledger sees each fault that a checksum can see, and ends a block when the last task has run.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <apiary/bench/ledger.hpp>

namespace ledger_test {
namespace {

using namespace apiary::bench;

TEST(Ledger, TheOrderOfTheTasksDoesNotMatter) {
    ledger l(0);
    l.open(100);
    for (std::uint64_t i = 100; i-- > 0;) l.complete(i);
    EXPECT_GT(l.wait(), 0);
    EXPECT_EQ(l.sum(), expected_sum(100));
}

TEST(Ledger, Every64thTaskOfAThreadIsSlowedDown) {
    std::int64_t spent = 0;
    std::jthread([&] {  // whose count begins at 0
        ledger l(1'000'000);
        l.open(129);
        for (std::uint64_t i = 0; i < 63; ++i) l.complete(i);
        const std::int64_t before = now_ns();
        for (std::uint64_t i = 63; i < 129; ++i) l.complete(i);
        spent = l.wait() - before;
    })
        .join();
    EXPECT_GE(spent, 2 * 1'000'000);
}

TEST(Ledger, ATaskRunTwiceInPlaceOfAnotherShows) {
    ledger l(0);
    l.open(3);
    for (const std::uint64_t i : {0U, 1U, 1U}) l.complete(i);
    l.wait();
    EXPECT_NE(l.sum(), expected_sum(3));
}

TEST(Ledger, TheLowHalfOfTheSumCountsTheTasks) {
    for (const std::uint64_t n : {1U, 3U, 70'000U}) EXPECT_EQ(static_cast<std::uint32_t>(expected_sum(n)), n);
}

TEST(Ledger, RefusesABlockThatItCannotCount) {
    ledger l(0);
    EXPECT_THROW(l.open(0), std::length_error);
    EXPECT_THROW(l.open(ledger::most_tasks + 1), std::length_error);
}

TEST(Ledger, ServesBlockAfterBlockAndWakesItsWaiter) {
    ledger l(0);
    for (const std::uint64_t n : {1U, 4000U, 2U, 20'000U}) {
        l.open(n);
        std::vector<std::jthread> threads;
        for (std::uint64_t part = 0; part < 4; ++part)
            threads.emplace_back([&l, part, n] {
                for (std::uint64_t i = part; i < n; i += 4) l.complete(i);
            });
        l.wait();
        EXPECT_EQ(l.sum(), expected_sum(n));
    }
}

struct host_with_lines : real_host {
    using account = line_for_each_thread<sync>;
};

// With a line for each thread tasks are taken off in batches: no account may end before its last task, or never, for
// numbers about the edges of batches, more threads than lines, and threads of which one runs nearly all.
TEST(Ledger, WithALineForEachThreadItEndsWithTheLastTask) {
    for (const unsigned lines : {1U, 3U, 8U}) {
        basic_ledger<host_with_lines> l(0, lines);
        for (const std::uint64_t n : {1U, 15U, 16U, 17U, 128U, 4095U, 40'000U})
            for (const std::uint64_t few : {1U, 2U, 50U}) {
                l.open(n);
                std::atomic<std::uint64_t> next{0}, done{0};
                const auto take = [&](std::uint64_t most) {
                    for (; most != 0; --most) {
                        const std::uint64_t i = next.fetch_add(1, std::memory_order_relaxed);
                        if (i >= n) return;
                        done.fetch_add(1, std::memory_order_relaxed);
                        l.complete(i);
                    }
                };
                std::vector<std::jthread> threads;
                for (unsigned t = 0; t != 3; ++t) threads.emplace_back(take, few);
                threads.emplace_back(take, n);
                EXPECT_GT(l.wait(), 0);
                EXPECT_EQ(done.load(), n) << lines << " lines";
                EXPECT_EQ(l.sum(), expected_sum(n)) << lines << " lines";
            }
    }
}

}  // namespace
}  // namespace ledger_test
