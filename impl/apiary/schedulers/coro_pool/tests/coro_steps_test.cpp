// Two workers of a coroutine pool on the test's own thread, turn by turn: what a worker asks of the other one, offers,
// and takes; and how long one looks on.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <apiary/sync/real_sync.hpp>

namespace coro_steps_test {
namespace {

using apiary::co_priority;
using apiary::real_sync;

using core_type = apiary::co_core<real_sync>;
using context = core_type::context;
using task = core_type::task<>;
using scope = apiary::co_scope<>;

class two_workers {
public:
    // As coro_pool has them, but that nobody looks on.
    explicit two_workers(bool stealing = true)
        : core_(2, {.steal_rounds = stealing ? 2U : 0U, .looks_before_sleep = 0}, 0, {},
                {.stealing = stealing, .priorities = true}) {}

    // Worker 0 runs it, and the work that it leaves.
    void run(task t) {
        EXPECT_TRUE(core_.spawn(std::move(t)));
        while (turn_of(0)) {
        }
        EXPECT_EQ(core_.report().living, 0U);
    }
    // False: it found nothing. Also inside a coroutine that the other one runs.
    bool turn_of(unsigned i) {
        bool worked = false;
        as_worker(i, [&](auto& w) { worked = w.turn_once(); });
        return worked;
    }
    // Its wake has come already.
    void sleep_of(unsigned i) {
        as_worker(i, [](auto& w) {
            w.driver().wake();
            w.sleep_once();
        });
    }
    void spawn(task t, co_priority p = co_priority::normal) { EXPECT_TRUE(core_.spawn(std::move(t), {.priority = p})); }
    context& ready(unsigned i) { return core_.worker(i).ready(); }

private:
    template <class F>
    void as_worker(unsigned i, F f) {
        auto* const before = real_sync::current<context>();
        core_.enter_thread(i);
        f(core_.worker(i));
        real_sync::set_current(before);
    }

    core_type core_;
};

task notes(std::string& order, char c) {
    order += c;
    co_return;
}
task notes_whether_it_offers(bool& offers) {
    offers = context::here()->offers();
    co_return;
}
task is_asked_behind_its_forks(two_workers& of, std::string& order, bool& offers) {
    scope branches(co_await apiary::this_frame());
    branches.fork(notes(order, 'a'));
    EXPECT_TRUE(of.turn_of(1)) << "all begin hungry: the first was on offer";
    EXPECT_EQ(order, "a");
    branches.fork(notes(order, 'b'));
    branches.fork(notes_whether_it_offers(offers));
    EXPECT_FALSE(of.ready(0).asked());
    EXPECT_FALSE(of.turn_of(1)) << "they are private";
    EXPECT_TRUE(of.ready(0).asked()) << "by the worker that has found nothing";
    co_await apiary::yield_turn();  // its worker goes on with the newest
    co_await branches.join();
}

TEST(coro_steps, a_branch_that_begins_while_another_worker_asks_leaves_it_the_oldest) {
    two_workers of;
    std::string order;
    bool offers = false;
    of.run(is_asked_behind_its_forks(of, order, offers));
    EXPECT_TRUE(offers);
    EXPECT_EQ(order, "ab");
}

task forks_one(std::string& order) {
    scope branches(co_await apiary::this_frame());
    branches.fork(notes(order, 'a'));
    co_await branches.join();
}

TEST(coro_steps, a_worker_that_falls_asleep_asks_the_others_and_not_itself) {
    two_workers of;
    std::string order;
    of.run(forks_one(order));
    EXPECT_FALSE(of.ready(0).asked()) << "answered by the fork";
    of.sleep_of(0);
    EXPECT_FALSE(of.ready(0).asked());
    of.sleep_of(1);
    EXPECT_TRUE(of.ready(0).asked());
}

task has_branches_and_others(two_workers& of, std::string& order) {
    scope branches(co_await apiary::this_frame());
    EXPECT_EQ(of.ready(0).in_deque(), 0U);
    branches.fork(notes(order, 'a'));
    EXPECT_EQ(of.ready(0).in_deque(), 1U) << "on offer";
    branches.fork(notes(order, 'b'));
    EXPECT_EQ(of.ready(0).in_deque(), 1U) << "and a private one";
    of.spawn(notes(order, 'c'));
    of.spawn(notes(order, 'd'));  // which takes the slot
    EXPECT_EQ(of.ready(0).in_deque(), 2U);
    co_await branches.join();
}

TEST(coro_steps, branches_count_as_one_beside_what_lies_in_the_deque) {
    two_workers of;
    std::string order;
    of.run(has_branches_and_others(of, order));
    EXPECT_EQ(order.size(), 4U);
}

task leaves_a_branch_on_offer(two_workers& of, std::string& order) {
    scope branches(co_await apiary::this_frame());
    branches.fork(notes(order, 'a'));
    of.spawn(notes(order, 'h'), co_priority::high);
    EXPECT_TRUE(of.turn_of(1)) << "it takes the high one";
    EXPECT_TRUE(of.ready(0).hurried());
    of.spawn(notes(order, 'b'), co_priority::background);
    co_await branches.join();  // hurried, its worker looks at the lanes first
}

TEST(coro_steps, a_hurry_is_met_once_and_background_waits_for_what_its_worker_has_on_offer) {
    two_workers of;
    std::string order;
    of.run(leaves_a_branch_on_offer(of, order));
    EXPECT_EQ(order, "hab");
    EXPECT_FALSE(of.ready(0).hurried());
}

task offers_one_beside_background(two_workers& of, std::string& order, const std::string& behind_a_turn) {
    scope branches(co_await apiary::this_frame());
    branches.fork(notes(order, 'a'));
    of.spawn(notes(order, 'b'), co_priority::background);
    EXPECT_TRUE(of.turn_of(1));
    EXPECT_EQ(order, behind_a_turn);
    co_await branches.join();
}

TEST(coro_steps, background_waits_for_what_another_worker_offers) {
    two_workers of;
    std::string order;
    of.run(offers_one_beside_background(of, order, "a"));
    EXPECT_EQ(order, "ab");
}

TEST(coro_steps, without_stealing_background_does_not_wait_for_what_another_worker_offers) {
    two_workers of(false);
    std::string order;
    of.run(offers_one_beside_background(of, order, "b"));
    EXPECT_EQ(order, "ba");
}

// Each look at it takes a while.
class ticking_clock {
public:
    std::int64_t now_ns() const {
        if (++looks > 1000) throw std::logic_error("it looks on for ever");
        return looks * 100;
    }
    mutable std::int64_t looks = 0;
};
struct ticking_parts : apiary::default_parts<real_sync> {
    using clock = ticking_clock;
};
using ticking_core = apiary::co_core<real_sync, ticking_parts>;

ticking_core::task<> nothing() { co_return; }

TEST(coro_steps, a_worker_looks_on_for_so_long_and_not_again_until_it_has_run_something) {
    ticking_core core(1, {.looks_before_sleep = 0}, 1000);
    for (int i = 0; i != 2; ++i) {
        EXPECT_TRUE(core.spawn(nothing()));
        core.enter_thread(0);
        EXPECT_TRUE(core.worker(0).turn_once());
        const auto before = core.clock().looks;
        EXPECT_FALSE(core.worker(0).turn_once());
        const auto behind = core.clock().looks;
        EXPECT_GE(behind - before, 1000 / 100);
        EXPECT_FALSE(core.worker(0).turn_once());
        EXPECT_EQ(core.clock().looks, behind);
        real_sync::set_current<context>(nullptr);
    }
}

}  // namespace
}  // namespace coro_steps_test
