// What the hive offers beyond the contract (contract_test): targeted posts, timers, compute workers. Real
// threads, no timing assertions but "never early".
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using apiary::hive;
using apiary::stop_mode;

// Runs a hive on a thread of its own until stop().
class running_hive {
public:
    explicit running_hive(const apiary::hive_config& config) : h(config), thread_([this] { h.run(); }) {}
    ~running_hive() {
        if (thread_.joinable()) stop();
    }
    apiary::stop_report stop(stop_mode how = stop_mode::drain) {
        h.request_stop(how);
        thread_.join();
        return h.report();
    }
    hive h;

private:
    std::thread thread_;
};

void wait_for(const std::atomic<int>& n, int value) {
    while (n.load() < value) std::this_thread::yield();
}

TEST(hive, runs_on_the_calling_thread_what_was_posted_before_run) {
    hive h({});
    std::thread::id ran_on;
    ASSERT_TRUE(h.post_micro([&] {
        ran_on = std::this_thread::get_id();
        h.request_stop();
    }));
    h.run();
    EXPECT_EQ(ran_on, std::this_thread::get_id());
    EXPECT_EQ(h.report().run, 1U);
}

class hive_of : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, hive_of, testing::Values(1U, 2U, 4U));

TEST_P(hive_of, targeted_tasks_run_on_their_worker_in_order) {
    const unsigned workers = GetParam();
    running_hive r({.io_workers = workers});
    std::vector<std::set<std::thread::id>> threads(workers);
    std::vector<std::vector<int>> order(workers);
    std::atomic<int> ran{0};
    for (int i = 0; i < 1000; ++i)
        for (unsigned w = 0; w < workers; ++w)
            ASSERT_TRUE(r.h.post_to_worker(w, [&, w, i] {
                threads[w].insert(std::this_thread::get_id());
                order[w].push_back(i);
                ++ran;
            }));
    wait_for(ran, static_cast<int>(1000 * workers));
    for (unsigned w = 0; w < workers; ++w) {
        EXPECT_EQ(threads[w].size(), 1U);
        for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[w][static_cast<std::size_t>(i)], i);
    }
    EXPECT_FALSE(r.h.post_to_worker(workers, [] { FAIL() << "there is no such worker"; }));
}

TEST_P(hive_of, timers_are_never_early) {
    running_hive r({.io_workers = GetParam()});
    std::atomic<int> fired{0}, early{0};
    for (int i = 0; i < 50; ++i) {
        const auto delay = std::chrono::microseconds(100 * (i % 7));
        const auto due = std::chrono::steady_clock::now() + delay;
        ASSERT_TRUE(r.h.post_delayed(
            [&, due] {
                if (std::chrono::steady_clock::now() < due) ++early;
                ++fired;
            },
            delay));
    }
    ASSERT_TRUE(r.h.post_micro([&] { ASSERT_TRUE(r.h.post_delayed([&] { ++fired; }, 1ms)); }));
    ASSERT_TRUE(r.h.post_delayed([&] { ++fired; }, -5ms));
    wait_for(fired, 52);
    EXPECT_EQ(early, 0);
}

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

TEST_P(hive_of, an_exception_ends_its_task_only) {
    running_hive r({.io_workers = GetParam(), .compute_workers = 1});
    std::atomic<int> ran{0};
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(r.h.post_micro([&] {
            ++ran;
            throw std::runtime_error("task");
        }));
        ASSERT_TRUE(r.h.post_compute([&] {
            ++ran;
            throw 1;
        }));
    }
    const auto report = r.stop();
    EXPECT_EQ(ran, 20);
    EXPECT_EQ(report.exceptions, 20U);
    EXPECT_EQ(report.run, 20U);
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

template <class Hive>
concept delays_compute_tasks = requires(Hive& h, void (*f)()) { h.post_compute(f, 1ms); } ||
                               requires(Hive& h, void (*f)()) { h.post_compute_delayed(f, 1ms); } ||
                               requires(Hive& h, void (*f)()) { h.post_delayed_compute(f, 1ms); };
static_assert(!delays_compute_tasks<hive>, "checklist 13: a compute task with a delay does not compile");

