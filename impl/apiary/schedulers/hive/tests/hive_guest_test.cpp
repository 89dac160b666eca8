// A worker on a thread of the user's that blocks in the user's own event loop, beside IO workers that block in epoll.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/running_hive.hpp>

namespace hive_guest_test {
namespace {

using namespace std::chrono_literals;
using apiary::detach_result;
using apiary::hive;
using apiary::running_hive;
using apiary::wait_for;

// As of a toolkit: events in a queue, which the thread of the user interface sleeps for and tells.
class ui_loop {
public:
    static constexpr std::int64_t forever = INT64_MAX;

    void wait(std::int64_t deadline_ns) {
        called();
        std::unique_lock held(mutex_);
        if (throws_in_wait) throw std::runtime_error("wait");
        if (deadline_ns != forever) ++deadlines;
        const auto something = [this] { return woken_ || !events_.empty(); };
        blocked = true;
        if (deadline_ns == forever)
            changed_.wait(held, something);
        else
            changed_.wait_until(held, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)),
                                something);
        blocked = false;
        woken_ = false;
        if (tells_in_wait) tell(held);
    }
    void poll() {
        called();
        std::unique_lock held(mutex_);
        tell(held);
    }
    void wake() {
        const std::lock_guard held(mutex_);
        woken_ = true;
        ++wakes;
        changed_.notify_all();
    }
    // An event of its own, by any thread.
    void event(std::function<void()> f) {
        const std::lock_guard held(mutex_);
        events_.push_back(std::move(f));
        changed_.notify_all();
    }
    // A wait finds it. An event() may be too late for that: a wait that was woken before it began is over at once.
    void event_of_a_wait(std::function<void()> f) {
        for (;; std::this_thread::yield()) {
            const std::lock_guard held(mutex_);
            if (!blocked) continue;
            events_.push_back(std::move(f));
            return changed_.notify_all();
        }
    }
    void wait_until_blocked() {
        while (!blocked) std::this_thread::yield();
    }

