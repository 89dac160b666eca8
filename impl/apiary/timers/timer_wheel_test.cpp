// The timer wheel with clocks of the test's own that creep, jump and go back: a long run against a list that is sorted
// at every step, and what the heap alone has not: moves from list to list, and deadlines that are told too early.
#include <apiary/timers/clock.hpp>
#include <apiary/timers/timer_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace timer_wheel_test {
namespace {

using apiary::timer_handle;

struct node {
    std::int64_t deadline_ns = 0;
    int id = 0;
};
template <std::size_t Few>
using wheel_of = apiary::timer_wheel<node, apiary::real_sync, Few>;
using wheel = wheel_of<0>;  // each timer that is not near lies in a list
constexpr std::int64_t second = 1'000'000'000, day = 86'400 * second;

// The reference: all timers, in order of (deadline, arrival).
class sorted_list {
public:
    struct pending {
        node* what;
        timer_handle handle;
        std::int64_t deadline_ns;
    };
    void add(node* n, timer_handle h, std::int64_t deadline_ns) {
        const auto at = std::upper_bound(all_.begin(), all_.end(), deadline_ns,
                                         [](std::int64_t d, const pending& p) { return d < p.deadline_ns; });
        all_.insert(at, {n, h, deadline_ns});
    }
    void remove(const node* n) {
        std::erase_if(all_, [n](const pending& p) { return p.what == n; });
    }
    node* earliest() const { return all_.empty() ? nullptr : all_.front().what; }
    std::int64_t next() const { return all_.empty() ? wheel::never : all_.front().deadline_ns; }
    pending any(std::size_t i) const { return all_[i % all_.size()]; }
    std::size_t size() const { return all_.size(); }
    template <class P>
    bool any_of(P which) const {
        return std::any_of(all_.begin(), all_.end(), [&](const pending& p) { return which(*p.what); });
    }

private:
    std::vector<pending> all_;
};

// Delays of every magnitude, and the ends of the clock.
std::int64_t some_delay(std::mt19937_64& from) {
    const unsigned bits = static_cast<unsigned>(from() % 48);
    const auto delay = static_cast<std::int64_t>(from() & ((std::uint64_t{1} << bits) - 1));
    return from() % 4 == 0 ? delay & ~std::int64_t{0xff'ffff} : delay;  // many equal ones, and first ticks of lists
}

template <std::size_t Few>
void does_what_a_sorted_list_does() {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        std::mt19937_64 generator(seed);
        const auto below = [&generator](std::uint64_t n) { return generator() % n; };
        wheel_of<Few> w;
        sorted_list reference;
        std::vector<std::unique_ptr<node>> nodes;
        std::vector<timer_handle> gone;
        std::int64_t now = seed % 3 == 0 ? 0 : static_cast<std::int64_t>(below(1ULL << 50));
        for (int step = 0; step < 1500; ++step) {
            switch (below(10)) {
                case 0:
                case 1:
                case 2: {
                    std::int64_t deadline = now + some_delay(generator);
                    if (below(50) == 0) deadline = wheel::never - static_cast<std::int64_t>(below(2));
                    if (below(50) == 0) deadline = -static_cast<std::int64_t>(below(3));
                    nodes.push_back(std::make_unique<node>(node{deadline, step}));
                    reference.add(nodes.back().get(), w.add(nodes.back().get()), deadline);
                    break;
                }
                case 3:
                    if (reference.size() != 0) {
                        const auto [n, handle, deadline] = reference.any(below(1000));
                        ASSERT_EQ(w.cancel(handle), n);
                        ASSERT_EQ(w.cancel(handle), nullptr) << "twice";
                        ASSERT_EQ(n->deadline_ns, deadline);
                        reference.remove(n);
                        gone.push_back(handle);
                    }
                    break;
                case 4:
                    if (!gone.empty()) {
                        ASSERT_EQ(w.cancel(gone[below(gone.size())]), nullptr);
                    }
                    break;
                case 5:  // it creeps, jumps, goes to the very next deadline, or back
                    if (below(3) == 0) now += some_delay(generator) / 16;
                    if (below(3) == 0 && reference.next() < wheel::never - 1) now = std::max(now, reference.next());
                    if (below(20) == 0) now -= std::min(now, some_delay(generator));
                    break;
                case 6:
                    if (below(20) == 0) {
                        const int rest = static_cast<int>(below(5));
                        const auto leaves = [rest](const node& n) { return n.id % 5 == rest; };
                        w.remove_if(leaves, [&](node* n) {
                            ASSERT_TRUE(leaves(*n));
                            reference.remove(n);
                        });
                        ASSERT_FALSE(reference.any_of(leaves)) << "one has stayed";
                    }
                    break;
                case 7:
                    if (below(10) == 0) {
                        node* const expected = reference.earliest();
                        ASSERT_EQ(w.pop(), expected) << "seed " << seed << ", step " << step;
                        if (expected != nullptr) reference.remove(expected);
                    }
                    break;
                case 8:
                    if (reference.size() != 0) {
                        const auto [n, handle, before] = reference.any(below(1000));
                        std::int64_t deadline = now + some_delay(generator);
                        if (below(20) == 0) deadline = wheel::never;
                        ASSERT_TRUE(w.move(handle, deadline)) << before;
                        reference.remove(n);
                        reference.add(n, handle, deadline);
                    }
                    if (!gone.empty()) {
                        ASSERT_FALSE(w.move(gone[below(gone.size())], now));
                    }
                    break;
                default: {
                    const bool due = reference.next() <= now && reference.next() != wheel::never;
                    node* const expected = due ? reference.earliest() : nullptr;
                    ASSERT_EQ(w.pop_due(now), expected) << "seed " << seed << ", step " << step;
                    if (due) reference.remove(expected);
                    if (!due && reference.next() != wheel::never) {
                        ASSERT_GT(w.next_deadline(), now) << "the owner would not sleep";
                    }
                }
            }
            ASSERT_EQ(w.size(), reference.size());
            ASSERT_EQ(w.held(), reference.size());
            ASSERT_LE(w.next_deadline(), reference.next());
            ASSERT_EQ(w.next_deadline() == wheel::never, reference.next() == wheel::never);
        }
        while (node* n = w.pop()) {
            ASSERT_EQ(n, reference.earliest());
            reference.remove(n);
        }
        EXPECT_EQ(reference.size(), 0U);
        EXPECT_TRUE(w.empty());
    }
}
TEST(timer_wheel, does_what_a_sorted_list_does_over_many_random_steps) {
    does_what_a_sorted_list_does<0>();
    does_what_a_sorted_list_does<12>();
}

// What an owner does: it sleeps until next_deadline, and looks.
TEST(timer_wheel, wakes_its_owner_a_few_times_for_a_timer_that_is_far_away_and_gives_it_on_time) {
    // A wake for each list that it is moved out of, and the last.
    const std::pair<std::int64_t, int> delays[] = {
        {3, 1}, {20 * second / 1000, 2}, {5 * second, 4}, {30 * day, 7}, {400 * day, 7}};
    for (const auto& [delay, expected] : delays) {
        wheel w;
        const std::int64_t start = 123'456'789'012'345;
        EXPECT_EQ(w.pop_due(start), nullptr);
        node n{start + delay, 0};
        (void)w.add(&n);
        int wakes = 0;
        std::int64_t now = start;
        for (node* got = nullptr; got == nullptr; ++wakes) {
            EXPECT_GT(w.next_deadline(), now);
            now = w.next_deadline();
            got = w.pop_due(now);
        }
        EXPECT_EQ(now, n.deadline_ns);
        EXPECT_EQ(wakes, expected) << delay;
    }
}

TEST(timer_wheel, keeps_few_timers_in_the_heap_whose_next_deadline_is_exact) {
    wheel_of<256> w;
    std::vector<node> nodes(300);
    for (int i = 0; i != 256; ++i) {
        nodes[static_cast<std::size_t>(i)] = {(1000 - i) * second, i};
        (void)w.add(&nodes[static_cast<std::size_t>(i)]);
        EXPECT_EQ(w.next_deadline(), (1000 - i) * second);
    }
    nodes[256] = {700 * second, 256};
    const timer_handle one_more = w.add(&nodes[256]);
    EXPECT_LT(w.next_deadline(), 700 * second) << "in a list: told too early";
    nodes[257] = {day, 257};
    (void)w.add(&nodes[257]);
    EXPECT_EQ(w.cancel(one_more), &nodes[256]);
    EXPECT_EQ(w.next_deadline(), 745 * second);
    EXPECT_EQ(w.pop(), &nodes[255]);
}

// While a list has a timer, a new one goes to the lists, too: of equal deadlines the older would else come second.
TEST(timer_wheel, keeps_the_order_of_equal_deadlines_while_the_heap_has_room_again) {
    wheel_of<1> w;
    node first{second, 0}, older{2 * second, 1}, younger{2 * second, 2};
    const timer_handle in_heap = w.add(&first);
    (void)w.add(&older);
    EXPECT_EQ(w.cancel(in_heap), &first);
    (void)w.add(&younger);
    EXPECT_EQ(w.pop_due(2 * second), &older);
    EXPECT_EQ(w.pop_due(2 * second), &younger);
}

// However the last of them left its list: cancelled, moved into the heap by the clock, or swept out.
TEST(timer_wheel, keeps_few_timers_in_the_heap_again_once_the_lists_are_empty) {
    for (const int way : {0, 1, 2}) {
        wheel_of<1> w;
        node a{10 * second, 0}, b{20 * second, 1}, c{30 * second, 2}, d{3000 * second, 3};
        (void)w.add(&a);
        const timer_handle second_one = w.add(&b), third = w.add(&c);
        if (way == 0) {
            EXPECT_EQ(w.cancel(third), &c);
            EXPECT_EQ(w.cancel(second_one), &b);
            EXPECT_EQ(w.pop(), &a);
        } else if (way == 1) {
            for (node* const n : {&a, &b, &c}) EXPECT_EQ(w.pop_due(30 * second), n);
        } else {
            int swept = 0;
            w.remove_if([](const node&) { return true; }, [&](node*) { ++swept; });
            EXPECT_EQ(swept, 3);
        }
        EXPECT_TRUE(w.empty());
        (void)w.add(&d);
        EXPECT_EQ(w.next_deadline(), 3000 * second) << "way " << way;
    }
}

TEST(timer_wheel, sweeps_its_lists_beside_its_heap) {
    wheel_of<1> w;
    node near{second, 0}, far{day, 1}, stays{day, 2};
    (void)w.add(&near);
    (void)w.add(&far);
    (void)w.add(&stays);
    int swept = 0;
    w.remove_if([](const node& n) { return n.id != 2; }, [&](node*) { ++swept; });
    EXPECT_EQ(swept, 2);
    EXPECT_EQ(w.pop(), &stays);
    EXPECT_EQ(w.pop(), nullptr);
}

TEST(timer_wheel, puts_a_timer_of_the_tick_it_has_reached_into_the_heap_and_one_beyond_a_clock_that_went_back_not) {
    wheel w;
    const std::int64_t now = 1000 * second;
    node far{now + day, 0}, near{now + 3, 1};
    const timer_handle h = w.add(&far);
    EXPECT_EQ(w.pop_due(now), nullptr);
    (void)w.add(&near);
    EXPECT_EQ(w.next_deadline(), now + 3);
    EXPECT_EQ(w.pop_due(now + 3), &near);
    EXPECT_EQ(w.cancel(h), &far);
    EXPECT_EQ(w.pop_due(second), nullptr) << "nothing lies ahead: the clock may go back";
    near.deadline_ns = 500 * second;
    (void)w.add(&near);
    EXPECT_LT(w.next_deadline(), 500 * second) << "in a list";
    EXPECT_EQ(w.pop_due(499 * second), nullptr);
    EXPECT_EQ(w.pop_due(500 * second), &near);
}

TEST(timer_wheel, tells_a_deadline_before_the_clock_began_as_it_is) {
    for (const std::int64_t deadline : {std::int64_t{0}, std::int64_t{-second}}) {
        wheel w;
        node n{deadline, 0};
        (void)w.add(&n);
        EXPECT_EQ(w.next_deadline(), deadline);
        EXPECT_EQ(w.pop_due(0), &n);
    }
}

TEST(timer_wheel, loses_no_near_timer_when_one_for_never_is_cancelled) {
    wheel w;
    node never{wheel::never, 0}, near{3 * second / 1000, 1};
    const timer_handle h = w.add(&never);
    (void)w.add(&near);
    EXPECT_EQ(w.cancel(h), &never);
    EXPECT_LE(w.next_deadline(), near.deadline_ns);
    EXPECT_EQ(w.pop_due(near.deadline_ns), &near);
}

TEST(timer_wheel, a_handle_that_names_a_free_place_cancels_nothing) {
    wheel w;
    node n{second, 0};
    const timer_handle h = w.add(&n);
    EXPECT_EQ(w.cancel({h.slot + 1, 0}), nullptr) << "never used";
    EXPECT_EQ(w.cancel(h), &n);
    EXPECT_EQ(w.cancel({h.slot, h.generation + 1}), nullptr) << "given back";
    EXPECT_FALSE(w.move({h.slot, h.generation + 1}, 1));
    std::vector<node> nodes(64, node{second, 0});
    for (node& each : nodes) EXPECT_LT(w.add(&each).slot, 64U);
    EXPECT_EQ(w.cancel({64, 1}), nullptr) << "not there yet";
    EXPECT_EQ(w.size(), 64U);
}

TEST(timer_wheel, gives_back_a_timer_for_never_only_when_it_is_asked_for_any) {
    wheel w;
    node never{wheel::never, 0}, last{wheel::never - 1, 1};
    (void)w.add(&never);
    EXPECT_EQ(w.next_deadline(), wheel::never);
    (void)w.add(&last);
    EXPECT_EQ(w.pop_due(wheel::never), &last);
    EXPECT_EQ(w.pop_due(wheel::never), nullptr);
    EXPECT_EQ(w.next_deadline(), wheel::never);
    EXPECT_EQ(w.pop(), &never);
    EXPECT_EQ(w.pop(), nullptr);
    EXPECT_EQ(w.cancel({}), nullptr);
    EXPECT_EQ(w.cancel({UINT32_MAX, 1}), nullptr);
    EXPECT_FALSE(w.move({}, 1));
}

TEST(timer_wheel, the_place_of_a_timer_that_is_gone_is_the_next_one_s) {
    wheel w;
    node n{second, 0};
    const timer_handle first = w.add(&n);
    EXPECT_EQ(w.cancel(first), &n);
    const timer_handle again = w.add(&n);
    EXPECT_EQ(again.slot, first.slot);
    EXPECT_NE(again.generation, first.generation);
    EXPECT_EQ(w.pop(), &n);
    EXPECT_EQ(w.add(&n).slot, first.slot);
}

TEST(timer_wheel, a_timer_that_is_moved_comes_out_at_its_last_deadline_with_that_deadline) {
    wheel w;
    node n{10 * second, 0}, other{5 * second, 1};
    const timer_handle h = w.add(&n);
    (void)w.add(&other);
    EXPECT_TRUE(w.move(h, 3 * second));
    EXPECT_TRUE(w.move(h, 5 * second));
    EXPECT_EQ(w.size(), 2U);
    EXPECT_EQ(w.pop_due(4 * second), nullptr);
    EXPECT_EQ(w.pop_due(5 * second), &other) << "it was moved there after that one was added";
    EXPECT_EQ(w.pop_due(5 * second), &n);
    EXPECT_EQ(n.deadline_ns, 5 * second);
    EXPECT_FALSE(w.move(h, second));
}

}  // namespace
}  // namespace timer_wheel_test
