// What a scope, a thread's own objects, its sleep, its stack and bytes are where nothing watches them: real_sync and
// chaos_sync.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>

#include <dlfcn.h>
#include <pthread.h>

#include <gtest/gtest.h>

#include <apiary/sync/chaos_sync.hpp>

namespace sync_test {
namespace {
[[maybe_unused]] thread_local int attributes_ended = 0;
}
}  // namespace sync_test

// ThreadSanitizer's runtime calls it before it can be told from the C library's.
#if defined(__SANITIZE_THREAD__)
#define APIARY_ATTRIBUTES_ARE_THE_LIBRARYS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define APIARY_ATTRIBUTES_ARE_THE_LIBRARYS
#endif
#endif

#ifndef APIARY_ATTRIBUTES_ARE_THE_LIBRARYS
// In place of the C library's, which leaves the numbers as they are. After it nothing may be read.
extern "C" int pthread_attr_destroy(pthread_attr_t* attributes) noexcept {
    using function = int (*)(pthread_attr_t*);
    static const auto library = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_attr_destroy"));
    const int done = library(attributes);
    std::memset(attributes, 0, sizeof *attributes);
    ++sync_test::attributes_ended;
    return done;
}
#endif

namespace sync_test {
namespace {

template <class Sync>
class sync : public testing::Test {};
using policies = testing::Types<apiary::real_sync, apiary::chaos_sync>;
TYPED_TEST_SUITE(sync, policies);

// Cannot be moved, and counts its ends.
struct latch {
    latch(int first, int* ends) : value(first), ended(ends) {}
    latch(const latch&) = delete;
    ~latch() { ++*ended; }
    int value;
    int* ended;
};

TYPED_TEST(sync, a_scope_is_its_object_and_nothing_beside_it) {
    using scope = typename TypeParam::template scoped<latch>;
    static_assert(sizeof(scope) == sizeof(latch) && alignof(scope) == alignof(latch));
    static_assert(!std::is_copy_constructible_v<scope> && !std::is_copy_assignable_v<scope>);
    int ends = 0;
    {
        scope mine(7, &ends);
        mine->value += (*mine).value;
        const scope& seen = mine;
        EXPECT_EQ(seen->value, 14);
        EXPECT_EQ(static_cast<const void*>(&*seen), static_cast<const void*>(&mine)) << "it lies in the frame";
        EXPECT_EQ(ends, 0);
    }
    EXPECT_EQ(ends, 1);
}

TYPED_TEST(sync, a_scope_without_arguments_has_the_initial_value) {
    const typename TypeParam::template scoped<int> zero;
    EXPECT_EQ(*zero, 0);
}

TYPED_TEST(sync, current_is_a_pointer_of_the_thread_and_of_the_type) {
    struct worker {};
    struct other {};
    worker mine, theirs;
    EXPECT_EQ(TypeParam::template current<worker>(), nullptr);
    TypeParam::set_current(&mine);
    std::thread([&] {
        EXPECT_EQ(TypeParam::template current<worker>(), nullptr);
        TypeParam::set_current(&theirs);
        EXPECT_EQ(TypeParam::template current<worker>(), &theirs);
    }).join();
    EXPECT_EQ(TypeParam::template current<worker>(), &mine);
    EXPECT_EQ(TypeParam::template current<other>(), nullptr);
}

// What a thread has of its own, and what it does at its end.
struct own {
    int value = 3;
    static inline std::atomic<int> ends = 0, seen_at_the_end = 0;
};
template <class Sync>
void at_the_end() {
    ++own::ends;
    own::seen_at_the_end = Sync::template local<own>().value;
}

TYPED_TEST(sync, a_local_object_is_the_threads_own_and_still_there_at_its_end) {
    own::ends = 0;
    TypeParam::template local<own>().value = 4;
    std::thread([] {
        EXPECT_EQ(TypeParam::template local<own>().value, 3);
        TypeParam::template at_thread_exit<&at_the_end<TypeParam>>();
        TypeParam::template at_thread_exit<&at_the_end<TypeParam>>();  // said twice is said
        TypeParam::template local<own>().value = 5;
        EXPECT_EQ(own::ends, 0);
    }).join();
    EXPECT_EQ(own::ends, 1);
    EXPECT_EQ(own::seen_at_the_end, 5);
    EXPECT_EQ(TypeParam::template local<own>().value, 4);
}

TYPED_TEST(sync, a_sleep_is_not_early_and_none_returns) {
    const std::int64_t before = TypeParam::now_ns();
    TypeParam::sleep_ns(300'000);
    EXPECT_GE(TypeParam::now_ns(), before + 300'000);
    TypeParam::sleep_ns(0);
    TypeParam::sleep_ns(-1'000'000'000'000);
    TypeParam::yield();
}

TYPED_TEST(sync, a_stack_has_what_lies_on_it_and_nothing_of_another_thread) {
    const int mine = 0;
    EXPECT_TRUE(TypeParam::stack().contain(&mine));
    if (apiary::stacks_have_bounds)
        std::thread([&mine] { EXPECT_FALSE(TypeParam::stack().contain(&mine)); }).join();
}

TYPED_TEST(sync, bytes_are_aligned_as_was_asked_and_may_be_none) {
    for (const std::size_t alignment : {1U, 8U, 16U, 64U, 4096U})
        for (const std::size_t bytes : {0U, 1U, 24U, 5000U}) {
            auto* const p = static_cast<char*>(TypeParam::allocate(bytes, alignment));
            ASSERT_NE(p, nullptr);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0U);
            if (bytes != 0) p[0] = p[bytes - 1] = 1;
            TypeParam::deallocate(p, bytes, alignment);
        }
    TypeParam::deallocate(nullptr, 8, 8);
}

TEST(stack_bounds, contain_both_their_ends) {
    const apiary::stack_bounds bounds{.lowest = 4096, .highest = 8192};
    for (const std::uintptr_t at : {4096U, 8192U}) EXPECT_TRUE(bounds.contain(reinterpret_cast<const void*>(at)));
    for (const std::uintptr_t at : {4095U, 8193U}) EXPECT_FALSE(bounds.contain(reinterpret_cast<const void*>(at)));
}

#ifndef APIARY_ATTRIBUTES_ARE_THE_LIBRARYS
// The numbers are read while they are there, and what holds them is given back.
TEST(stack_bounds, are_read_before_their_attributes_end) {
    if (!apiary::stacks_have_bounds) GTEST_SKIP() << "AddressSanitizer";
    attributes_ended = 0;
    const apiary::stack_bounds bounds = apiary::detail::ask_for_stack_bounds();
    EXPECT_EQ(attributes_ended, 1);
    EXPECT_LT(0U, bounds.lowest);
    EXPECT_LT(bounds.lowest, bounds.highest);
    EXPECT_TRUE(bounds.contain(__builtin_frame_address(0)));
}
#endif

}  // namespace
}  // namespace sync_test
