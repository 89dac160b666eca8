// Queues in which threads meet: whatever the order, each element is taken once, and its taker sees what its maker
// wrote.
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/global_pool.hpp>
#include <apiary/queues/lifo_slot.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/queues/steal_half_queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <span>
#include <thread>

#include <apiary/testing/run_together.hpp>

namespace queues_together_test {
namespace {

using apiary::real_sync;
using apiary::run_together;
using apiary::steal_status;

constexpr int rounds = 6;

struct element {
    real_sync::cell<element*> next;
    int value = 0;
    int taken = 0;

    element* made() {
        value = 7;
        return this;
    }
    void take() {
        EXPECT_EQ(value, 7);
        ++taken;
    }
};

template <std::size_t N>
void each_was_taken_once(const std::array<element, N>& all) {
    for (const element& e : all) EXPECT_EQ(e.taken, 1);
}

struct small_deque {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 8;
};

TEST(queues_together, a_deque_grows_under_theft) {
    for (int round = 0; round != rounds; ++round) {
        std::array<element, 6> all;
        apiary::chase_lev_deque<element*, real_sync, small_deque> deque;
        auto owner = deque.own();
        const auto thief = deque.share();
        const auto steals = [&] {
            for (int i = 0; i != 3; ++i)
                if (const auto got = thief.steal(); got.status == steal_status::taken) got.value->take();
        };
        run_together(
            [&] {
                element* e = nullptr;
                for (std::size_t i = 0; i != all.size(); ++i) {
                    EXPECT_TRUE(owner.try_push(all[i].made()));
                    if (i % 2 == 1 && owner.try_pop(e)) e->take();
                }
                while (owner.try_pop(e)) e->take();
            },
            steals, steals);
        each_was_taken_once(all);
    }
}

TEST(queues_together, a_slot_has_its_element_taken_by_its_owner_or_by_one_thief) {
    for (int round = 0; round != rounds; ++round) {
        std::array<element, 3> all;
        apiary::lifo_slot<element> slot;
        const auto steals = [&] {
            for (int i = 0; i != 2; ++i)
                if (element* const e = slot.steal()) e->take();
        };
        run_together(
            [&] {
                for (element& one : all) {
                    slot.put(one.made());
                    if (element* const e = slot.take()) e->take();
                }
            },
            steals, steals);
        each_was_taken_once(all);
    }
}

TEST(queues_together, an_inbox_gives_each_producers_elements_in_their_order) {
    for (int round = 0; round != rounds; ++round) {
        std::array<element, 4> all;
        apiary::mpsc_inbox<element> inbox;
        const auto pushes = [&](std::size_t first) {
            return [&all, &inbox, first] {
                for (const std::size_t i : {first, first + 1}) (void)inbox.push(all[i].made());
            };
        };
        run_together(pushes(0), pushes(2), [&] {
            for (std::size_t got = 0; got != all.size(); std::this_thread::yield()) {
                auto list = inbox.drain();
                for (; element* const e = list.pop_front(); ++got) {
                    e->take();
                    if ((e - all.data()) % 2 == 1) {
                        EXPECT_EQ(e[-1].taken, 1) << "the one before it";
                    }
                }
            }
        });
        each_was_taken_once(all);
    }
}

TEST(queues_together, an_inbox_is_seen_by_a_receiver_that_falls_asleep_unless_its_producer_sees_that) {
    for (int round = 0; round != rounds; ++round) {
        element one;
        apiary::mpsc_inbox<element> inbox;
        std::atomic<bool> sleeps{false};
        bool saw_a_sleeper = false, saw_nothing = false;
        run_together(
            [&] {
                (void)inbox.push(one.made());
                saw_a_sleeper = sleeps.load();
            },
            [&] {
                sleeps.store(true);
                saw_nothing = inbox.looks_empty();
            });
        EXPECT_FALSE(saw_nothing && !saw_a_sleeper) << "the receiver sleeps, and nobody wakes it";
    }
}

TEST(queues_together, a_pool_shares_its_elements_out_until_it_is_closed) {
    for (int round = 0; round != rounds; ++round) {
        std::array<element, 4> all;
        std::atomic<std::size_t> ended{0};
        apiary::global_pool<element> pool;
        const auto takes = [&] {
            for (std::array<element*, 2> some{}; ended != all.size(); std::this_thread::yield())
                for (element* const e : std::span(some).first(pool.take(some, 2))) {
                    e->take();
                    ++ended;
                }
        };
        run_together(takes, takes, [&] {
            for (std::size_t i = 0; i != all.size(); ++i) {
                if (i == 2) pool.close();
                if (pool.push(all[i].made()) == apiary::push_result::closed) {
                    all[i].take();
                    ++ended;
                }
            }
        });
        each_was_taken_once(all);
    }
}

TEST(queues_together, a_pool_is_seen_by_a_taker_that_falls_asleep_unless_its_producer_sees_that) {
    for (int round = 0; round != rounds; ++round) {
        std::array<element, 2> all;
        apiary::global_pool<element> pool;
        std::atomic<bool> sleeps{false};
        bool saw_a_sleeper = false, saw_nothing = false;
        run_together(
            [&] {
                for (element& one : all) (void)pool.push(one.made());
                if (element* const e = pool.take_one()) e->take();  // what it leaves it publishes
                saw_a_sleeper = sleeps.load();
            },
            [&] {
                sleeps.store(true);
                saw_nothing = pool.looks_empty();
            });
        if (element* const e = pool.take_one()) e->take();
        EXPECT_FALSE(saw_nothing && !saw_a_sleeper) << "the taker sleeps, and nobody wakes it";
        each_was_taken_once(all);
    }
}

struct small_ring {
    static constexpr unsigned index_bits = 16, version_bits = 32;
    static constexpr std::size_t capacity = 4;
};

TEST(queues_together, queues_steal_each_others_older_half) {
    using queue = apiary::steal_half_queue<element*, real_sync, small_ring>;
    for (int round = 0; round != rounds; ++round) {
        std::array<element, 8> all;
        queue first, second, third;
        auto maker = first.own(), thief = second.own(), robber = third.own();
        const auto pops = [](queue::owner& owner) {
            element* e = nullptr;
            if (!owner.try_pop(e)) return false;
            e->take();
            return true;
        };
        const auto steals = [](queue::owner& owner, const queue::thief& victim) {
            const auto got = owner.steal_half(victim);
            if (got.status == steal_status::taken) got.value->take();
        };
        const auto victim = first.share(), middle = second.share();
        run_together(
            [&] {
                for (std::size_t i = 0; i != all.size(); ++i) {
                    maker.push(all[i].made(), [](std::span<element*> some) {
                        for (element* const e : some) e->take();
                    });
                    if (i % 4 == 3) pops(maker);
                }
                while (pops(maker)) continue;
            },
            [&] {
                for (int i = 0; i != 2; ++i) steals(thief, victim);
                pops(thief);
                steals(thief, victim);
            },
            [&] {
                for (int i = 0; i != 3; ++i) steals(robber, middle);
                while (pops(robber)) continue;
            });
        for (queue::owner* const owner : {&maker, &thief})
            while (pops(*owner)) continue;
        each_was_taken_once(all);
    }
}

}  // namespace
}  // namespace queues_together_test
