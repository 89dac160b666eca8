// What the hive answers to calls that make no sense or come too late: one test for each, by name. Others stand beside
// what they belong to: the main, an unknown and the last worker detached (hive_attach_test), an empty task
// (hive_beat_test), a descriptor closed under its source (hive_events_test), impossible numbers (hive_test), no
// memory (hive_throws_test).
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace hive_bad_input_test {
namespace {

using namespace std::chrono_literals;
using apiary::hive;

TEST(bad_input, a_post_to_a_worker_that_is_not_there_is_refused_and_its_callable_destroyed) {
    hive h({.io_workers = 2});
    const auto token = std::make_shared<int>(0);
    for (const unsigned nobody : {2U, 55U, 63U, 64U, 65U, 4096U, ~0U})
        EXPECT_FALSE(h.post_to_worker(nobody, [token] {})) << nobody;
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_EQ(h.report().refused, 7U);
}

TEST(bad_input, a_negative_delay_counts_as_none) {
    hive h({});
    int ran = 0;
    for (const auto delay :
         {std::chrono::nanoseconds(-1), std::chrono::nanoseconds(-1h), std::chrono::nanoseconds::min()})
        EXPECT_TRUE(h.post_delayed([&ran] { ++ran; }, delay));
    EXPECT_TRUE(h.post_delayed([&ran] { ++ran; }, std::chrono::duration<double>(-1e300)));
    EXPECT_TRUE(h.post_delayed([&h] { h.request_stop(); }, 1ms));
    h.run();
    EXPECT_EQ(ran, 4);
    EXPECT_LT(h.snapshot()[0].timer_lateness_max_ns, 60'000'000'000U) << "it was due when it was posted, not before";
    EXPECT_EQ(h.report().discarded, 0U);
}

TEST(bad_input, a_second_run_is_refused_beside_inside_and_after_the_first) {
    std::atomic<int> refused{0};
    hive h({});
    const auto again = [&] {
        try {
            h.run();
        } catch (const std::logic_error&) {
            ++refused;
        }
    };
    ASSERT_TRUE(h.post_micro([&] {
        again();
        std::thread(again).join();
        h.request_stop();
    }));
    h.run();
    again();
    EXPECT_EQ(refused, 3);
    EXPECT_EQ(h.report().run, 1U);
}

TEST(bad_input, a_stop_before_run_refuses_posts_and_lets_run_end_what_was_accepted) {
    for (const auto how : {apiary::stop_mode::drain, apiary::stop_mode::discard}) {
        hive h({.io_workers = 2, .compute_workers = 1});
        std::atomic<int> ran{0};
        ASSERT_TRUE(h.post_micro([&ran] { ++ran; }));
        ASSERT_TRUE(h.post_to_worker(1, [&ran] { ++ran; }));
        ASSERT_TRUE(h.post_compute([&ran] { ++ran; }));
        h.request_stop(how);
        h.request_stop(apiary::stop_mode::discard);  // the first one has decided
        EXPECT_FALSE(h.post_micro([] {}));
        EXPECT_FALSE(h.post_delayed([] {}, 1ms));
        EXPECT_FALSE(h.attach_io_worker());
        h.run();
        EXPECT_EQ(ran, how == apiary::stop_mode::drain ? 3 : 0);
        EXPECT_EQ(h.report().run + h.report().discarded, 3U);
    }
}

TEST(bad_input, a_stop_of_no_kind_drains) {
    hive h({});
    int ran = 0;
    ASSERT_TRUE(h.post_micro([&] {
        ASSERT_TRUE(h.post_micro([&ran] { ++ran; }));
        h.request_stop({});
        h.request_stop(apiary::stop_mode::discard);
    }));
    h.run();
    EXPECT_EQ(ran, 1);
}

TEST(bad_input, a_handler_that_throws_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            hive h({.on_exception = [](std::exception_ptr) { throw 2; }});
            (void)h.post_micro([] { throw 1; });
            h.run();
        },
        "");
}

// On a compute worker, too, which this hive does not know on its thread; and while the thread in run() waits for that
// worker.
TEST(bad_input, a_hive_that_is_destroyed_by_its_own_task_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const bool compute : {false, true})
        EXPECT_DEATH(
            {
                auto h = std::make_unique<hive>(apiary::hive_config{.io_workers = 2, .compute_workers = 1});
                const auto ends_it = [&] {
                    if (compute) {
                        h->request_stop();
                        std::this_thread::sleep_for(20ms);  // run() waits for this thread by now
                    }
                    h.reset();
                };
                (void)(compute ? h->post_compute(ends_it) : h->post_to_worker(1, ends_it));
                h->run();
            },
            "destroyed before run");
}

// Posts in every way when it is destroyed, and counts what was accepted.
struct posts_at_its_end {
    hive* h;
    std::atomic<int>* accepted;
    posts_at_its_end(hive* to, std::atomic<int>* count) : h(to), accepted(count) {}
    posts_at_its_end(posts_at_its_end&& other) noexcept
        : h(std::exchange(other.h, nullptr)), accepted(other.accepted) {}
    posts_at_its_end& operator=(posts_at_its_end&&) = delete;
    ~posts_at_its_end() {
        if (h == nullptr) return;
        const auto task = [] { FAIL() << "what was refused does not run"; };
        *accepted += int{h->post_micro(task)} + int{h->post_to_worker(0, task)} + int{h->post_to_worker(1, task)} +
                     int{h->post_compute(task)} + int{static_cast<bool>(h->post_delayed(task, 1h))};
    }
    void operator()() const { FAIL() << "it is discarded"; }
};

TEST(bad_input, posts_from_a_destructor_during_a_stop_are_refused) {
    std::atomic<int> accepted{0};
    {
        hive h({.io_workers = 2, .compute_workers = 1});
        ASSERT_TRUE(h.post_to_worker(0, [&] {
            for (int i = 0; i < 3; ++i) {
                ASSERT_TRUE(h.post_to_worker(0, posts_at_its_end(&h, &accepted)));  // after this task
                ASSERT_TRUE(h.post_delayed(posts_at_its_end(&h, &accepted), 1h));
            }
            h.request_stop(apiary::stop_mode::discard);
        }));
        h.run();
        EXPECT_EQ(h.report().discarded, 6U);
        EXPECT_EQ(h.report().refused, 30U);
    }
    EXPECT_EQ(accepted, 0);
}

// Closes its own descriptor and tries to go on; its worker must neither crash nor tell it again.
struct careless_source final : apiary::descriptor_source {
    careless_source(hive& to, int fd) : descriptor_source(fd), h(to) {}
    void on_ready(apiary::readiness) noexcept override {
        ++told;
        ::close(descriptor());
        rewatched = h.rewatch(*this, {.read = true, .write = false});
        unwatched = h.unwatch(*this);
        h.request_stop();
    }
    void on_gone(apiary::gone) noexcept override { ++farewells; }
    hive& h;
    int told = 0, farewells = 0;
    bool rewatched = true, unwatched = true;
};

TEST(bad_input, a_source_that_closes_its_descriptor_while_it_is_told_is_answered_false) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    hive h({});
    careless_source source(h, ends[0]);
    ASSERT_TRUE(h.post_micro([&] {
        ASSERT_EQ(h.watch(source), apiary::watch_result::watched);
        ASSERT_EQ(::write(ends[1], "x", 1), 1);
    }));
    h.run();
    EXPECT_EQ(source.told, 1);
    EXPECT_FALSE(source.rewatched);
    EXPECT_FALSE(source.unwatched);
    ::close(ends[1]);
}

}  // namespace
}  // namespace hive_bad_input_test