TEST(hive, a_compute_batch_runs_off_the_io_workers_whole_or_not_at_all) {
    running_hive r({.io_workers = 1, .compute_workers = 2});
    std::atomic<int> ran{0};
    std::vector<std::function<void()>> batch(50, [&ran] { ++ran; });
    EXPECT_EQ(r.h.post_compute_batch(std::span(batch)), 50U);
    wait_for(ran, 50);
    hive without({});
    batch.assign(2, [] { FAIL() << "refused tasks do not run"; });
    EXPECT_EQ(without.post_compute_batch(std::span(batch)), 0U);
}

TEST_P(hive_of, a_cancelled_timer_never_runs_and_frees_what_it_held_at_once) {
    running_hive r({.io_workers = GetParam()});
    auto token = std::make_shared<int>(0);
    auto timer = r.h.post_delayed([token] { FAIL() << "cancelled timers do not run"; }, 1h);
    EXPECT_TRUE(timer);
    EXPECT_TRUE(timer.cancel());
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_FALSE(timer.cancel()) << "it is true once";
    const auto report = r.stop();
    EXPECT_EQ(report.cancelled, 1U);
    EXPECT_EQ(report.run + report.discarded, 0U);
}

TEST(hive, timers_that_were_cancelled_do_not_pile_up_until_their_deadlines) {
    running_hive r({});
    std::atomic<int> done{0};
    ASSERT_TRUE(r.h.post_micro([&] {
        auto kept = r.h.post_delayed([] {}, 1h);
        for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(r.h.post_delayed([] {}, 1h).cancel());
        ++done;
    }));
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(r.h.post_delayed([] {}, 1h).cancel()) << "and from another thread";
    wait_for(done, 1);
    ASSERT_TRUE(r.h.post_micro([&done] { ++done; }));  // behind it every inbox has been looked at
    wait_for(done, 2);
    EXPECT_LE(r.h.total(&apiary::worker_counters::timers_pending), 64U);
    const auto report = r.stop();
    EXPECT_EQ(report.cancelled, 20'000U);
    EXPECT_EQ(report.discarded, 1U);
}

TEST_P(hive_of, a_timer_that_has_begun_cannot_be_cancelled) {
    running_hive r({.io_workers = GetParam()});
    std::atomic<int> ran{0};
    auto timer = r.h.post_delayed([&ran] { ++ran; }, 0ms);
    wait_for(ran, 1);
    EXPECT_FALSE(timer.cancel());
}

TEST(hive, a_timers_handle_outlives_the_hive) {
    apiary::delayed_handle<> timer;
    EXPECT_FALSE(timer);
    EXPECT_FALSE(timer.cancel());
    auto token = std::make_shared<int>(0);
    {
        hive h({});
        timer = h.post_delayed([token] {}, 1h);
        EXPECT_TRUE(timer);
    }
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_FALSE(timer.cancel()) << "it was discarded";
}

TEST(hive, a_handle_that_is_assigned_over_lets_go_of_its_timer) {
    auto first = std::make_shared<int>(0), second = std::make_shared<int>(0);
    hive h({});
    apiary::delayed_handle<> timer = h.post_delayed([first] {}, 1h);
    timer = h.post_delayed([second] {}, 1h);  // that the first block is freed: hive_rules_test.cpp
    EXPECT_TRUE(timer.cancel());
    EXPECT_EQ(first.use_count(), 2) << "it is not cancelled by that";
    EXPECT_EQ(second.use_count(), 1);
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

TEST(hive, letting_go_of_a_handle_does_not_cancel) {
    running_hive r({});
    std::atomic<int> ran{0};
    {
        auto timer = r.h.post_delayed([&ran] { ++ran; }, 1ms);
    }
    wait_for(ran, 1);
}

TEST(hive, compute_tasks_need_a_compute_worker) {
    hive h({});
    EXPECT_FALSE(h.post_compute([] {}));
}

TEST(hive, compute_tasks_run_off_the_io_workers) {
    running_hive r({.io_workers = 1, .compute_workers = 2});
    std::atomic<int> ran{0};
    std::thread::id io;
    ASSERT_TRUE(r.h.post_micro([&] {
        io = std::this_thread::get_id();
        ++ran;
    }));
    wait_for(ran, 1);
    std::array<std::thread::id, 8> compute;
    for (auto& id : compute)
        ASSERT_TRUE(r.h.post_compute([&] {
            id = std::this_thread::get_id();
            ++ran;
        }));
    wait_for(ran, 9);
    for (const auto& id : compute) EXPECT_NE(id, io);
}

TEST(hive, two_hives_do_not_mistake_each_others_workers) {
    running_hive a({.io_workers = 1}), b({.io_workers = 1});
    std::atomic<int> ran{0};
    std::thread::id on_a, on_b;
    ASSERT_TRUE(a.h.post_micro([&] {
        on_a = std::this_thread::get_id();
        ASSERT_TRUE(b.h.post_micro([&] {
            on_b = std::this_thread::get_id();
            ++ran;
        }));
        ++ran;
    }));
    wait_for(ran, 2);
    EXPECT_NE(on_a, on_b);
}

TEST_P(hive_of, a_drain_runs_the_timers_that_are_due) {
    running_hive r({.io_workers = GetParam()});
    std::atomic<int> ran{0};
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, 0ns));
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, 1h));
    const auto report = r.stop(stop_mode::drain);
    EXPECT_EQ(ran, 20);
    EXPECT_EQ(report.discarded, 1U);
}

