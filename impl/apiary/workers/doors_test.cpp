// Two doors: the counts, step by step, and a crew whose jobs post until their end.
#include <apiary/workers/two_doors.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include <apiary/testing/plain_crew.hpp>

namespace doors_test {
namespace {

using apiary::plain_crew;
using apiary::stop_mode;
using apiary::two_doors;

TEST(two_doors, let_in_until_the_stop_and_tell_the_last_that_leaves) {
    two_doors<> d;
    EXPECT_TRUE(d.enter());
    EXPECT_TRUE(d.enter());
    EXPECT_FALSE(d.leave()) << "no stop";
    EXPECT_EQ(d.living(), 1U);
    EXPECT_FALSE(d.outer_is_closed());
    EXPECT_FALSE(d.close()) << "one lives";
    EXPECT_TRUE(d.outer_is_closed());
    EXPECT_FALSE(d.enter()) << "from outside";
    d.enter_inside();
    EXPECT_EQ(d.living(), 2U);
    EXPECT_FALSE(d.leave());
    EXPECT_TRUE(d.leave());
    EXPECT_FALSE(d.enter());
    EXPECT_FALSE(d.close()) << "the end was told once";
}

TEST(two_doors, tell_the_stop_when_nothing_lives) {
    two_doors<> d;
    EXPECT_TRUE(d.enter());
    EXPECT_FALSE(d.leave());
    EXPECT_TRUE(d.close());
    EXPECT_FALSE(d.close());
    EXPECT_FALSE(d.enter());
}

TEST(two_doors, sum_the_shares_at_the_stop_and_then_count_in_one_word) {
    two_doors<> d;
    two_doors<>::share a, b;
    const auto all = [&](auto f) { f(a), f(b); };
    EXPECT_TRUE(d.enter());
    d.enter_inside(a);
    d.enter_inside(a);
    EXPECT_FALSE(d.leave(b)) << "no stop";
    EXPECT_FALSE(d.leave(b));
    EXPECT_EQ(d.living(all), 1U);
    EXPECT_FALSE(d.close(all)) << "one lives";
    EXPECT_FALSE(d.close(all)) << "a second close closes nothing";
    EXPECT_EQ(d.living(), 1U) << "the shares are empty";
    d.enter_inside(b);
    d.enter_inside();
    EXPECT_EQ(d.living(), 3U);
    EXPECT_FALSE(d.leave(a));
    EXPECT_FALSE(d.leave());
    EXPECT_TRUE(d.leave(b));
    EXPECT_FALSE(d.close(all)) << "the end was told once";
}

TEST(two_doors, sum_up_to_nothing) {
    two_doors<> d;
    two_doors<>::share a, b;
    const auto all = [&](auto f) { f(a), f(b); };
    EXPECT_TRUE(d.enter());
    EXPECT_FALSE(d.leave(b));
    EXPECT_EQ(d.living([&](auto f) { f(b); }), 0U);
    EXPECT_TRUE(d.close(all));
}

// A report of running work may see a leave and not yet the enter that came before it.
TEST(two_doors, never_tell_less_than_nothing) {
    two_doors<> d;
    two_doors<>::share a, b;
    d.enter_inside(a);
    EXPECT_FALSE(d.leave(b));
    EXPECT_EQ(d.living([&](auto f) { f(b); }), 0U);
    EXPECT_EQ(d.living([&](auto f) { f(a), f(b); }), 0U);
}

// A front end with two doors: roots are posted from outside, and each has a chain of successors.
struct chains {
    plain_crew& c;
    two_doors<> doors;
    std::atomic<int> ran = 0, refused = 0;

    void end() {
        if (doors.leave()) c.ask_to_stop(stop_mode::drain);
    }
    // The successor enters before its predecessor leaves.
    struct link : apiary::job<> {
        link(chains& of, int after) : job(&end_it), all(of), left(after) {}
        static bool end_it(job& self, apiary::job_end how, apiary::any_worker* by) {
            auto& mine = static_cast<link&>(self);
            chains& all = mine.all;
            if (how == apiary::job_end::run) {
                ++all.ran;
                if (mine.left > 0) {
                    all.doors.enter_inside();
                    auto* next = new link(all, mine.left - 1);
                    if (!static_cast<plain_crew::worker_type*>(by)->post_local(next)) {
                        ++all.refused;
                        next->drop();
                    }
                }
            }
            delete &mine;
            all.end();
            return true;
        }
        chains& all;
        const int left;
    };
    bool start(int length) {
        if (!doors.enter()) return false;
        auto* first = new link(*this, length - 1);
        if (c.crew().post(first)) return true;
        first->drop();
        return false;
    }
    void stop(stop_mode how) {
        if (doors.close() || how == stop_mode::discard) c.ask_to_stop(how);
    }
};

TEST(two_doors, chains_that_live_at_the_stop_go_on_to_their_end) {
    plain_crew c(3);
    chains all{c, {}};
    for (unsigned i = 0; i != 3; ++i) c.start(i);
    for (int i = 0; i != 10; ++i) ASSERT_TRUE(all.start(1000));
    all.stop(stop_mode::drain);
    EXPECT_FALSE(all.start(1)) << "after the stop";
    while (!c.stopping()) std::this_thread::yield();
    c.stop(stop_mode::drain);
    EXPECT_EQ(all.ran, 10'000);
    EXPECT_EQ(all.refused, 0);
    EXPECT_EQ(all.doors.living(), 0U);
}

TEST(two_doors, of_an_idle_crew_close_both_at_once) {
    plain_crew c(2);
    chains all{c, {}};
    for (unsigned i = 0; i != 2; ++i) c.start(i);
    all.stop(stop_mode::drain);
    EXPECT_TRUE(c.stopping());
    EXPECT_FALSE(all.start(1));
}

TEST(two_doors, a_discarding_stop_closes_both_and_what_it_drops_leaves) {
    plain_crew c(1);
    chains all{c, {}};
    for (int i = 0; i != 5; ++i) ASSERT_TRUE(all.start(1000));
    all.stop(stop_mode::discard);
    c.worker(0).run();
    EXPECT_EQ(all.ran, 0);
    EXPECT_EQ(all.doors.living(), 0U);
    EXPECT_EQ(c.worker(0).counters().discarded, 5U);
}

TEST(two_doors, race_posts_against_the_stop_and_lose_none) {
    for (int round = 0; round != 20; ++round) {
        plain_crew c(2);
        chains all{c, {}};
        for (unsigned i = 0; i != 2; ++i) c.start(i);
        std::atomic<int> accepted = 0;
        std::vector<std::thread> posters;
        for (int p = 0; p != 2; ++p)
            posters.emplace_back([&] {
                for (int i = 0; i != 200; ++i) accepted += all.start(3);
            });
        all.stop(stop_mode::drain);
        for (std::thread& t : posters) t.join();
        while (!c.stopping()) std::this_thread::yield();
        c.stop(stop_mode::drain);
        EXPECT_EQ(all.ran, 3 * accepted);
        EXPECT_EQ(all.refused, 0);
    }
}

}  // namespace
}  // namespace doors_test