    std::atomic<bool> blocked = false, throws_in_wait = false;
    std::atomic<int> deadlines = 0, wakes = 0;
    std::atomic<int> calls = 0;            // of wait and poll
    std::atomic<int> calls_elsewhere = 0;  // by another thread than that of the first
    bool tells_in_wait = false;

private:
    void called() {
        ++calls;
        std::thread::id none{};
        const std::thread::id here = std::this_thread::get_id();
        if (!caller_.compare_exchange_strong(none, here) && none != here) ++calls_elsewhere;
    }
    void tell(std::unique_lock<std::mutex>& held) {
        while (!events_.empty()) {
            const auto f = std::move(events_.front());
            events_.pop_front();
            held.unlock();
            f();
            held.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> events_;
    bool woken_ = false;
    std::atomic<std::thread::id> caller_{};
};
static_assert(apiary::worker_driver<ui_loop>);

// A hive, and a thread that is a worker of it.
struct ui_beside {
    explicit ui_beside(hive& of) : h(of) {
        while (id < 0) std::this_thread::yield();
    }
    ~ui_beside() { join(); }
    void join() {
        if (thread.joinable()) thread.join();
    }
    unsigned worker() const { return static_cast<unsigned>(id); }

    hive& h;
    ui_loop loop;
    std::atomic<int> id = -1;
    std::optional<bool> answered;
    std::string thrown;
    std::thread thread{[this] {
        try {
            answered = h.attach_this_thread(loop, [this](unsigned given) { id = static_cast<int>(given); });
        } catch (const std::runtime_error& e) {
            thrown = e.what();
        }
    }};
};

TEST(hive_guest, posts_to_it_run_on_its_thread_and_its_own_events_are_told_there) {
    running_hive r({.io_workers = 2});
    const std::int64_t usual_slice = apiary::time_slice::of_this_thread();
    ui_beside ui(r.h);
    EXPECT_EQ(r.h.io_workers(), 3U);
    std::atomic<int> ran{0};
    std::array<std::thread::id, 3> on;
    ui.loop.wait_until_blocked();
    ASSERT_TRUE(r.h.post_to_worker(ui.worker(), [&] {
        EXPECT_EQ(apiary::time_slice::of_this_thread(), usual_slice) << "its thread keeps it";
        on[0] = std::this_thread::get_id(), ++ran;
    }));
    wait_for(ran, 1);
    ui.loop.wait_until_blocked();
    ui.loop.event([&] {
        EXPECT_EQ(r.h.this_worker(), ui.worker());
        EXPECT_TRUE(r.h.post_micro([&ran] { ++ran; }));
        on[1] = std::this_thread::get_id(), ++ran;
    });
    wait_for(ran, 3);
    ASSERT_TRUE(r.h.post_to_worker(1, [&] { on[2] = std::this_thread::get_id(), ++ran; }));
    wait_for(ran, 4);
    EXPECT_EQ(on[0], ui.thread.get_id());
    EXPECT_EQ(on[1], ui.thread.get_id());
    EXPECT_NE(on[2], ui.thread.get_id());
    EXPECT_EQ(r.stop().run, 3U);
    ui.join();
    EXPECT_EQ(ui.answered, true);
}

TEST(hive_guest, it_takes_from_the_pool_like_any_worker) {
    running_hive r({});
    ui_beside ui(r.h);
    std::atomic<int> begun{0};
    for (int i = 0; i < 2; ++i)  // each worker has one, or neither ends
        ASSERT_TRUE(r.h.post_micro([&begun] {
            ++begun;
            wait_for(begun, 2);
        }));
    wait_for(begun, 2);
    r.stop();
}

TEST(hive_guest, its_timers_fire) {
    running_hive r({});
    ui_beside ui(r.h);
    std::atomic<int> ran{0}, there{0};
    for (int i = 0; i < 40; ++i)  // the one of the two that has fewer takes each
        ASSERT_TRUE(r.h.post_delayed(
            [&] {
                there += std::this_thread::get_id() == ui.thread.get_id() ? 1 : 0;
                ++ran;
            },
            2ms));
    wait_for(ran, 40);
    EXPECT_GT(there, 0);
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(r.h.post_delayed([] {}, 1h));
    wait_for(ui.loop.deadlines, 1);  // it waits with the deadline of its next one
    EXPECT_EQ(r.stop().discarded, 40U);
}

TEST(hive_guest, a_stop_ends_it_while_it_is_blocked_and_run_returns_behind_it) {
    for (const auto how : {apiary::stop_mode::drain, apiary::stop_mode::discard}) {
        running_hive r({});
        ui_beside ui(r.h);
        ui.loop.wait_until_blocked();
        ASSERT_TRUE(r.h.post_delayed([] {}, 1h));
        const auto report = r.stop(how);
        ui.join();
        EXPECT_EQ(ui.answered, true);
        EXPECT_EQ(report.discarded, 1U);
        ui_loop late;
        EXPECT_FALSE(r.h.attach_this_thread(late)) << "the hive has been stopped";
    }
}

TEST(hive_guest, run_returns_behind_its_last_task) {
    running_hive r({});
    ui_beside ui(r.h);
    std::atomic<bool> begun{false}, go{false}, ended{false};
    ASSERT_TRUE(r.h.post_to_worker(ui.worker(), [&] {
        begun = true;
        while (!go) std::this_thread::yield();
        ended = true;
    }));
    while (!begun) std::this_thread::yield();
    std::thread lets_it_go([&] {
        while (r.h.post_micro([] {})) std::this_thread::yield();
        std::this_thread::sleep_for(5ms);  // run() might have returned
        go = true;
    });
    r.stop();
    EXPECT_TRUE(ended);
    lets_it_go.join();
}

TEST(hive_guest, a_detach_ends_it_while_it_is_blocked) {
    running_hive r({});
    std::atomic<int> ran{0};
    {
        ui_beside ui(r.h);
        ui.loop.wait_until_blocked();
        EXPECT_EQ(r.h.detach_io_worker(ui.worker()), detach_result::detached);
        EXPECT_FALSE(r.h.post_to_worker(ui.worker(), [] {}));
        ui.join();
        EXPECT_EQ(ui.answered, true);
    }
    // The next worker of that place has no loop but epoll.
    const unsigned next = *r.h.attach_io_worker();
    EXPECT_EQ(next % 512, 1U);
    ASSERT_TRUE(r.h.post_to_worker(next, [&ran] { ++ran; }));
    wait_for(ran, 1);
    r.stop();
}

TEST(hive_guest, what_leaves_its_loop_leaves_the_call_and_what_it_held_runs_elsewhere) {
    for (const bool in_poll : {false, true}) {
        running_hive r({});
        ui_beside ui(r.h);
        ui.loop.wait_until_blocked();
        std::atomic<int> ran{0};
        std::atomic<bool> go{false};
        ASSERT_TRUE(r.h.post_to_worker(ui.worker(), [&] {
            while (!go) std::this_thread::yield();
            for (int i = 0; i < 10; ++i) ASSERT_TRUE(r.h.post_micro([&ran] { ++ran; }));
            if (in_poll)
                ui.loop.event([] { throw std::runtime_error("poll"); });
            else
                ui.loop.throws_in_wait = true;
        }));
        for (int i = 0; i < 10; ++i) ASSERT_TRUE(r.h.post_to_worker(ui.worker(), [&ran] { ++ran; }));
        go = true;
        ui.join();
        EXPECT_EQ(ui.thrown, in_poll ? "poll" : "wait");
        EXPECT_FALSE(r.h.post_to_worker(ui.worker(), [] {}));
        wait_for(ran, 20);
        EXPECT_EQ(r.h.io_workers(), 1U);
        EXPECT_EQ(r.stop().discarded, 0U);
    }
}

TEST(hive_guest, what_leaves_the_call_of_told_ends_it_before_it_begins) {
    running_hive r({});
    ui_loop loop;
    std::atomic<int> ran{0};
    EXPECT_THROW((void)r.h.attach_this_thread(loop,
                                              [&](unsigned id) {
                                                  ASSERT_TRUE(r.h.post_to_worker(id, [&ran] { ++ran; }));
                                                  throw std::runtime_error("told");
                                              }),
                 std::runtime_error);
    EXPECT_EQ(loop.calls, 0);
    wait_for(ran, 1);
    EXPECT_EQ(r.h.io_workers(), 1U);
    r.stop();
}

TEST(hive_guest, what_its_loop_tells_while_it_waits_posts_from_outside) {
    running_hive r({});
    ui_beside ui(r.h);
    ui.loop.wait_until_blocked();
    std::atomic<int> ran{0};
    ui.loop.event([&] {});  // it turns, and finds the flag
    ASSERT_TRUE(r.h.post_to_worker(ui.worker(), [&] {
        ui.loop.tells_in_wait = true;
        ++ran;
    }));
    wait_for(ran, 1);
    ui.loop.event_of_a_wait([&] {
        EXPECT_EQ(r.h.this_worker(), std::nullopt);
        EXPECT_TRUE(r.h.post_micro([&ran] { ++ran; }));
        EXPECT_TRUE(r.h.post_to_worker(ui.worker(), [&ran] { ++ran; }));
        ++ran;
    });
    wait_for(ran, 4);
    r.stop();
}

// It would wait for the end of its own thread.
TEST(hive_guest, a_task_on_it_may_not_call_run_first) {
    hive h({});
    ui_beside ui(h);
    std::atomic<int> refused{0};
    const auto runs = [&] {
        try {
            h.run();
        } catch (const std::logic_error&) {
            ++refused;
        }
    };
    ASSERT_TRUE(h.post_to_worker(ui.worker(), runs));
    wait_for(refused, 1);
    ui.loop.event(runs);
    ui.loop.wake();
    wait_for(refused, 2);
    h.request_stop();
    ui.join();
    h.run();  // it was not used up
}

TEST(hive_guest, attached_before_run_it_runs_at_once_and_run_gives_it_no_second_thread) {
    hive h({.io_workers = 2});
    ui_beside ui(h);
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_to_worker(ui.worker(), [&] {
        EXPECT_EQ(std::this_thread::get_id(), ui.thread.get_id());
        ++ran;
    }));
    wait_for(ran, 1);
    ui.loop.wait_until_blocked();
    std::thread main_worker([&h] { h.run(); });
    ASSERT_TRUE(h.post_to_worker(1, [&ran] { ++ran; }));
    wait_for(ran, 2);
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(h.post_to_worker(ui.worker(), [&] {
            EXPECT_EQ(std::this_thread::get_id(), ui.thread.get_id());
            ++ran;
        }));
    wait_for(ran, 22);
    std::this_thread::sleep_for(5ms);  // a second thread would look for work by now
    h.request_stop();
    main_worker.join();
    EXPECT_EQ(ui.loop.calls_elsewhere, 0);
}

TEST(hive_guest, a_worker_that_takes_the_place_of_one_that_left_before_run_is_started_by_run) {
    hive h({});
    ui_loop loop;
    EXPECT_TRUE(h.attach_this_thread(
        loop, [&h](unsigned id) { EXPECT_EQ(h.detach_io_worker(id), detach_result::detached); }));
    const unsigned next = *h.attach_io_worker();
    EXPECT_EQ(next % 512, 1U);
    ASSERT_TRUE(h.post_to_worker(next, [&h] { h.request_stop(); }));
    h.run();
    EXPECT_EQ(h.report().run, 1U);
}

TEST(hive_guest, says_when_no_slot_is_left) {
    hive h({.io_workers = 280});
    ui_loop loop;
    EXPECT_THROW((void)h.attach_this_thread(loop), std::length_error);
}

// Before run(), too, where no phase tells of it.
TEST(hive_guest, a_hive_that_is_destroyed_within_it_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            auto h = std::make_unique<hive>(apiary::hive_config{});
            ui_loop loop;
            (void)h->attach_this_thread(loop, [&h](unsigned) { h.reset(); });
        },
        "destroyed before run");
}

