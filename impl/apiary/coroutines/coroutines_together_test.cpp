// The small parts of awaits whose threads meet: the thread that comes second, or that goes on, sees what the other did.
#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/coroutines/brief_lock.hpp>
#include <apiary/coroutines/byte_stream.hpp>
#include <apiary/coroutines/second_of_two.hpp>
#include <apiary/coroutines/stop_hooks.hpp>
#include <apiary/coroutines/timer_thread.hpp>
#include <apiary/events/epoll_driver.hpp>

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>

#include <apiary/testing/plain_coroutine.hpp>
#include <apiary/testing/run_together.hpp>

namespace coroutines_together_test {
namespace {

using apiary::run_together;

constexpr int rounds = 6;

TEST(coroutines_together, the_second_of_two_sees_what_the_first_did) {
    for (int round = 0; round != rounds; ++round) {
        apiary::second_of_two<> two;
        std::array<int, 2> done{};
        std::atomic<int> seconds{0};
        const auto comes = [&](std::size_t me) {
            return [&, me] {
                done[me] = 1;
                if (!two.second()) return;
                ++seconds;
                EXPECT_EQ(done[0] + done[1], 2);
            };
        };
        run_together(comes(0), comes(1));
        EXPECT_EQ(seconds, 1);
    }
}

TEST(coroutines_together, a_pass_of_a_brief_lock_sees_those_before_it) {
    for (int round = 0; round != rounds; ++round) {
        apiary::brief_lock<> lock;
        int passes = 0;
        const auto passes_it = [&] {
            for (int i = 0; i != 2; ++i) {
                const apiary::brief_lock<>::held inside(lock);
                ++passes;
            }
        };
        run_together(passes_it, passes_it);
        EXPECT_EQ(passes, 4);
    }
}

struct counting_hook : apiary::stop_hook<> {
    int calls = 0;
    static void call(apiary::stop_hook<>& h) noexcept { ++static_cast<counting_hook&>(h).calls; }
};

TEST(coroutines_together, after_its_removal_a_hook_is_called_no_more) {
    for (int round = 0; round != rounds; ++round) {
        apiary::stop_hooks<> hooks;
        std::array<counting_hook, 2> waits;
        for (counting_hook& w : waits) ASSERT_TRUE(hooks.add(w, &counting_hook::call));
        const auto leaves = [](counting_hook& w) {
            return [&w] {
                apiary::stop_hooks<>::remove(w);
                EXPECT_LE(w.calls, 1);
                w.calls = 0;
            };
        };
        run_together([&] { (void)hooks.ask(); }, leaves(waits[0]), leaves(waits[1]));
        for (const counting_hook& w : waits) EXPECT_EQ(w.calls, 0);
    }
}

TEST(coroutines_together, a_permit_brings_what_came_before_its_release) {
    for (int round = 0; round != rounds; ++round) {
        apiary::async_semaphore<> permits(1);
        int held = 0;
        const auto works = [&] {
            for (int done = 0; done != 2; std::this_thread::yield()) {
                if (!permits.try_acquire()) continue;
                ++held;
                permits.release();
                ++done;
            }
        };
        run_together(works, works);
        EXPECT_EQ(held, 4);
    }
}

using service = apiary::timer_thread<apiary::real_sync, apiary::epoll_driver>;
using stream = apiary::byte_stream<service>;
apiary::plain_coroutine<> reads_one(apiary::coroutine_place<>, stream& s, std::byte& into, std::atomic<bool>& ended) {
    const apiary::transfer t = co_await s.read_some(std::span(&into, 1));
    EXPECT_EQ(t.bytes, 1U);
    ended = true;
}

// The stream, or the thread that has watched it, lets go of it last, and frees what they shared.
TEST(coroutines_together, a_stream_goes_beside_the_thread_that_has_watched_it) {
    for (int round = 0; round != 3; ++round) {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        apiary::resume_here<> home;
        service watches;
        std::byte got{};
        std::atomic<bool> ended{false};
        run_together([&] { watches.run(); },
                     [&] {
                         {
                             stream s(watches, ends[0]);
                             reads_one({home}, s, got, ended);
                             EXPECT_EQ(::send(ends[1], "x", 1, 0), 1);
                             while (!ended) std::this_thread::yield();
                         }
                         watches.stop();
                     });
        EXPECT_EQ(got, std::byte{'x'});
        ::close(ends[1]);
    }
}

}  // namespace
}  // namespace coroutines_together_test
