// Parkers, event count and idle sets whose threads meet: no wake is lost, and a thread that is woken sees what came
// before the wake.
#include <apiary/parking/core_seat.hpp>
#include <apiary/parking/event_count.hpp>
#include <apiary/parking/idle_sets.hpp>
#include <apiary/parking/parker.hpp>
#include <apiary/parking/poll_parker.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>

#include <apiary/testing/run_together.hpp>

namespace parking_together_test {
namespace {

using apiary::real_sync;
using apiary::run_together;

constexpr int rounds = 6;
constexpr auto relaxed = std::memory_order_relaxed;

TEST(parking_together, a_token_brings_what_its_waker_has_written) {
    for (int round = 0; round != rounds; ++round) {
        apiary::basic_parker<> to, fro;
        int number = 0;
        run_together(
            [&] {
                number = 1;
                to.unpark();
                fro.park();
                EXPECT_EQ(number, 2);
            },
            [&] {
                while (!to.park_until(real_sync::now_ns() + 1000)) continue;
                EXPECT_EQ(number, 1);
                number = 2;
                fro.unpark();
            });
    }
}

TEST(parking_together, an_owner_that_polls_sees_the_token_or_is_interrupted) {
    for (int round = 0; round != rounds; ++round) {
        apiary::poll_parker<> parker;
        apiary::basic_parker<> file;  // in place of a descriptor
        int number = 0;
        run_together(
            [&] {
                parker.poll_until_woken([&] { file.park(); });
                EXPECT_EQ(number, 1);
            },
            [&] {
                number = 1;
                parker.unpark([&] { file.unpark(); });
            });
    }
}

struct core {
    int alive = 7;
    ~core() { alive = 0; }
    void wake() const { EXPECT_EQ(alive, 7); }
};

TEST(parking_together, a_seat_that_was_left_has_no_waker_in_its_core) {
    for (int round = 0; round != rounds; ++round) {
        apiary::core_seat<const core> seat;
        const auto wakes = [&] {
            for (int i = 0; i != 2; ++i) (void)seat.wake();
        };
        run_together(
            [&] {
                for (int i = 0; i != 2; ++i) {
                    const auto mine = std::make_unique<core>();
                    seat.sit(*mine);
                    seat.leave();
                }
            },
            wakes, wakes);
    }
}

TEST(parking_together, a_waiter_sees_the_work_or_the_notify_after_it) {
    for (int round = 0; round != rounds; ++round) {
        apiary::event_count<> events(2);
        std::atomic<int> pieces{0};
        int written = 0;
        const auto waits = [&](std::size_t waiter) {
            return [&, waiter] {
                for (;;) {
                    events.prepare_wait();
                    int n = pieces.load(relaxed);
                    while (n != 0 && !pieces.compare_exchange_weak(n, n - 1, relaxed, relaxed)) continue;
                    if (n != 0) return events.cancel_wait();
                    events.commit_wait(waiter);
                    EXPECT_EQ(written, 1) << "before each notify";
                }
            };
        };
        run_together(waits(0), waits(1), [&] {
            written = 1;
            for (int i = 0; i != 2; ++i) {
                pieces.fetch_add(1, relaxed);
                events.notify_one();
            }
        });
        EXPECT_EQ(events.snapshot().before(), 0U);
    }
}

TEST(parking_together, every_waiter_sees_the_end_or_the_notify_of_all_after_it) {
    for (int round = 0; round != rounds; ++round) {
        apiary::event_count<> events(2);
        std::atomic<bool> over{false};
        int written = 0;
        const auto waits = [&](std::size_t waiter) {
            return [&, waiter] {
                for (;;) {
                    events.prepare_wait();
                    if (over.load(relaxed)) return events.cancel_wait();
                    events.commit_wait(waiter);
                    EXPECT_EQ(written, 1);
                }
            };
        };
        run_together(waits(0), waits(1), [&] {
            written = 1;
            over.store(true, relaxed);
            events.notify_all();
        });
    }
}

TEST(parking_together, a_worker_that_falls_asleep_sees_the_work_or_is_claimed) {
    for (int round = 0; round != rounds; ++round) {
        apiary::idle_set<> idle;
        std::atomic<int> pieces{0};
        int state = 0;
        bool found = false;
        std::optional<unsigned> claimed;
        run_together(
            [&] {
                pieces.store(1);
                claimed = idle.claim_any();
                if (claimed) {
                    EXPECT_EQ(state, 1) << "as it was when it announced its sleep";
                }
            },
            [&] {
                state = 1;
                idle.announce_sleep(3, false);
                found = pieces.load() != 0;
            });
        EXPECT_TRUE(found || claimed);
    }
}

TEST(parking_together, a_searcher_that_ends_its_search_sees_the_work_that_relied_on_it) {
    for (int round = 0; round != rounds; ++round) {
        apiary::idle_set<> idle;
        for (unsigned w : {0U, 1U}) idle.announce_sleep(w, false);
        ASSERT_EQ(idle.claim_any(), 0U);
        std::atomic<int> pieces{0};
        bool found = false, claimed = false;
        run_together(
            [&] {
                pieces.store(1);
                claimed = idle.claim_any().has_value();
            },
            [&] {
                (void)idle.stop_searching();
                found = pieces.load() != 0;
            });
        EXPECT_TRUE(found || claimed);
    }
}

TEST(parking_together, the_first_worker_of_a_further_set_sees_the_work_or_is_claimed) {
    for (int round = 0; round != rounds; ++round) {
        apiary::idle_sets<real_sync, 2, 3> sets;
        for (unsigned w : {0U, 1U}) sets.join(w);
        std::atomic<int> pieces{0};
        bool found = false, claimed = false;
        run_together(
            [&] {
                pieces.store(1);
                claimed = sets.claim_any().has_value();
            },
            [&] {
                sets.join(2).announce_sleep(0, false);
                found = pieces.load() != 0;
            });
        EXPECT_TRUE(found || claimed);
    }
}

}  // namespace
}  // namespace parking_together_test
