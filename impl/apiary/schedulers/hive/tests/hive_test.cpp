// What the hive offers beyond the contract (contract_test): targeted posts, batches, compute workers; and what it
// refuses to be. Real threads. Beside it: timers, stops, and workers that come and go.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/testing/running_hive.hpp>

namespace hive_test {
namespace {

using namespace std::chrono_literals;
using apiary::hive;
using apiary::running_hive;
using apiary::wait_for;
using hive_of = testing::TestWithParam<unsigned>;  // workers

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

TEST(hive, a_batch_from_outside_runs_in_its_order_on_a_single_worker) {
    hive h({});
    std::vector<int> order;
    std::vector<std::function<void()>> batch;
    for (int i = 0; i < 4; ++i)
        batch.emplace_back([&, i] {
            order.push_back(i);
            if (i == 3) h.request_stop();
        });
    EXPECT_EQ(h.post_micro_batch(std::span(batch)), 4U);
    h.run();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
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

struct alignas(256) aligned {
    std::atomic<int>* ran;
    std::unique_ptr<int> can_only_be_moved = {};
    std::array<std::byte, 300> larger_than_a_task = {};
    void operator()() {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 256, 0U);
        ++*ran;
    }
};
std::atomic<int> plain_calls{0};
void plain() { ++plain_calls; }

TEST(hive, takes_callables_of_every_kind) {
    hive h({.compute_workers = 1});
    std::atomic<int> ran{0};
    ASSERT_TRUE(h.post_micro(aligned{&ran}));
    ASSERT_TRUE(h.post_to_worker(0, aligned{&ran}));
    ASSERT_TRUE(h.post_compute(aligned{&ran}));
    ASSERT_TRUE(h.post_delayed(aligned{&ran}, 0ns));
    EXPECT_TRUE(h.post_delayed(aligned{&ran}, 0ns).cancel());
    std::array<aligned, 3> batch{aligned{&ran}, aligned{&ran}, aligned{&ran}};
    EXPECT_EQ(h.post_micro_batch(std::span(batch)), 3U);
    EXPECT_EQ(h.post_micro_batch(std::span(batch).first(0)), 0U) << "nothing is no batch";
    const std::vector<std::function<void()>> copied(2, [&ran] { ++ran; });
    EXPECT_EQ(h.post_compute_batch(std::span(copied)), 2U);
    EXPECT_TRUE(copied[1]) << "what is const is copied";
    plain_calls = 0;
    ASSERT_TRUE(h.post_micro(plain));
    ASSERT_TRUE(h.post_delayed(&plain, 0ns));
    aligned stays{&ran};
    ASSERT_TRUE(h.post_micro(std::ref(stays)));
    ASSERT_TRUE(h.post_micro([n = 0, &ran]() mutable { ran += ++n; }));
    h.request_stop();
    h.run();
    EXPECT_EQ(ran, 4 + 3 + 2 + 2);
    EXPECT_EQ(plain_calls, 2);
}

TEST(hive, runs_inside_a_task_of_another) {
    hive outer({}), inner({});
    int ran = 0;
    ASSERT_TRUE(outer.post_micro([&] {
        ASSERT_TRUE(inner.post_micro([&] {
            EXPECT_EQ(inner.this_worker(), 0U);
            EXPECT_EQ(outer.this_worker(), std::nullopt);
            ASSERT_TRUE(outer.post_micro([&ran] { ++ran; }));
            inner.request_stop();
        }));
        inner.run();
        EXPECT_EQ(outer.this_worker(), 0U);
        EXPECT_EQ(inner.this_worker(), std::nullopt);
        ASSERT_TRUE(outer.post_micro([&] { outer.request_stop(); }));
    }));
    outer.run();
    EXPECT_EQ(ran, 1);
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

TEST(hive, refuses_impossible_parameters) {
    EXPECT_THROW(hive({.parameters = {.local_budget = 0}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.global_batch = 0}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.global_batch = 65}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.global_probe_interval = 0}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.steal_rounds = 0}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.timer_spin_ns = -1}}), std::invalid_argument);
    EXPECT_THROW(hive({.parameters = {.yield_pays_ns = 0}}), std::invalid_argument);
}

// Each task waits until all have begun. The IO workers become more than one idle word names while others work.
TEST(hive, of_many_workers_has_them_all_at_work) {
    constexpr unsigned io = 70, compute = 100;
    running_hive r({.io_workers = 50, .compute_workers = compute});
    std::atomic<unsigned> begun_io = 0, begun_compute = 0;
    std::atomic<int> ended = 0;
    const auto post_all = [&](unsigned some_io) {
        for (unsigned i = 0; i != some_io; ++i)
            ASSERT_TRUE(r.h.post_micro([&] {
                ++begun_io;
                while (begun_io < io) std::this_thread::yield();
                ++ended;
            }));
    };
    post_all(50);
    for (unsigned i = 0; i != compute; ++i)
        ASSERT_TRUE(r.h.post_compute([&] {
            ++begun_compute;
            while (begun_compute < compute) std::this_thread::yield();
            ++ended;
        }));
    for (unsigned i = 50; i != io; ++i) (void)r.h.attach_io_worker();
    post_all(io - 50);
    wait_for(ended, static_cast<int>(io + compute));
    EXPECT_EQ(r.stop().run, io + compute);
}

TEST(hive, refuses_impossible_numbers_of_workers) {
    EXPECT_THROW(hive({.io_workers = 0}), std::invalid_argument);
    EXPECT_THROW(hive({.io_workers = 281}), std::invalid_argument);
    EXPECT_THROW(hive({.io_workers = 1, .compute_workers = 281}), std::invalid_argument);
}

// Each worker writes its own.
TEST(hive, io_workers_beside_compute_workers_have_a_shorter_time_slice_while_they_run) {
    const std::int64_t usual = apiary::time_slice::of_this_thread();
    if (const apiary::time_slice some(200'000); apiary::time_slice::of_this_thread() != 200'000)
        GTEST_SKIP() << "none can be had here (Linux 6.12)";
    // Linux makes 0.1 ms of a shorter one.
    constexpr std::int64_t shorter = apiary::hive_config::usual_io_slice_ns;
    for (const auto& [compute_workers, asked] : {std::pair{0U, shorter}, {1U, shorter}, {1U, std::int64_t{1}}}) {
        hive h({.io_workers = 2, .compute_workers = compute_workers, .io_slice_ns = asked});
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
            if (h.compute_workers() != 1) {
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
            EXPECT_EQ(slice, compute_workers == 0 ? usual : shorter);
        EXPECT_EQ(compute, std::vector{usual});
        EXPECT_EQ(apiary::time_slice::of_this_thread(), usual);
    }
}

}  // namespace
}  // namespace hive_test
