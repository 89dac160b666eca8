// How a hive ends, drained, discarded or never run: every post is run, discarded, cancelled or refused, and the
// report says so.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/running_hive.hpp>

namespace hive_stop_test {
namespace {

using namespace std::chrono_literals;
using apiary::hive;
using apiary::running_hive;
using apiary::stop_mode;
using apiary::wait_for;
using hive_of = testing::TestWithParam<unsigned>;  // workers; the numbers are in hive_test.cpp

TEST_P(hive_of, a_drained_stop_runs_what_was_accepted_and_refuses_what_comes_later) {
    running_hive r({.io_workers = GetParam(), .compute_workers = 1});
    std::atomic<int> ran{0};
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(r.h.post_micro([&] { ++ran; }));
        ASSERT_TRUE(r.h.post_to_worker(0, [&] { ++ran; }));
        ASSERT_TRUE(r.h.post_compute([&] { ++ran; }));
    }
    const auto report = r.stop(stop_mode::drain);
    EXPECT_EQ(ran, 3000);
    EXPECT_EQ(report.run, 3000U);
    EXPECT_FALSE(r.h.post_micro([] {}));
    EXPECT_FALSE(r.h.post_to_worker(0, [] {}));
    EXPECT_FALSE(r.h.post_compute([] {}));
    EXPECT_FALSE(r.h.post_delayed([] {}, 1ms));
    std::vector<std::function<void()>> batch(3, [] { FAIL() << "refused tasks do not run"; });
    EXPECT_EQ(r.h.post_micro_batch(std::span(batch)), 0U);
    batch.assign(3, [] { FAIL() << "refused tasks do not run"; });
    EXPECT_EQ(r.h.post_compute_batch(std::span(batch)), 0U);
    EXPECT_EQ(r.h.report().refused, 10U);
}

TEST_P(hive_of, a_discarding_stop_accounts_for_every_task) {
    running_hive r({.io_workers = GetParam(), .compute_workers = 1});
    auto token = std::make_shared<int>(0);
    std::atomic<std::uint64_t> ran{0};
    std::uint64_t accepted = 0;
    for (int i = 0; i < 1000; ++i) {
        accepted += r.h.post_micro([&ran, token] { ++ran; });
        accepted += r.h.post_to_worker(0, [&ran, token] { ++ran; });
        accepted += r.h.post_compute([&ran, token] { ++ran; });
        auto timer = r.h.post_delayed([&ran, token] { ++ran; }, 1h);
        accepted += static_cast<bool>(timer);
        if (i % 4 == 0) {
            EXPECT_TRUE(timer.cancel());
        }
    }
    const auto report = r.stop(stop_mode::discard);
    EXPECT_EQ(report.run, ran);
    EXPECT_EQ(report.cancelled, 250U);
    EXPECT_EQ(report.run + report.discarded + report.cancelled, accepted);
    EXPECT_GE(report.discarded, 750U) << "at least the timers";
    EXPECT_EQ(token.use_count(), 1) << "dropped callables are destroyed";
}

// Everything at once until posts are refused: every kind of post, cancels by another thread, tasks that throw and
// that post, workers that come and go, and a reader of the counters. Which way each task ends is open; that it ends
// one way is not.
class everything_at_once {
public:
    explicit everything_at_once(unsigned workers) : h_({.io_workers = workers, .compute_workers = 1}) {}

    void run(stop_mode how) {
        how_ = how;
        std::vector<std::thread> threads;
        for (const unsigned worker : {0U, 1U}) threads.emplace_back([this, worker] { produce(worker); });
        threads.emplace_back([this] { come_and_go(); });
        threads.emplace_back([this] { watch_the_counters(); });
        h_.run();
        ended_ = true;
        for (auto& t : threads) t.join();
    }
    void settle() const {
        const auto report = h_.report();
        EXPECT_EQ(report.run, ran_);
        EXPECT_EQ(report.exceptions, thrown_);
        EXPECT_EQ(report.cancelled, cancelled_);
        EXPECT_EQ(report.run + report.discarded + report.cancelled + report.refused, posted_);
        EXPECT_EQ(token_.use_count(), 1) << "every callable was destroyed";
    }

private:
    static constexpr std::uint64_t enough = 1000;

    auto task() {
        return [this, held = token_] {
            const std::uint64_t n = ++ran_;
            if (n == enough) h_.request_stop(how_);
            if (n % 16 == 0 && n < enough) {
                count(h_.post_micro(task_of_tasks()));
                count(static_cast<bool>(h_.post_delayed(task_of_tasks(), 10us)));
                count(h_.post_to_worker(h_.this_worker().value_or(0), task_of_tasks()));
            }
            if (n % 7 == 0) {
                ++thrown_;
                throw n;
            }
        };
    }
    std::function<void()> task_of_tasks() { return task(); }
    bool count(bool accepted, std::uint64_t n = 1) {
        posted_ += n;
        return accepted;
    }

