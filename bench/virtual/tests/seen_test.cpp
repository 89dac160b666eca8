// Code that is compiled to be seen: its basic blocks cost time, and its plain memory moves lines.
#include <ext/atomicity.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <memory>

#include "round_prices.hpp"

namespace apiary::virt::test::seen_test {

using S = virtual_sync;
using word = S::atomic<std::uint64_t>;
constexpr auto relaxed = std::memory_order_relaxed;

// One block a turn, and few besides.
[[gnu::noinline]] void turns(unsigned n) {
    for (unsigned i = 0; i != n; ++i) asm volatile("" : "+r"(i));
}

TEST(VirtualSeen, EachBasicBlockCostsItsPrice) {
    prices p = round_prices();
    p.basic_block = 2 * ns;
    double little = 0, much = 0;
    const outcome o = run({[&] {
                              machine::current()->spend(0);
                              const double began = now();
                              turns(10);
                              machine::current()->spend(0);
                              little = now() - began;
                              turns(1010);
                              machine::current()->spend(0);
                              much = now() - began - little;
                          }},
                          p);
    EXPECT_NEAR(much - little, 1000 * 2, 20);
    EXPECT_GE(o.counts.blocks, 1020U);
    EXPECT_LE(o.counts.blocks, 1060U);
}

// In front of a wait, too: nobody else is billed.
TEST(VirtualSeen, BlocksBeforeASleepAreTheirOwnThreads) {
    prices p = round_prices();
    p.basic_block = 10 * ns;
    double slept = 0, other = 0;
    run({[&] {
             turns(1000);
             machine::current()->sleep_ns(0, {});
             slept = now();
         },
         [&] {
             machine::current()->spend(0);
             other = now();
         }},
        p);
    EXPECT_GT(slept, 1000 * 10 + 50'000);
    EXPECT_LT(other, 20 * 10);
}

TEST(VirtualSeen, AnOperationOfThePolicyIsCountedOnceAndHasNoBlocks) {
    alignas(64) static word x{0};
    const auto counted = [](unsigned n) {
        return run({[n] {
            for (unsigned i = 0; i != n; ++i) x.fetch_add(1, relaxed);
        }});
    };
    const outcome few = counted(10), many = counted(110);
    EXPECT_EQ(many.counts.operations - few.counts.operations, 100U);
    EXPECT_LE(many.counts.blocks - few.counts.blocks, 100U);  // the loop
    EXPECT_EQ(many.counts.moves, 0U);
}

// Wherever the linker puts them: of three neighbours of eight bytes two share a line at least.
std::uint64_t first_neighbour = 0, second_neighbour = 0, third_neighbour = 0;

TEST(VirtualSeen, EachStaticObjectBeginsOnALineOfItsOwn) {
    std::uint64_t* const all[] = {&first_neighbour, &second_neighbour, &third_neighbour};
    const auto [lowest, highest] = std::minmax_element(std::begin(all), std::end(all));
    ASSERT_LE(*highest - *lowest, 7) << "they are no neighbours";
    const auto moves_of = [&](bool apart) {
        return run_each(3, [&](unsigned me) {
                   for (unsigned i = 0; i != 100; ++i) {
                       *all[apart ? me : 0] += i;
                       machine::current()->spend(1000 * ns);
                   }
               }).counts.moves;
    };
    EXPECT_EQ(moves_of(true), 0U);
    EXPECT_GE(moves_of(false), 100U);
}

TEST(VirtualSeen, LinesOfStaticDataBearTheirNames) {
    alignas(64) static std::array<std::uint64_t, 16> two_lines{};
    const outcome o = run_each(2, [](unsigned me) {
        for (unsigned i = 0; i != 100; ++i) {
            two_lines[8 + me] += i;
            machine::current()->spend(10 * ns);
        }
    });
    ASSERT_EQ(o.table.size(), 1U);
    EXPECT_NE(o.table[0].object.find("two_lines"), std::string::npos) << o.table[0].object;
    EXPECT_EQ(o.table[0].object.find('<'), std::string::npos);
    EXPECT_EQ(o.table[0].offset, 64U);
}

// Every processor has them.
TEST(VirtualSeen, ConstantsCostNothing) {
    alignas(64) static constexpr std::uint64_t steps[] = {1, 2, 4, 8};
    std::uint64_t sum = 0;
    const outcome o = run_each(2, [&](unsigned) {
        const std::uint64_t* volatile here = steps;  // unknown to the compiler
        for (unsigned i = 0; i != 4; ++i) sum += here[i];
    });
    EXPECT_EQ(sum, 2 * 15U);
    EXPECT_EQ(o.ns, 0);
    EXPECT_EQ(o.counts.moves, 0U);
}

struct alignas(64) mail {
    std::array<std::uint64_t, 8> payload{};
};

// The payload is plain: its line comes once to its reader, and goes back once to its writer, for each turn.
TEST(VirtualSeen, PlainMemoryMovesItsLines) {
    constexpr std::uint64_t rounds = 50;
    mail* sent = nullptr;
    word* turn = nullptr;
    std::uint64_t sum = 0;
    const outcome o = run_each(2, [&](unsigned me) {
        if (me == 0) {
            sent = S::create<mail>();
            turn = S::create<word>(1U);
        } else {
            machine::current()->spend(1000 * ns);
            S::relax();
        }
        for (std::uint64_t i = 0; i != rounds; ++i) {
            S::spin_until(*turn, [&](std::uint64_t v) { return v == 2 * i + 1 + me; });
            if (me == 0)
                for (std::uint64_t& x : sent->payload) x = i;
            else
                for (const std::uint64_t x : sent->payload) sum += x;
            turn->store(2 * i + 2 + me, std::memory_order_release);
        }
    });
    EXPECT_EQ(sum, 8 * rounds * (rounds - 1) / 2);
    const auto row = std::find_if(o.table.begin(), o.table.end(), [](const auto& r) { return r.object == "mail"; });
    ASSERT_NE(row, o.table.end());
    EXPECT_NEAR(static_cast<double>(row->count), 2 * rounds, 2);
    EXPECT_EQ(row->places[0].function, "plain code");
}

TEST(VirtualSeen, PlainMemoryOfItsOwnCostsNothingOnceItIsThere) {
    double took = 0;
    const outcome o = run({[&] {
        const auto mine = std::make_unique<mail>();
        std::uint64_t here[8] = {};
        const double began = now();
        for (unsigned i = 0; i != 100; ++i) {
            mine->payload[i % 8] += here[i % 8];
            asm volatile("" : : "r"(mine.get()), "r"(here) : "memory");
        }
        machine::current()->spend(0);
        took = now() - began;
    }});
    EXPECT_EQ(o.counts.moves, 0U);
    EXPECT_EQ(took, 0);
}

TEST(VirtualSeen, OperationsOfStdAtomicAreThoseOfThePolicy) {
    alignas(64) static std::atomic<std::uint64_t> x{0};
    x = 0;
    const outcome o = run_each(2, [](unsigned) {
        for (int i = 0; i != 100; ++i) x.fetch_add(1, relaxed);
    });
    EXPECT_EQ(x.load(relaxed), 200U);
    EXPECT_EQ(o.counts.moves, 2 * 100 - 1U);
    EXPECT_EQ(o.counts.operations, 200U);
}

// The library's counts, as shared_ptr's, are plain accesses in a process that has had one thread alone; a machine's threads
// would lose some of them.
TEST(VirtualSeen, CountsOfTheLibraryAreThoseOfAProgramWithThreads) {
    alignas(64) static _Atomic_word count = 0;
    run_each(4, [](unsigned) {
        for (int i = 0; i != 100; ++i) __gnu_cxx::__atomic_add_dispatch(&count, 1);
    });
    EXPECT_EQ(count, 400);
}

}  // namespace apiary::virt::test::seen_test
