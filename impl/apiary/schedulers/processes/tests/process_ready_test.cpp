// Processes that let others run first: which others those are, and that a thief takes what is kept back when there is
// nothing else.
#include <apiary/schedulers/processes/process_config.hpp>

#include <array>
#include <cstddef>
#include <span>

#include <gtest/gtest.h>

namespace process_ready_test {
namespace {

using namespace apiary;

using ready = process_kind<real_sync>::ready;
struct task : job<real_sync> {
    task() : job<real_sync>([](job<real_sync>&, job_end, any_worker*) { return true; }) {}
};
constexpr auto no_room = [](auto&) { return false; };

TEST(process_ready, those_in_the_queue_are_in_front_and_those_that_came_meanwhile_are_not) {
    for (const std::size_t in_front : {1U, 2U, 3U}) {
        ready r;
        std::array<task, 3> all;
        const std::span<task> others(all.data(), in_front);
        task first, second, late;
        EXPECT_FALSE(r.put_behind(&first)) << "nobody is in front";
        for (task& t : others) ASSERT_TRUE(r.push(&t, no_room));
        ASSERT_TRUE(r.put_behind(&first));
        ASSERT_TRUE(r.push(&late, no_room));
        ASSERT_TRUE(r.put_behind(&second));
        for (task& t : others) {
            EXPECT_TRUE(r.take_behind().empty());
            EXPECT_EQ(r.next_in_front(), &t);
        }
        auto behind = r.take_behind();
        EXPECT_EQ(behind.pop_front(), &first);
        EXPECT_EQ(behind.pop_front(), &second);
        EXPECT_TRUE(behind.empty());
        EXPECT_EQ(r.next_in_front(), nullptr);
        EXPECT_EQ(r.in_deque(), 1U);
        EXPECT_FALSE(r.deque_looks_empty()) << "the late one";
    }
}

TEST(process_ready, a_thief_takes_what_is_kept_back_when_there_is_nothing_else) {
    ready victim, thief;
    task other, first, second;
    ASSERT_TRUE(victim.push(&other, no_room));
    ASSERT_TRUE(victim.put_behind(&first));
    ASSERT_TRUE(victim.put_behind(&second));
    EXPECT_EQ(thief.steal_from(victim, false).value, &other);
    EXPECT_FALSE(victim.deque_looks_empty());
    const auto found = thief.steal_from(victim, false);
    EXPECT_EQ(found.status, steal_status::taken);
    EXPECT_EQ(found.value, &first);
    EXPECT_EQ(found.moved, 1U) << "the next thief is to be woken";
    EXPECT_TRUE(victim.deque_looks_empty());
    EXPECT_FALSE(thief.deque_looks_empty());
    EXPECT_EQ(thief.take_behind().pop_front(), &second);
    EXPECT_EQ(thief.steal_from(victim, false).status, steal_status::empty);
    EXPECT_EQ(victim.next_in_front(), nullptr);
    EXPECT_FALSE(victim.put_behind(&first)) << "nobody is in front any more";
}

}  // namespace
}  // namespace process_ready_test