    void produce(unsigned worker) {
        for (int refused = 0; refused < 10;) {
            bool all = count(h_.post_micro(task()));
            all &= count(h_.post_to_worker(worker, task()));  // of one worker there is none of this id
            all &= count(h_.post_compute(task()));
            auto timer = h_.post_delayed(task(), 50us), never = h_.post_delayed(task(), 1h);
            all &= count(static_cast<bool>(timer));
            all &= count(static_cast<bool>(never));
            cancelled_ += int{timer.cancel()} + int{never.cancel()};
            std::array<std::function<void()>, 3> batch{task(), task(), task()};
            all &= count(h_.post_micro_batch(std::span(batch)) == 3, 3);
            batch = {task(), task(), task()};
            all &= count(h_.post_compute_batch(std::span(batch)) == 3, 3);
            if (!all && ended_) ++refused;
            std::this_thread::yield();  // the workers are what is tested
        }
    }
    void come_and_go() {
        for (unsigned round = 0;; ++round) {
            try {
                const auto id = round % 4 == 0 ? h_.attach_compute_worker() : h_.attach_io_worker();
                if (!id) return;
                if (round % 4 == 0) {
                    (void)h_.detach_compute_worker(*id);
                } else {
                    for (int i = 0; i < 5; ++i) count(h_.post_to_worker(*id, task()));
                    (void)h_.detach_io_worker(*id);
                }
            } catch (const std::length_error&) {
                std::this_thread::yield();  // those detached before are still leaving
            }
        }
    }
    void watch_the_counters() {
        std::map<std::pair<apiary::worker_kind, unsigned>, apiary::worker_counters> last;
        for (bool once_more = true; once_more;) {
            once_more = !ended_;
            for (const apiary::worker_counters& now : h_.snapshot()) {
                auto& before = last[{now.kind, now.slot}];
                for (const auto counter : {&apiary::worker_counters::run, &apiary::worker_counters::exceptions,
                                           &apiary::worker_counters::parked, &apiary::worker_counters::woken,
                                           &apiary::worker_counters::timers_fired, &apiary::worker_counters::stolen})
                    EXPECT_GE(now.*counter, before.*counter);
                before = now;
            }
            std::this_thread::yield();
        }
    }

    hive h_;
    stop_mode how_ = stop_mode::drain;
    const std::shared_ptr<int> token_ = std::make_shared<int>(0);
    std::atomic<std::uint64_t> posted_{0}, ran_{0}, thrown_{0}, cancelled_{0};
    std::atomic<bool> ended_{false};
};

TEST_P(hive_of, every_post_is_in_the_report_whatever_the_stop_meets) {
    for (const auto how : {stop_mode::drain, stop_mode::discard}) {
        everything_at_once all(GetParam());
        all.run(how);
        all.settle();
    }
}

TEST(hive, a_hive_that_never_ran_drops_its_tasks) {
    auto token = std::make_shared<int>(0);
    {
        hive h({.io_workers = 2, .compute_workers = 1});
        ASSERT_TRUE(h.post_micro([token] {}));
        ASSERT_TRUE(h.post_compute([token] {}));
        ASSERT_TRUE(h.post_to_worker(1, [token] {}));
        ASSERT_TRUE(h.post_delayed([token] {}, 1s));
    }
    EXPECT_EQ(token.use_count(), 1);
}

TEST(hive, a_discarding_stop_runs_nothing_that_waits) {
    hive h({});
    int ran = 0;
    ASSERT_TRUE(h.post_micro([&h] { h.request_stop(apiary::stop_mode::discard); }));
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(h.post_micro([&ran] { ++ran; }));
    h.run();
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(h.report().discarded, 20U);
}

// Its destructor posts, as a promise might that is broken.
struct posts_when_destroyed {
    hive* h;
    explicit posts_when_destroyed(hive& target) : h(&target) {}
    posts_when_destroyed(posts_when_destroyed&& other) noexcept : h(std::exchange(other.h, nullptr)) {}
    posts_when_destroyed& operator=(posts_when_destroyed&&) = delete;
    ~posts_when_destroyed() {
        if (h == nullptr) return;
        EXPECT_FALSE(h->post_micro([] {}));
        EXPECT_FALSE(h->post_to_worker(0, [] {}));
        EXPECT_FALSE(h->post_compute([] {}));
        EXPECT_FALSE(h->post_delayed([] {}, std::chrono::seconds(1)));
    }
    void operator()() const {}
};

TEST(hive, posts_from_the_destructor_of_a_dropped_task_are_refused) {
    hive h({.io_workers = 2, .compute_workers = 1});
    ASSERT_TRUE(h.post_micro(posts_when_destroyed(h)));
    ASSERT_TRUE(h.post_to_worker(1, posts_when_destroyed(h)));
    ASSERT_TRUE(h.post_compute(posts_when_destroyed(h)));
}

}  // namespace
}  // namespace hive_stop_test
