// Latch, doors and crews whose threads meet: the thread that finds the end sees what all others did before it.
#include <apiary/workers/latch.hpp>
#include <apiary/workers/two_doors.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include <apiary/parking/parker.hpp>
#include <apiary/testing/plain_crew.hpp>
#include <apiary/testing/run_together.hpp>

namespace workers_together_test {
namespace {

using apiary::run_together;

constexpr int rounds = 6;

struct sleeper {
    using sync = apiary::real_sync;
    apiary::basic_parker<> parker;
    void wake() { parker.unpark(); }
};

TEST(workers_together, a_waiter_at_an_open_latch_sees_what_was_counted) {
    for (int round = 0; round != rounds; ++round) {
        sleeper waiter;
        apiary::latch<sleeper> latch(waiter, 2);
        int first = 0, second = 0;
        const auto counts = [&latch](int& of) {
            return [&latch, &of] {
                of = 1;
                latch.count_down();
            };
        };
        run_together(counts(first), counts(second), [&] {
            while (!latch.is_open())
                if (latch.announce()) waiter.parker.park();
            EXPECT_EQ(first + second, 2);
        });
    }
}

// One piece of work that has entered from outside; inside it another enters and leaves. Counts the ends that it is
// told.
using doors_type = apiary::two_doors<>;
struct worker {
    doors_type::share share;
    int done = 0;
};

TEST(workers_together, whoever_ends_the_crews_sees_all_work_and_is_alone) {
    for (int round = 0; round != rounds; ++round) {
        doors_type doors;
        std::array<worker, 2> workers;
        int outside = 0;
        std::atomic<int> ends{0};
        const auto ended = [&] {
            ++ends;
            EXPECT_EQ(workers[0].done + workers[1].done + outside, 5) << "all work, whoever did it";
        };
        for (int i = 0; i != 3; ++i) ASSERT_TRUE(doors.enter());
        const auto works = [&](worker& me) {
            return [&] {
                doors.enter_inside(me.share);
                ++me.done;
                if (doors.leave(me.share)) ended();
                ++me.done;
                if (doors.leave(me.share)) ended();
            };
        };
        run_together(
            works(workers[0]), works(workers[1]),
            [&] {
                ++outside;
                if (doors.leave()) ended();
            },
            [&] {
                const bool last = doors.close([&](auto f) {
                    for (worker& w : workers) f(w.share);
                });
                if (last) ended();
            });
        EXPECT_EQ(ends, 1);
    }
}

TEST(workers_together, a_stop_comes_after_what_was_written_before_it) {
    for (int round = 0; round != rounds; ++round) {
        apiary::plain_crew crew(1);
        int written = 0;
        run_together(
            [&] {
                written = 1;
                crew.ask_to_stop(apiary::stop_mode::drain);
            },
            [&] {
                while (!crew.stopping()) std::this_thread::yield();
                EXPECT_EQ(written, 1);
            });
    }
}

TEST(workers_together, a_worker_that_joins_is_seen_whole) {
    for (int round = 0; round != rounds; ++round) {
        apiary::plain_crew crew(1);
        run_together([&] { (void)crew.crew().table().attach(crew.crew()); },
                     [&] {
                         const unsigned all = crew.crew().table().size();
                         for (unsigned i = 0; i != all; ++i) EXPECT_EQ(crew.worker(i).id(), i);
                     });
    }
}

}  // namespace
}  // namespace workers_together_test