TEST(hive, a_delay_beyond_the_clock_is_never) {
    running_hive r({});
    std::atomic<int> ran{0};
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, std::chrono::nanoseconds::max()));
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, std::chrono::hours::max()));
    ASSERT_TRUE(r.h.post_delayed([&ran] { ++ran; }, std::chrono::hours::min()));
    wait_for(ran, 1);
    EXPECT_EQ(r.stop().discarded, 2U);
    EXPECT_EQ(ran, 1);
}

// Posts its successor for ever, until told to end.
struct endless {
    hive& h;
    std::atomic<bool>& enough;
    bool targeted;
    void operator()() const {
        if (enough) return;
        const bool posted = targeted ? h.post_to_worker(0, *this) : h.post_micro(*this);
        ASSERT_TRUE(posted || enough) << "refused before the end";
    }
};

class hive_with_an_endless_chain : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(targeted, hive_with_an_endless_chain, testing::Bool());

TEST_P(hive_with_an_endless_chain, starves_nobody) {
    std::atomic<bool> enough{false};
    std::atomic<int> ran{0};
    running_hive r({});
    std::vector<std::function<void()>> batch{endless{r.h, enough, GetParam()}};
    for (int i = 0; i < 40; ++i) batch.emplace_back([&ran] { ++ran; });
    EXPECT_EQ(r.h.post_micro_batch(std::span(batch)), 41U);
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(r.h.post_micro([&ran] { ++ran; }));
    wait_for(ran, 80);
    enough = true;
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
    }
    void operator()() const {}
};

TEST(hive, posts_from_the_destructor_of_a_dropped_task_are_refused) {
    hive h({.io_workers = 2, .compute_workers = 1});
    ASSERT_TRUE(h.post_micro(posts_when_destroyed(h)));
    ASSERT_TRUE(h.post_to_worker(1, posts_when_destroyed(h)));
    ASSERT_TRUE(h.post_compute(posts_when_destroyed(h)));
}

using apiary::detach_result;

TEST(hive, an_attached_worker_runs_what_is_posted_to_it) {
    running_hive r({});
    const auto id = r.h.attach_io_worker();
    ASSERT_TRUE(id);
    EXPECT_EQ(r.h.io_workers(), 2U);
    std::atomic<int> ran{0};
    std::thread::id main_thread, other_thread;
    ASSERT_TRUE(r.h.post_to_worker(0, [&] { main_thread = std::this_thread::get_id(), ++ran; }));
    ASSERT_TRUE(r.h.post_to_worker(*id, [&] { other_thread = std::this_thread::get_id(), ++ran; }));
    wait_for(ran, 2);
    EXPECT_NE(main_thread, other_thread);
}

TEST(hive, workers_attached_before_run_start_with_it) {
    hive h({});
    const auto io = h.attach_io_worker();
    const auto compute = h.attach_compute_worker();
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_to_worker(*io, [&ran] { ++ran; }));
    ASSERT_TRUE(h.post_compute([&] {
        ++ran;
        h.request_stop();
    }));
    EXPECT_EQ(*compute, 0U);
    h.run();
    EXPECT_EQ(ran, 2);
}

