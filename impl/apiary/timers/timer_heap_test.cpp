// The timer heap with clocks of the test's own: order, ties, what is due, handles; and a long run against a list
// that is sorted at every step.
#include <apiary/timers/clock.hpp>
#include <apiary/timers/timer_heap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <ratio>
#include <utility>
#include <vector>

namespace timer_heap_test {
namespace {

struct node {
    std::int64_t deadline_ns = 0;
    int id = 0;
};
using heap = apiary::timer_heap<node>;
using apiary::timer_handle;

TEST(timer_heap, gives_nothing_before_it_is_due_and_everything_then) {
    heap h;
    node a{100, 0}, b{50, 1};
    h.add(&a);
    h.add(&b);
    EXPECT_EQ(h.size(), 2U);
    EXPECT_EQ(h.next_deadline(), 50);
    EXPECT_EQ(h.pop_due(49), nullptr);
    EXPECT_EQ(h.pop_due(50), &b);
    EXPECT_EQ(h.pop_due(99), nullptr);
    EXPECT_EQ(h.pop_due(1000), &a);
    EXPECT_TRUE(h.empty());
    EXPECT_EQ(h.next_deadline(), heap::never);
    EXPECT_EQ(h.pop_due(INT64_MAX), nullptr);
}

TEST(timer_heap, equal_deadlines_keep_their_order) {
    heap h;
    std::array<node, 9> nodes;
    for (int i = 0; i < 9; ++i) nodes[static_cast<std::size_t>(i)] = {5, i};
    for (auto& n : nodes) h.add(&n);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(h.pop_due(5)->id, i);
}

TEST(timer_heap, a_timer_for_never_is_kept_and_not_due) {
    heap h;
    node n{heap::never, 0};
    h.add(&n);
    EXPECT_EQ(h.next_deadline(), heap::never);
    EXPECT_EQ(h.pop_due(INT64_MAX), nullptr);
    EXPECT_EQ(h.size(), 1U);
    EXPECT_EQ(h.pop(), &n);
}

TEST(timer_heap, a_cancelled_timer_is_the_callers_and_the_next_one_is_published) {
    heap h;
    node a{10, 0}, b{20, 1}, c{30, 2};
    const timer_handle first = h.add(&a);
    h.add(&b);
    const timer_handle last = h.add(&c);
    EXPECT_EQ(h.cancel(first), &a);
    EXPECT_EQ(h.next_deadline(), 20);
    EXPECT_EQ(h.cancel(last), &c);
    EXPECT_EQ(h.size(), 1U);
    EXPECT_EQ(h.pop_due(100), &b);
    EXPECT_EQ(h.size(), 0U);
}

TEST(timer_heap, a_handle_of_a_timer_that_has_gone_cancels_nothing_also_when_its_slot_has_another) {
    heap h;
    node a{10, 0}, b{20, 1};
    const timer_handle old = h.add(&a);
    EXPECT_EQ(h.pop_due(10), &a);
    EXPECT_EQ(h.cancel(old), nullptr) << "it has run";
    const timer_handle now = h.add(&b);
    EXPECT_EQ(now.slot, old.slot) << "the test means to meet the same slot";
    EXPECT_EQ(h.cancel(old), nullptr);
    EXPECT_EQ(h.size(), 1U);
    EXPECT_EQ(h.cancel(now), &b);
    EXPECT_EQ(h.cancel(now), nullptr) << "twice";
}

TEST(timer_heap, what_is_swept_out_has_gone_and_its_handles_with_it) {
    heap h;
    std::array<node, 6> nodes;
    std::array<timer_handle, 6> handles;
    for (int i = 0; i < 6; ++i) {
        const auto n = static_cast<std::size_t>(i);
        nodes[n] = {60 - 10 * i, i};
        handles[n] = h.add(&nodes[n]);
    }
    std::vector<int> gone;
    h.remove_if([](const node& n) { return n.id % 2 == 1; }, [&gone](node* n) { gone.push_back(n->id); });
    std::sort(gone.begin(), gone.end());
    EXPECT_EQ(gone, (std::vector{1, 3, 5}));
    EXPECT_EQ(h.size(), 3U);
    EXPECT_EQ(h.next_deadline(), 20) << "of number 4";
    EXPECT_EQ(h.cancel(handles[5]), nullptr);
    EXPECT_EQ(h.cancel(handles[2]), &nodes[2]);
    EXPECT_EQ(h.pop(), &nodes[4]);
    EXPECT_EQ(h.pop(), &nodes[0]);
    h.remove_if([](const node&) { return true; }, [](node*) { FAIL() << "it is empty"; });
    EXPECT_EQ(h.next_deadline(), heap::never);
}

TEST(timer_heap, a_handle_that_names_nothing_cancels_nothing) {
    heap h;
    EXPECT_EQ(h.cancel({}), nullptr);
    node a{10, 0};
    const timer_handle real = h.add(&a);
    EXPECT_EQ(h.cancel({}), nullptr);
    EXPECT_EQ(h.cancel({real.slot + 1, real.generation}), nullptr);
    EXPECT_EQ(h.cancel({real.slot, real.generation + 1}), nullptr);
    EXPECT_EQ(h.cancel({UINT32_MAX, UINT32_MAX}), nullptr);
    EXPECT_EQ(h.size(), 1U);
}

// The reference: a vector in order of (deadline, arrival).
class sorted_list {
public:
    void add(node* n, timer_handle h) { all_.push_back({n, h}); }
    node* earliest() const {
        const auto least = std::min_element(
            all_.begin(), all_.end(), [](auto& a, auto& b) { return a.first->deadline_ns < b.first->deadline_ns; });
        return least == all_.end() ? nullptr : least->first;
    }
    void remove(const node* n) {
        std::erase_if(all_, [n](auto& e) { return e.first == n; });
    }
    std::pair<node*, timer_handle> any(std::size_t i) const { return all_[i % all_.size()]; }
    std::size_t size() const { return all_.size(); }

private:
    std::vector<std::pair<node*, timer_handle>> all_;
};

TEST(timer_heap, does_what_a_sorted_list_does_over_many_random_steps) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 generator(seed);
        const auto below = [&generator](unsigned n) { return static_cast<unsigned>(generator()) % n; };
        heap h;
        sorted_list reference;
        apiary::manual_clock<> clock;
        std::vector<std::unique_ptr<node>> nodes;
        std::vector<timer_handle> gone;
        for (int step = 0; step < 2000; ++step) {
            switch (below(8)) {
                case 0:
                case 1:
                case 2: {  // many equal deadlines
                    nodes.push_back(std::make_unique<node>(node{clock.now_ns() + below(16), step}));
                    reference.add(nodes.back().get(), h.add(nodes.back().get()));
                    break;
                }
                case 3:
                    if (reference.size() != 0) {
                        const auto [n, handle] = reference.any(below(1000));
                        ASSERT_EQ(h.cancel(handle), n);
                        reference.remove(n);
                        gone.push_back(handle);
                    }
                    break;
                case 4:
                    if (!gone.empty()) {
                        ASSERT_EQ(h.cancel(gone[below(static_cast<unsigned>(gone.size()))]), nullptr);
                    }
                    break;
                case 5:
                    clock.advance(below(4));
                    break;
                case 6: {
                    const int rest = static_cast<int>(below(5));
                    const auto leaves = [rest](const node& n) { return n.id % 5 == rest; };
                    h.remove_if(leaves, [&](node* n) {
                        ASSERT_TRUE(leaves(*n));
                        reference.remove(n);
                    });
                    break;
                }
                default: {
                    node* expected = reference.earliest();
                    if (expected != nullptr && expected->deadline_ns > clock.now_ns()) expected = nullptr;
                    ASSERT_EQ(h.pop_due(clock.now_ns()), expected) << "seed " << seed << ", step " << step;
                    if (expected != nullptr) reference.remove(expected);
                }
            }
            ASSERT_EQ(h.size(), reference.size());
            ASSERT_EQ(h.next_deadline(), reference.size() == 0 ? heap::never : reference.earliest()->deadline_ns);
        }
        while (node* n = h.pop()) {
            ASSERT_EQ(n, reference.earliest());
            reference.remove(n);
        }
        EXPECT_EQ(reference.size(), 0U);
    }
}

