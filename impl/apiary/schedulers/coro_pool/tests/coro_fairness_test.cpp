// How long a coroutine that is spawned from outside waits beside coroutines that spawn their successors, counted in
// those that run before it. One worker on the test's own thread, and a clock that a coroutine moves. README.md has the
// bounds.
#include <apiary/coroutines/channel.hpp>
#include <apiary/schedulers/coro_pool/core.hpp>
#include <apiary/schedulers/coro_pool/when_all.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <apiary/sync/real_sync.hpp>
#include <apiary/timers/clock.hpp>

namespace coro_fairness_test {
namespace {

using apiary::real_sync;
using apiary::worker_parameters;

struct still_parts : apiary::default_parts<real_sync> {
    using clock = apiary::manual_clock<>;
};
using core_type = apiary::co_core<real_sync, still_parts>;
using task = core_type::task<>;

// As coro_pool has them.
constexpr worker_parameters standard{.looks_before_sleep = 0, .naps = 0};

// `crowd` coroutines that spawn their successors, each as long as `task_ns`; after `head_start` of them `posts` come
// into the crew's pool, as from another thread.
class contest {
public:
    contest(std::size_t crowd, std::int64_t task_ns, std::size_t head_start, std::size_t posts)
        : core_(2, standard), task_ns_(task_ns), head_start_(head_start), posts_(posts) {
        for (std::size_t n = 0; n != crowd; ++n) EXPECT_TRUE(core_.spawn(again()));
    }
    // How many successors ran before each of the posts.
    std::vector<std::size_t> waits() {
        core_.run_worker(0);
        return waited_;
    }

private:
    static constexpr std::size_t give_up = 10'000;

    task again() {
        if (over()) co_return;
        ++ran_;
        core_.clock().advance(task_ns_);
        if (ran_ == head_start_)
            for (std::size_t n = 0; n != posts_; ++n) spawn_from_outside();
        if (ran_ == give_up) core_.request_stop(apiary::co_stop::drain);
        EXPECT_TRUE(core_.spawn(again()));
    }
    task posted() {
        waited_.push_back(ran_ - head_start_);
        if (waited_.size() == posts_) core_.request_stop(apiary::co_stop::drain);
        co_return;
    }
    bool over() const { return waited_.size() == posts_ || ran_ >= give_up; }
    // This thread is no worker meanwhile.
    void spawn_from_outside() {
        real_sync::set_current<core_type::context>(nullptr);
        EXPECT_TRUE(core_.spawn(posted()));
        core_.enter_thread(0);
    }

    core_type core_;
    const std::int64_t task_ns_;
    const std::size_t head_start_, posts_;
    std::size_t ran_ = 0;
    std::vector<std::size_t> waited_;
};

TEST(coro_fairness, beside_short_coroutines_each_post_waits_for_an_interval) {
    constexpr std::size_t interval = standard.global_probe_interval + 1, posts = 8;
    const auto waited = contest(4, 1, 1000, posts).waits();
    ASSERT_EQ(waited.size(), posts);
    for (std::size_t k = 0; k != posts; ++k) EXPECT_LE(waited[k], (k + 1) * interval) << k;
    EXPECT_GT(waited.back(), interval);
}

TEST(coro_fairness, beside_long_coroutines_all_posts_wait_for_one_of_them) {
    const auto waited = contest(4, standard.probe_ns * 10, 1000, standard.pool_visits).waits();
    ASSERT_EQ(waited.size(), standard.pool_visits);
    EXPECT_LE(waited.back(), 1U);
}

// A worker does not know at once that they are long. After the two looks the old end has its turn, then the pool, in
// which some of the crowd are in front.
TEST(coro_fairness, beside_long_coroutines_that_have_just_begun_all_posts_wait_for_the_first_two_looks) {
    for (const std::size_t crowd : {1U, 2U, 4U}) {
        const auto waited = contest(crowd, standard.probe_ns * 10, 1, standard.pool_visits).waits();
        ASSERT_EQ(waited.size(), standard.pool_visits) << crowd;
        EXPECT_LE(waited.back(), 2 * standard.first_looks + 1 + crowd) << crowd;
    }
}

// One worker. A coroutine waits in the deque, branches wait in the worker's list, and the coroutines that make them go
// on.
class server {
public:
    explicit server(std::size_t room) : values_(room), core_(1, standard) {
        EXPECT_TRUE(core_.spawn(serves()));
        core_.run_worker(0);
    }
    // After so many branches.
    std::size_t spawned_first_ran = 0, forked_first_ran = 0;
    static constexpr std::size_t all = 10'000;

private:
    task waits() {
        spawned_first_ran = forked_;
        co_return;
    }
    task handles(std::size_t n) {
        if (n == 0) forked_first_ran = forked_;
        co_return;
    }
    task makes() {
        for (std::size_t n = 0; n != all; ++n) (void)co_await values_.send(n);
        values_.close();
    }
    task serves() {
        EXPECT_TRUE(core_.spawn(waits()));
        EXPECT_TRUE(core_.spawn(makes()));
        co_await apiary::with_scope([this](apiary::co_scope<>& handlers) -> task {
            while (auto r = co_await values_.receive()) {
                handlers.fork(handles(*r.value));
                ++forked_;
            }
        });
        core_.request_stop(apiary::co_stop::drain);
    }

    apiary::channel<std::size_t> values_;
    core_type core_;
    std::size_t forked_ = 0;
};

TEST(coro_fairness, what_waits_in_the_deque_and_the_oldest_branch_have_turns_beside_new_branches) {
    for (const std::size_t room : {0U, 1U, 16U}) {
        // Each of the two has every other turn of the old end. A job forks no more than there is room for, and two that
        // wait.
        const std::size_t turn = (standard.global_probe_interval + 1) * (room + 2);
        const server s(room);
        EXPECT_LE(s.spawned_first_ran, 2 * turn) << room;
        EXPECT_LE(s.forked_first_ran, 2 * turn) << room;
    }
}

}  // namespace
}  // namespace coro_fairness_test
