// The counting operator new, linked in for real.
#include <gtest/gtest.h>

#include <new>
#include <thread>
#include <vector>

#include <apiary/bench/allocation_count.hpp>

namespace {

using apiary::bench::allocation_count;

constexpr std::align_val_t wide{256};

template <class Body>
std::uint64_t counted(Body body) {
    const std::uint64_t before = allocation_count().value();
    body();
    return allocation_count().value() - before;
}

TEST(AllocationCount, EveryFormOfNewIsCounted) {
    EXPECT_EQ(counted([] { ::operator delete(::operator new(3)); }), 1U);
    EXPECT_EQ(counted([] { ::operator delete[](::operator new[](3)); }), 1U);
    EXPECT_EQ(counted([] { ::operator delete(::operator new(3, std::nothrow)); }), 1U);
    EXPECT_EQ(counted([] {
                  // No new-expression: a compiler may leave that out.
                  void* const p = ::operator new(3, wide);
                  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 256, 0U);
                  ::operator delete(p, wide);
              }),
              1U);
}

TEST(AllocationCount, TheCountOfAThreadOutlivesIt) {
    const auto ten_on_a_thread = [] {
        std::thread([] {
            for (int i = 0; i < 10; ++i) ::operator delete(::operator new(8));
        }).join();
    };
    ten_on_a_thread();
    EXPECT_GE(counted(ten_on_a_thread), 10U);
    EXPECT_LE(counted(ten_on_a_thread), 12U) << "10 and those of std::thread itself";
}

TEST(AllocationCount, MoreThreadsThanWordsAreStillCounted) {
    const std::uint64_t n = counted([] {
        for (int i = 0; i < 1100; ++i) std::thread([] { ::operator delete(::operator new(8)); }).join();
    });
    EXPECT_GE(n, 2200U);
}

}  // namespace
