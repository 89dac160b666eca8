// What the timers ask of memory: when, how much, never where the caller has reserved it; and what a refusal costs.
#include <apiary/testing/replaced_new.hpp>
#include <apiary/timers/timer_heap.hpp>
#include <apiary/timers/timer_wheel.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace timer_memory_test {
namespace {
int asked = 0;         // how often
int refused_at = 0;    // the how manieth is refused; 0: none
std::size_t most = 0;  // bytes asked for at once
}  // namespace
}  // namespace timer_memory_test
void apiary::before_allocation(std::size_t bytes, std::size_t) {
    using namespace timer_memory_test;
    if (bytes > most) most = bytes;
    if (++asked == refused_at) throw std::bad_alloc();
}

namespace timer_memory_test {
namespace {

struct node {
    std::int64_t deadline_ns = 0;
};
using heap = apiary::timer_heap<node>;
constexpr std::int64_t second = 1'000'000'000;

// How often f asked for memory.
template <class F>
int asked_by(F f) {
    asked = 0, most = 0;
    f();
    return std::exchange(asked, 0);
}

TEST(timer_memory, what_was_reserved_is_asked_for_no_more) {
    heap h;
    std::vector<node> nodes(100);
    EXPECT_EQ(asked_by([&] { h.reserve(100); }), 2);
    EXPECT_EQ(asked_by([&] { h.reserve(100); }), 0);
    EXPECT_EQ(asked_by([&] {
                  for (node& n : nodes) h.add(&n);
              }),
              0);
    EXPECT_EQ(asked_by([&] { h.reserve(101); }), 2);
}

// 32 bytes each: the ninth makes room for 24, the twenty-fifth for 56.
TEST(timer_memory, the_room_of_a_heap_doubles_and_begins_with_eight) {
    heap h;
    std::vector<node> nodes(30);
    std::vector<std::pair<std::size_t, std::size_t>> grew;
    for (std::size_t i = 0; i != nodes.size(); ++i) {
        asked_by([&] { h.add(&nodes[i]); });
        if (most > std::size_t{16} * 32) grew.emplace_back(i, most / 32);
    }
    EXPECT_EQ(grew, (std::vector<std::pair<std::size_t, std::size_t>>{{8, 24}, {24, 56}}));
}

TEST(timer_memory, an_add_that_is_refused_changes_nothing) {
    for (const int at : {1, 2}) {
        heap h;
        std::vector<node> nodes(8);
        for (node& n : nodes) h.add(&n);
        node one_more{5};
        asked = 0, refused_at = at;
        EXPECT_THROW(h.add(&one_more), std::bad_alloc);
        refused_at = 0;
        EXPECT_EQ(h.held(), 8U);
        EXPECT_EQ(h.add(&one_more).slot, 8U) << "no slot is lost";
    }
}

// A block of 64 records, the heap's room for them, and the lists when there are more than few.
TEST(timer_memory, a_wheel_asks_at_its_first_timer_at_the_first_that_is_not_few_and_when_its_records_are_used_up) {
    apiary::timer_wheel<node, apiary::real_sync, 12> w;
    std::vector<node> nodes(65);
    for (std::size_t i = 0; i != nodes.size(); ++i) {
        nodes[i].deadline_ns = second * static_cast<std::int64_t>(1 + i);
        const int times = asked_by([&] { (void)w.add(&nodes[i]); });
        if (i == 0 || i == 64)
            EXPECT_GT(times, 1) << i;
        else
            EXPECT_EQ(times, i == 12 ? 1 : 0) << i;
    }
}

TEST(timer_memory, a_wheel_whose_timers_all_come_near_at_once_asks_for_nothing) {
    apiary::timer_wheel<node, apiary::real_sync, 0> w;
    std::vector<node> nodes(64, node{100 * second});
    for (node& n : nodes) (void)w.add(&n);
    EXPECT_EQ(asked_by([&] { EXPECT_EQ(w.pop_due(100 * second), nodes.data()); }), 0);
}

// The records of a wheel are there after a refusal, or none of them.
TEST(timer_memory, a_wheel_loses_nothing_when_memory_refuses) {
    for (int at = 1, threw = 1; threw != 0; ++at) {
        apiary::timer_wheel<node, apiary::real_sync, 0> w;
        std::vector<node> nodes(65, node{second});
        for (std::size_t i = 0; i != 64; ++i) (void)w.add(&nodes[i]);
        asked = 0, refused_at = at, threw = 0;
        try {
            (void)w.add(&nodes[64]);
        } catch (const std::bad_alloc&) {
            threw = 1;
        }
        refused_at = 0;
        EXPECT_EQ(w.held(), threw != 0 ? 64U : 65U);
        if (threw != 0) {
            const apiary::timer_handle h = w.add(&nodes[64]);
            EXPECT_EQ(h.slot, 64U) << "refused at " << at;
            EXPECT_TRUE(w.move(h, second)) << "its handle names another";
        }
        for (node& n : nodes) EXPECT_EQ(w.pop(), &n);
    }
}

}  // namespace
}  // namespace timer_memory_test