TEST(hive_guest, a_task_may_not_become_one_and_no_source_is_watched_there) {
    running_hive r({});
    ui_beside ui(r.h);
    struct source final : apiary::descriptor_source {
        source() : descriptor_source(0) {}
        void on_ready(apiary::readiness) noexcept override {}
    } in;
    std::atomic<int> ran{0};
    ASSERT_TRUE(r.h.post_to_worker(ui.worker(), [&] {
        ui_loop other;
        EXPECT_THROW((void)r.h.attach_this_thread(other), std::logic_error);
        EXPECT_EQ(r.h.watch(in), apiary::watch_result::wrong_backend);
        ++ran;
    }));
    ASSERT_TRUE(r.h.post_to_worker(0, [&] {
        ui_loop other;
        EXPECT_THROW((void)r.h.attach_this_thread(other), std::logic_error);
        ++ran;
    }));
    wait_for(ran, 2);
    r.stop();
}

TEST(hive_guest, a_thread_is_one_of_two_hives_and_of_neither_twice) {
    running_hive r({}), second({});
    ui_loop loop;
    loop.tells_in_wait = true;
    std::atomic<int> left{0};
    std::thread ui([&] { EXPECT_TRUE(r.h.attach_this_thread(loop)); });
    loop.wait_until_blocked();
    loop.event([&] {
        ui_loop inner;
        EXPECT_TRUE(second.h.attach_this_thread(inner, [&](unsigned id) {
            ui_loop third;
            EXPECT_THROW((void)r.h.attach_this_thread(third), std::logic_error);
            EXPECT_EQ(second.h.detach_io_worker(id), detach_result::detached);
        }));
        ++left;
    });
    wait_for(left, 1);
    r.stop();
    ui.join();
}