TEST(clock, a_manual_clock_stands_still_until_it_is_moved) {
    apiary::manual_clock<> clock(5);
    EXPECT_EQ(clock.now_ns(), 5);
    clock.advance(3);
    EXPECT_EQ(clock.now_ns(), 8);
    clock.set(2);
    EXPECT_EQ(clock.now_ns(), 2);
}

TEST(clock, the_steady_clock_does_not_go_back) {
    const apiary::steady_clock<> clock;
    const std::int64_t before = clock.now_ns();
    EXPECT_GE(clock.now_ns(), before);
    EXPECT_GT(before, 0);
}

// If a unit is no whole number of nanoseconds, the count times the nanoseconds exceeds 64 bits long before the delay
// does.
TEST(clock, a_delay_in_any_unit_ends_no_earlier_and_beyond_the_clock_never) {
    using namespace std::chrono_literals;
    using apiary::deadline_after;
    using of_a_processor = std::chrono::duration<std::int64_t, std::ratio<1, 2'893'437'000>>;
    EXPECT_EQ(deadline_after(5, of_a_processor(3600 * 2'893'437'000)), 5 + 3'600'000'000'000);
    using binary = std::chrono::duration<std::int64_t, std::ratio<1, 1 << 30>>;
    EXPECT_EQ(deadline_after(5, binary(3h)), 5 + 3 * 3'600'000'000'000);
    EXPECT_EQ(deadline_after(5, binary(1)), 6) << "rounded up";
    EXPECT_EQ(deadline_after(5, binary::max()), 5 + 8'589'934'592'000'000'000);
    EXPECT_EQ(deadline_after(5, binary(-1)), 5);
    EXPECT_EQ(deadline_after(5, -3h), 5);
    EXPECT_EQ(deadline_after(5, std::chrono::duration<double>(std::nan(""))), 5);
    EXPECT_EQ(deadline_after(5, std::chrono::duration<std::uint64_t>(UINT64_MAX)), INT64_MAX);
    EXPECT_EQ(deadline_after(5, std::chrono::nanoseconds(INT64_MAX - 6)), INT64_MAX - 1);
    EXPECT_EQ(deadline_after(5, std::chrono::nanoseconds(INT64_MAX - 5)), INT64_MAX);
    // As a float this is less than the clock has left, and in nanoseconds more.
    EXPECT_GE(deadline_after(5, std::chrono::duration<float>(9'223'371'776)), 9'223'371'776'000'000'000);
    EXPECT_EQ(deadline_after(5, std::chrono::duration<double>(1e300)), INT64_MAX);
    // 2^63, to which as a double also what the clock has left is rounded: one more than 64 bits hold.
    EXPECT_EQ(deadline_after(5, std::chrono::duration<double, std::nano>(0x1p63)), INT64_MAX);
    EXPECT_EQ(deadline_after(5, std::chrono::duration<double>(0.1)), 100'000'005);
}

}  // namespace
}  // namespace timer_heap_test
