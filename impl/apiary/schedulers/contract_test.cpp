// The contract, held against the schedulers in all.hpp. Laws of running work, for all: each piece runs exactly once, an
// exception ends its own piece alone, a stop drains, the books are right, and a stop may follow a start at once. Laws
// of posting, for those that take posts: a post runs once or is refused, and a stop accounts for everything. Features
// that one scheduler has beyond the contract are tested beside that scheduler.
#include <apiary/schedulers/all.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <apiary/contract/laws.hpp>

namespace contract_test {
namespace {

using apiary::stop_mode;

// Runs a scheduler on a thread of its own until stop().
template <class Scheduler>
class running {
public:
    explicit running(unsigned workers) : s(apiary::make_scheduler<Scheduler>(workers)), thread_([this] { s->run(); }) {}
    ~running() {
        if (thread_.joinable()) stop();
    }
    apiary::stop_report stop(stop_mode how = stop_mode::drain) {
        s->request_stop(how);
        thread_.join();
        return s->report();
    }
    const std::unique_ptr<Scheduler> s;

private:
    std::thread thread_;
};

void wait_for(const std::atomic<int>& n, int value) {
    while (n.load() < value) std::this_thread::yield();
}

template <class Tuple>
struct to_types;
template <class... S>
struct to_types<std::tuple<S...>> {
    using type = testing::Types<S...>;
};

constexpr unsigned worker_counts[] = {1, 2, 4};

template <class Scheduler>
class running_work : public testing::Test {
protected:
    using at_work = apiary::at_work<Scheduler>;
};
using schedulers = to_types<apiary::all_schedulers>::type;
TYPED_TEST_SUITE(running_work, schedulers);

TYPED_TEST(running_work, runs_each_piece_exactly_once) {
    for (const unsigned workers : worker_counts) {
        typename TestFixture::at_work s(workers);
        constexpr std::size_t each = 1000;
        apiary::claim_ledger<> ledger(2 * each);
        for (std::size_t round = 0; round != 2; ++round) {
            s.hand_in(each, [&ledger, first = round * each](std::size_t i) { ledger.took(first + i); });
            s.wait();
            EXPECT_EQ(ledger.first_missing(), (round + 1) * each) << "wait returned before all had run";
        }
        s.end();
        ledger.settle();
    }
}

TYPED_TEST(running_work, a_stop_drains_what_was_handed_in) {
    for (const unsigned workers : worker_counts) {
        constexpr std::size_t all = 300;
        apiary::claim_ledger<> ledger(all);
        auto token = std::make_shared<int>(0);
        {
            typename TestFixture::at_work s(workers);
            s.hand_in(all, [&ledger, token](std::size_t i) { ledger.took(i); });
            s.end();
            ledger.settle();
        }
        EXPECT_EQ(token.use_count(), 1) << "what the work held is destroyed with it";
    }
}

TYPED_TEST(running_work, an_exception_ends_its_own_piece_alone_and_the_books_tell_it) {
    typename TestFixture::at_work s(2);
    std::atomic<unsigned> ran = 0;
    for (unsigned i = 0; i != 20; ++i) {
        s.hand_in(1, [&ran, i](std::size_t) {
            ++ran;
            if (i % 2 == 0) throw std::runtime_error("work");
        });
        s.wait();
    }
    s.end();
    EXPECT_EQ(ran, 20U);
    EXPECT_EQ(s.books().run, 20U);
    EXPECT_EQ(s.books().exceptions, 10U);
}

TYPED_TEST(running_work, has_more_workers_than_processors) {
    typename TestFixture::at_work s(4 * std::thread::hardware_concurrency());
    apiary::claim_ledger<> ledger(2000);
    s.hand_in(2000, [&ledger](std::size_t i) { ledger.took(i); });
    s.end();
    ledger.settle();
}

TYPED_TEST(running_work, starts_and_stops_again_and_again) {
    for (unsigned round = 0; round != 40; ++round) {
        typename TestFixture::at_work s(1 + round % 3);
        std::atomic<unsigned> ran = 0;
        const unsigned pieces = round % 4;
        if (pieces != 0) s.hand_in(pieces, [&ran](std::size_t) { ++ran; });
        if (round % 2 == 0) s.wait();
        s.end();
        EXPECT_EQ(ran, pieces);
    }
}

template <class Scheduler>
class contract : public testing::Test {};
using that_take_posts = to_types<apiary::posting_schedulers>::type;
TYPED_TEST_SUITE(contract, that_take_posts);

TYPED_TEST(contract, every_post_of_two_threads_runs_once) {
    for (const unsigned workers : worker_counts) {
        running<TypeParam> r(workers);
        constexpr std::size_t each = 3000;
        apiary::claim_ledger<> ledger(2 * each);
        std::vector<std::thread> producers;
        for (std::size_t p = 0; p < 2; ++p)
            producers.emplace_back([&, p] {
                for (std::size_t i = 0; i < each; ++i)
                    ASSERT_TRUE(r.s->post([&ledger, id = p * each + i] { ledger.took(id); }));
            });
        for (auto& t : producers) t.join();
        const auto report = r.stop();
        ledger.settle();
        EXPECT_EQ(report.run, 2 * each);
        EXPECT_EQ(report.discarded + report.refused, 0U);
    }
}

TYPED_TEST(contract, tasks_post_tasks) {
    for (const unsigned workers : worker_counts) {
        running<TypeParam> r(workers);
        constexpr int children = 6000;  // beyond the capacity of a deque
        std::atomic<int> ran{0};
        ASSERT_TRUE(r.s->post([&] {
            for (int i = 0; i < children; ++i) ASSERT_TRUE(r.s->post([&ran] { ++ran; }));
        }));
        wait_for(ran, children);
        EXPECT_EQ(r.stop().run, 1U + children);
    }
}

TYPED_TEST(contract, one_worker_keeps_the_order_of_outside_posts) {
    running<TypeParam> r(1);
    std::vector<int> order;
    std::atomic<int> ran{0};
    for (int i = 0; i < 500; ++i)
        ASSERT_TRUE(r.s->post([&, i] {
            order.push_back(i);
            ++ran;
        }));
    wait_for(ran, 500);
    for (int i = 0; i < 500; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

TYPED_TEST(contract, a_batch_is_accepted_whole_or_refused_whole) {
    running<TypeParam> r(2);
    std::atomic<int> ran{0};
    std::vector<std::function<void()>> batch(100, [&ran] { ++ran; });
    EXPECT_EQ(r.s->post_batch(std::span(batch)), 100U);
    wait_for(ran, 100);
    r.stop();
    batch.assign(3, [] { FAIL() << "refused tasks do not run"; });
    EXPECT_EQ(r.s->post_batch(std::span(batch)), 0U);
    EXPECT_EQ(r.s->report().refused, 3U);
}

TYPED_TEST(contract, takes_a_callable_that_can_only_be_moved) {
    running<TypeParam> r(1);
    std::atomic<int> seen{0};
    ASSERT_TRUE(r.s->post([p = std::make_unique<int>(7), &seen] { seen = *p; }));
    r.stop();
    EXPECT_EQ(seen, 7);
}

TYPED_TEST(contract, a_drain_runs_what_was_accepted_and_refuses_the_rest) {
    for (const unsigned workers : worker_counts) {
        running<TypeParam> r(workers);
        std::atomic<int> ran{0};
        for (int i = 0; i < 1000; ++i) ASSERT_TRUE(r.s->post([&ran] { ++ran; }));
        const auto report = r.stop(stop_mode::drain);
        EXPECT_EQ(ran, 1000);
        EXPECT_EQ(report.run, 1000U);
        EXPECT_FALSE(r.s->post([] { FAIL() << "refused tasks do not run"; }));
        EXPECT_EQ(r.s->report().refused, 1U);
    }
}

TYPED_TEST(contract, a_discard_accounts_for_every_task) {
    for (const unsigned workers : worker_counts) {
        running<TypeParam> r(workers);
        auto token = std::make_shared<int>(0);
        std::atomic<std::uint64_t> ran{0};
        std::uint64_t accepted = 0;
        for (int i = 0; i < 1000; ++i) accepted += r.s->post([&ran, token] { ++ran; });
        const auto report = r.stop(stop_mode::discard);
        EXPECT_EQ(report.run, ran);
        EXPECT_EQ(report.run + report.discarded, accepted);
        EXPECT_EQ(token.use_count(), 1) << "dropped callables are destroyed";
    }
}

TYPED_TEST(contract, posts_from_tasks_are_refused_after_a_stop) {
    auto s = apiary::make_scheduler<TypeParam>(1);
    bool refused = false;
    ASSERT_TRUE(s->post([&] {
        s->request_stop();
        refused = !s->post([] {});
    }));
    s->run();
    EXPECT_TRUE(refused);
}

TYPED_TEST(contract, a_stop_before_run_still_drains) {
    auto s = apiary::make_scheduler<TypeParam>(2);
    int ran = 0;
    ASSERT_TRUE(s->post([&ran] { ++ran; }));
    s->request_stop();
    s->run();
    EXPECT_EQ(ran, 1);
    EXPECT_THROW(s->run(), std::logic_error) << "it runs once";
}

TYPED_TEST(contract, what_never_ran_is_destroyed) {
    auto token = std::make_shared<int>(0);
    {
        auto s = apiary::make_scheduler<TypeParam>(2);
        ASSERT_TRUE(s->post([token] {}));
    }
    EXPECT_EQ(token.use_count(), 1);
}

TYPED_TEST(contract, an_exception_ends_its_task_only) {
    running<TypeParam> r(2);
    std::atomic<int> ran{0};
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(r.s->post([&ran] {
            ++ran;
            throw std::runtime_error("task");
        }));
    const auto report = r.stop();
    EXPECT_EQ(ran, 10);
    EXPECT_EQ(report.exceptions, 10U);
    EXPECT_EQ(report.run, 10U);
}

TYPED_TEST(contract, refuses_to_exist_without_workers) {
    EXPECT_THROW((void)apiary::make_scheduler<TypeParam>(0), std::invalid_argument);
}

TEST(global_queue, idle_means_that_all_have_ended_and_not_that_the_queue_is_empty) {
    running<apiary::global_queue> r(2);
    std::atomic<int> ended{0};
    ASSERT_TRUE(r.s->post([&] {
        ASSERT_TRUE(r.s->post([&] {
            std::this_thread::yield();
            ++ended;
        }));
        ++ended;
    }));
    r.s->wait_idle();
    EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace contract_test