// There `current` is empty, so that a post goes to the pool; the thread is a worker of the hive all the same.
TEST(hive_guest, what_a_loop_dispatches_while_it_waits_may_not_become_one) {
    running_hive r({});
    ui_loop loop;
    loop.tells_in_wait = true;
    std::atomic<int> refused{0};
    std::thread ui([&] { EXPECT_TRUE(r.h.attach_this_thread(loop)); });
    loop.wait_until_blocked();
    loop.event([&] {
        ui_loop other;
        EXPECT_THROW((void)r.h.attach_this_thread(other), std::logic_error);
        EXPECT_THROW((void)r.h.attach_this_thread(loop), std::logic_error);
        ++refused;
    });
    wait_for(refused, 1);
    r.stop();
    ui.join();
}

// Loops that go as soon as they are left, beside posts that have found their worker asleep: under the sanitizers no
// wake is late.
TEST(hive_guest, loops_that_come_and_go_beside_posts) {
    running_hive r({});
    std::atomic<bool> over{false};
    std::atomic<int> id{-1}, accepted{0}, ran{0};
    std::vector<std::thread> posters;
    for (int p = 0; p < 2; ++p)
        posters.emplace_back([&] {
            while (!over) {
                const int to = id;
                if (to < 0 || !r.h.post_to_worker(static_cast<unsigned>(to), [&ran] { ++ran; })) continue;
                if (++accepted % 3 == 0) (void)r.h.detach_io_worker(static_cast<unsigned>(to));
            }
        });
    int wakes = 0;
    for (int i = 0; i < 100 || wakes == 0; ++i) {  // a loop that is never asleep when a post comes needs no wake
        const auto loop = std::make_unique<ui_loop>();
        EXPECT_TRUE(r.h.attach_this_thread(*loop, [&](unsigned given) { id = static_cast<int>(given); }));
        wakes += loop->wakes;
    }
    over = true;
    for (std::thread& t : posters) t.join();
    wait_for(ran, accepted);
    EXPECT_EQ(r.stop().discarded, 0U);
}

}  // namespace
}  // namespace hive_guest_test