// roster I2. Nothing runs here, so nobody can leave.
TEST(hive, a_slot_is_not_given_again_before_its_worker_has_left) {
    hive h({.io_workers = 2});
    EXPECT_EQ(h.detach_io_worker(1), apiary::detach_result::detached);
    EXPECT_EQ(h.attach_io_worker(), 2U);
    h.request_stop();
    h.run();
}

TEST(hive, a_timer_is_not_refused_because_a_worker_was_detached) {
    hive h({.io_workers = 2});
    int ran = 0;
    EXPECT_EQ(h.detach_io_worker(1), apiary::detach_result::detached);
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(h.post_delayed([&ran] { ++ran; }, 0ns));
    h.request_stop();
    h.run();
    EXPECT_EQ(ran, 200);
}

TEST(hive, every_attach_makes_a_worker_of_its_own) {
    running_hive r({});
    const auto first = r.h.attach_io_worker(), second = r.h.attach_io_worker();
    EXPECT_NE(*first, *second);
    EXPECT_EQ(r.h.io_workers(), 3U);
    EXPECT_EQ(r.h.detach_io_worker(*first), detach_result::detached);
    EXPECT_EQ(r.h.detach_io_worker(*first), detach_result::unknown_worker) << "it is no worker any more";
    EXPECT_EQ(r.h.io_workers(), 2U);
}

TEST(hive, the_main_worker_an_unknown_one_and_the_last_compute_worker_are_not_detached) {
    running_hive r({.io_workers = 2, .compute_workers = 1});
    EXPECT_EQ(r.h.detach_io_worker(0), detach_result::main_worker);
    EXPECT_EQ(r.h.detach_io_worker(7), detach_result::unknown_worker);
    EXPECT_EQ(r.h.detach_io_worker(64), detach_result::unknown_worker) << "another life of the main worker's slot";
    EXPECT_EQ(r.h.detach_compute_worker(0), detach_result::last_worker);
    EXPECT_EQ(r.h.detach_compute_worker(1), detach_result::unknown_worker);
    r.stop();
    EXPECT_EQ(r.h.detach_io_worker(1), detach_result::stopped);
    EXPECT_FALSE(r.h.attach_io_worker());
    EXPECT_FALSE(r.h.attach_compute_worker());
}

// A slot is free when its worker has handed over, which takes a moment.
unsigned attach_when_one_has_left(hive& h) {
    for (;;) {
        try {
            return *h.attach_io_worker();
        } catch (const std::length_error&) {
            std::this_thread::yield();
        }
    }
}

TEST(hive, a_detached_worker_is_refused_posts_and_its_id_is_not_given_again) {
    running_hive r({});
    const unsigned gone = *r.h.attach_io_worker();
    ASSERT_EQ(r.h.detach_io_worker(gone), detach_result::detached);
    EXPECT_FALSE(r.h.post_to_worker(gone, [] { FAIL() << "refused tasks do not run"; }));
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i) {
        const unsigned id = attach_when_one_has_left(r.h);
        EXPECT_NE(id, gone);
        ASSERT_TRUE(r.h.post_to_worker(id, [&ran] { ++ran; }));
        ASSERT_EQ(r.h.detach_io_worker(id), detach_result::detached);
    }
    wait_for(ran, 100);
    EXPECT_FALSE(r.h.post_to_worker(gone, [] { FAIL() << "refused tasks do not run"; }));
}

TEST(hive, what_a_detached_worker_held_is_handed_over) {
    running_hive r({.io_workers = 2});
    std::atomic<int> ran{0}, begun{0};
    std::atomic<bool> go{false};
    const auto count = [&ran] { ++ran; };
    // It is kept busy with tasks in its inbox, its deque and its timers, and detached by its own task.
    ASSERT_TRUE(r.h.post_to_worker(1, [&] {
        for (int i = 0; i < 20; ++i) ASSERT_TRUE(r.h.post_micro(count));
        ++begun;
        while (!go) std::this_thread::yield();
        EXPECT_EQ(r.h.detach_io_worker(1), detach_result::detached);
        EXPECT_FALSE(r.h.post_to_worker(1, count));
        ASSERT_TRUE(r.h.post_micro(count)) << "its own deque still takes tasks";
    }));
    wait_for(begun, 1);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(r.h.post_to_worker(1, count));
    int timers = 0;
    for (int i = 0; i < 40; ++i, ++timers) ASSERT_TRUE(r.h.post_delayed(count, 2ms));
    go = true;
    wait_for(ran, 20 + 20 + timers + 1);
    const auto report = r.stop();
    EXPECT_EQ(report.discarded, 0U);
    EXPECT_EQ(report.refused, 1U);
}

TEST(hive, a_worker_detached_before_run_hands_over_when_it_starts) {
    hive h({.io_workers = 2});
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_to_worker(1, [&] {
        ++ran;
        h.request_stop();
    }));
    EXPECT_EQ(h.detach_io_worker(1), detach_result::detached);
    EXPECT_FALSE(h.post_to_worker(1, [] {}));
    h.run();
    EXPECT_EQ(ran, 1);
}

TEST(hive, compute_workers_come_and_go) {
    running_hive r({.io_workers = 1});
    EXPECT_FALSE(r.h.post_compute([] {})) << "there is none";
    std::vector<unsigned> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(*r.h.attach_compute_worker());
    std::atomic<int> ran{0};
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(r.h.post_compute([&ran] { ++ran; }));
        if (i == 50 || i == 100) {
            EXPECT_EQ(r.h.detach_compute_worker(ids[static_cast<std::size_t>(i / 100)]), detach_result::detached);
        }
    }
    wait_for(ran, 200);
    EXPECT_EQ(r.h.detach_compute_worker(ids[2]), detach_result::last_worker);
    EXPECT_EQ(r.h.compute_workers(), 1U);
}

TEST(hive, says_when_no_slot_is_left) {
    hive h({.io_workers = 56, .compute_workers = 56});
    EXPECT_THROW((void)h.attach_io_worker(), std::length_error);
    EXPECT_THROW((void)h.attach_compute_worker(), std::length_error);
}

TEST(hive, refuses_impossible_parameters) {
    EXPECT_THROW(hive({.parameters = {.local_budget = 0}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.global_batch = 0}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.global_batch = 65}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.global_probe_interval = 0}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.steal_rounds = 0}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.timer_spin_ns = -1}}), std::invalid_argument);
}

TEST(hive, refuses_impossible_numbers_of_workers) {
    EXPECT_THROW(hive({.io_workers = 0}), std::invalid_argument);
    EXPECT_THROW(hive({.io_workers = 57}), std::invalid_argument);
    EXPECT_THROW(hive({.io_workers = 1, .compute_workers = 57}), std::invalid_argument);
}

// Each worker writes its own.
TEST(hive, io_workers_beside_compute_workers_have_a_shorter_time_slice_while_they_run) {
    const std::int64_t usual = apiary::time_slice::of_this_thread();
    if (const apiary::time_slice some(200'000); apiary::time_slice::of_this_thread() != 200'000)
        GTEST_SKIP() << "none can be had here (Linux 6.12)";
    for (const unsigned compute_workers : {0U, 1U}) {
        hive h({.io_workers = 2, .compute_workers = compute_workers});
        std::array<std::int64_t, 2> io{};
        std::atomic<int> ran{0};
        for (const unsigned worker : {0U, 1U})
            ASSERT_TRUE(h.post_to_worker(worker, [&io, &ran, worker] {
                io[worker] = apiary::time_slice::of_this_thread();
                ++ran;
            }));
        std::vector<std::int64_t> compute;
        ASSERT_TRUE(h.post_micro([&] {
            // From an IO worker's thread.
            const auto fresh = h.attach_compute_worker();
            ASSERT_TRUE(fresh.has_value());
            if (compute_workers != 0) {
                ASSERT_EQ(h.detach_compute_worker(*fresh - 1), apiary::detach_result::detached);
            }
            ASSERT_TRUE(h.post_compute([&] {
                compute.push_back(apiary::time_slice::of_this_thread());
                ++ran;
            }));
        }));
        std::thread stopping([&] {
            while (ran < 3) std::this_thread::yield();
            h.request_stop();
        });
        h.run();
        stopping.join();
        for (const std::int64_t slice : io)
            EXPECT_EQ(slice, compute_workers == 0 ? usual : apiary::hive_parameters{}.io_slice_ns);
        EXPECT_EQ(compute, std::vector{usual});
        EXPECT_EQ(apiary::time_slice::of_this_thread(), usual);
    }
}

}  // namespace
