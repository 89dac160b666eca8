// How long a task waits, counted in tasks that run before it: every source of a worker against every other one that
// never runs dry. One worker on the test's own thread, a clock that a task moves by one nanosecond. README.md has the
// bounds, which are the same on a deque and on a steal-half queue.
#include <apiary/schedulers/hive/hive.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <apiary/testing/stepped_hive.hpp>

namespace hive_fairness_test {
namespace {

using apiary::stop_mode;
using storage = apiary::still_script::storage;
using task_type = apiary::still_script::task_type;
using apiary::still_half_stealing_parts;

template <class Parts>
class hive_fairness : public testing::Test {};
using both = testing::Types<apiary::still_parts, still_half_stealing_parts>;
TYPED_TEST_SUITE(hive_fairness, both);

enum class way { pool, inbox, private_queue, timer, deque };
constexpr way all_ways[] = {way::pool, way::inbox, way::private_queue, way::timer, way::deque};
const char* name(way w) {
    constexpr const char* names[] = {"pool", "inbox", "private queue", "timers", "own deque or list"};
    return names[static_cast<std::size_t>(w)];
}

constexpr apiary::hive_parameters standard;
constexpr std::size_t one_turn = 2 * standard.local_budget + standard.global_probe_interval + 2;
// Each visit to the pool brings no more own tasks than end before the next probe.
constexpr std::size_t pool_turn = standard.pool_visits * (standard.global_probe_interval + 2);
// More than a turn runs, and a steal-half queue has room for them: what overflows would stand in the pool.
constexpr std::size_t crowded = 200;
static_assert(crowded > one_turn && crowded < apiary::hive_half_limits<apiary::real_sync>::capacity);
constexpr std::size_t one_long_turn = 2 * standard.local_budget + pool_turn;

// `crowd` tasks that post themselves again for ever, and what is posted among them.
template <class Parts>
class contest {
public:
    static constexpr std::size_t give_up = 200'000;

    contest(unsigned workers, way starver, std::size_t crowd, std::int64_t task_ns = 1, std::size_t head_start = 1000)
        : h(workers, 0, standard), starver_(starver), task_ns_(task_ns), head_start_(head_start) {
        h.clock().set(1);
        EXPECT_TRUE(h.post_to(0, storage::make([this, crowd] {
                                  for (std::size_t n = 0; n < crowd; ++n) post(starver_, again());
                              })));
    }

    // The tasks that ran between the post of the first of `n` and the run of each, in the order in which they ran.
    std::vector<std::size_t> waits(way victim, std::size_t n = 1) {
        victim_ = victim;
        victims_ = n;
        h.io()[0]->run();
        return waited_;
    }

    apiary::still_script::core_on<Parts> h;

private:
    task_type* again() {
        return storage::make([this] {
            step();
            if (ran_ == head_start_)
                for (std::size_t n = 0; n < victims_; ++n) post(victim_, marked());
            if (ran_ == give_up) h.request_stop(stop_mode::discard);
            post(starver_, again());
        });
    }
    task_type* marked() {
        return storage::make([this] {
            waited_.push_back(ran_ - head_start_);
            step();
            if (waited_.size() == victims_) h.request_stop(stop_mode::discard);
        });
    }
    void step() {
        ++ran_;
        h.clock().advance(task_ns_);
    }
    void post(way w, task_type* t) {
        auto& worker = *h.io()[0];
        if (w == way::timer) t->deadline_ns = h.clock().now_ns();
        const bool accepted = w == way::pool            ? h.post(t)
                              : w == way::inbox         ? h.post_to(0, t)
                              : w == way::private_queue ? worker.sources().post(t)
                              : w == way::timer         ? worker.sources().post_delayed(t)
                                                        : worker.post_local(t);
        if (!accepted) t->drop();
    }

    way starver_, victim_ = way::pool;
    const std::int64_t task_ns_;
    const std::size_t head_start_;
    std::size_t victims_ = 0, ran_ = 0;
    std::vector<std::size_t> waited_;
};

// One task of `victim` among `crowd` of each other source; alone in its source, so the next of it. `most`: of the tasks
// that run before it.
template <class Parts>
void expect_prompt(way victim, std::size_t crowd, std::size_t most) {
    for (const unsigned workers : {1U, 2U})
        for (const way starver : all_ways) {
            const auto in_private_queue = [](way w) { return w == way::inbox || w == way::private_queue; };
            if (starver == victim || (in_private_queue(starver) && in_private_queue(victim))) continue;
            const std::string where = std::string(name(victim)) + " beside " + name(starver) + ", " +
                                      std::to_string(crowd) + " tasks, " + std::to_string(workers) + " workers";
            const auto waited = contest<Parts>(workers, starver, crowd).waits(victim);
            ASSERT_EQ(waited.size(), 1U) << where << ": it never ran";
            EXPECT_LE(waited[0], most) << where;
        }
}

TYPED_TEST(hive_fairness, a_task_in_the_pool_waits_for_one_turn_at_most) {
    expect_prompt<TypeParam>(way::pool, 1, standard.global_probe_interval + 1);
    expect_prompt<TypeParam>(way::pool, crowded, one_turn);
}
// The older half of a full ring goes to the pool, and a post that comes later waits for it.
TEST(hive_fairness_of_halves, what_has_overflowed_stands_in_the_pool_before_later_posts) {
    constexpr std::size_t ring = apiary::hive_half_limits<apiary::real_sync>::capacity;
    const auto waited = contest<still_half_stealing_parts>(2, way::deque, ring + 2).waits(way::pool);
    ASSERT_EQ(waited.size(), 1U);
    EXPECT_GT(waited[0], standard.global_probe_interval);
    EXPECT_LE(waited[0], (ring / 2 + 1) * (standard.global_probe_interval + 1));
}
// An interval of own tasks is cut short by the time that they take: a post from outside waits for that, not for 47 of
// them.
TYPED_TEST(hive_fairness, beside_long_own_tasks_the_pool_waits_for_one_of_them_and_many_pass_at_once) {
    constexpr std::size_t tasks = standard.pool_visits;
    struct contest_of {
        std::int64_t task_ns;
        std::size_t behind;
    };
    for (const contest_of& c : {contest_of{standard.probe_ns * 10, 1}, contest_of{standard.probe_ns / 10, 11}}) {
        const auto waited = contest<TypeParam>(2, way::deque, 2, c.task_ns).waits(way::pool, tasks);
        ASSERT_EQ(waited.size(), tasks);
        EXPECT_LE(waited[0], c.behind) << c.task_ns;
        EXPECT_LE(waited.back(), c.behind + tasks) << c.task_ns;
    }
}
// Also when they have just begun: a worker that had no own task looks at the clock after the first few.
TYPED_TEST(hive_fairness, long_own_tasks_that_have_just_begun_are_known_behind_two_looks_at_the_clock) {
    constexpr std::size_t tasks = standard.pool_visits, crowd = 4;
    const auto waited = contest<TypeParam>(2, way::deque, crowd, standard.probe_ns * 10, 1).waits(way::pool, tasks);
    ASSERT_EQ(waited.size(), tasks);
    EXPECT_LE(waited[0], 2 * standard.first_looks);
    EXPECT_LE(waited.back(), 2 * standard.first_looks + tasks);
}
// What comes in one batch with the first of them is run before the first look.
TYPED_TEST(hive_fairness, long_own_tasks_behind_a_batch_of_the_pool_are_known_two_looks_behind_that) {
    apiary::still_script::core_on<TypeParam> h(1, 0, standard);
    auto& worker = *h.io()[0];
    std::size_t ran = 0, before_the_pool = 0;
    std::function<void()> long_task = [&] {
        ++ran;
        h.clock().advance(standard.probe_ns * 10);
        task_type* next = storage::make(long_task);
        if (!worker.post_local(next)) next->drop();
    };
    for (int i = 0; i != 2; ++i) ASSERT_TRUE(h.post(storage::make([] {})));
    ASSERT_TRUE(h.post(storage::make([&] {
        task_type* first = storage::make(long_task);
        ASSERT_TRUE(worker.post_local(first));
        ASSERT_TRUE(h.post(storage::make([&] {
            before_the_pool = ran;
            h.request_stop(stop_mode::discard);
        })));
    })));
    worker.run();
    EXPECT_EQ(before_the_pool, 2 * standard.first_looks);
}
// And each of them has its turn, as in a queue.
TYPED_TEST(hive_fairness, long_own_tasks_take_turns) {
    const auto waited = contest<TypeParam>(2, way::deque, 5, standard.probe_ns * 10).waits(way::deque);
    ASSERT_EQ(waited.size(), 1U);
    EXPECT_LE(waited[0], 6U);
}
TYPED_TEST(hive_fairness, beside_own_work_the_pool_is_taken_one_at_a_time_and_the_rest_left_to_others) {
    constexpr std::size_t tasks = 20, period = standard.global_probe_interval + 1;
    for (const unsigned workers : {1U, 2U}) {
        const auto waited = contest<TypeParam>(workers, way::deque, 2).waits(way::pool, tasks);
        ASSERT_EQ(waited.size(), tasks);
        for (std::size_t k = 0; k < tasks; ++k) {
            EXPECT_LE(waited[k], (k + 1) * (period + 1)) << k;
            EXPECT_GE(waited[k], k * period) << k;
        }
    }
}
TYPED_TEST(hive_fairness, a_targeted_post_waits_for_one_turn_at_most_and_for_one_task_of_its_worker) {
    expect_prompt<TypeParam>(way::inbox, 1, 1);
    expect_prompt<TypeParam>(way::inbox, crowded, one_turn);
}
TYPED_TEST(hive_fairness, a_task_in_the_private_queue_waits_for_one_turn_at_most) {
    expect_prompt<TypeParam>(way::private_queue, 1, standard.global_probe_interval + 1);
    expect_prompt<TypeParam>(way::private_queue, crowded, one_long_turn);
}
// Whatever stands in the pool: not more than its visits' batches.
TYPED_TEST(hive_fairness, a_flood_in_the_pool_lets_the_private_queue_through) {
    for (const unsigned workers : {1U, 2U}) {
        const auto waited = contest<TypeParam>(workers, way::pool, 10'000).waits(way::private_queue);
        ASSERT_EQ(waited.size(), 1U);
        EXPECT_LE(waited[0], standard.pool_visits * standard.global_batch + 1);
    }
}
TYPED_TEST(hive_fairness, a_timer_that_is_due_waits_for_one_task_of_each_source) {
    expect_prompt<TypeParam>(way::timer, 1, 3);
    expect_prompt<TypeParam>(way::timer, crowded, 3);
}
TYPED_TEST(hive_fairness, the_own_deque_and_list_wait_for_one_turn_at_most) {
    expect_prompt<TypeParam>(way::deque, 1, 3);
    expect_prompt<TypeParam>(way::deque, crowded, one_turn);
}

// LIFO: a task that posts its successor would bury them for ever.
TYPED_TEST(hive_fairness, what_lies_under_a_successor_advances_by_one_at_every_probe) {
    for (const std::size_t buried : {1U, 15U, 60U}) {
        const auto waited = contest<TypeParam>(2, way::deque, 1).waits(way::deque, buried);
        ASSERT_EQ(waited.size(), buried);
        for (std::size_t k = 0; k < buried; ++k)
            EXPECT_LE(waited[k], (k + 1) * (standard.global_probe_interval + 1)) << k;
    }
}
TYPED_TEST(hive_fairness, under_a_long_deque_once_in_so_many_probes) {
    const std::size_t buried = standard.short_deque + 10;
    const auto waited = contest<TypeParam>(2, way::deque, 1).waits(way::deque, buried);
    ASSERT_EQ(waited.size(), buried);
    EXPECT_GT(waited[1], 8 * standard.global_probe_interval);
    for (std::size_t k = 0; k < buried; ++k)
        EXPECT_LE(waited[k], (k + 1) * standard.long_deque_probes * (standard.global_probe_interval + 1)) << k;
}

// The batch that a probe takes must not lie behind a private queue that never runs dry.
TYPED_TEST(hive_fairness, many_tasks_of_the_pool_pass_beside_tasks_that_yield) {
    constexpr std::size_t tasks = 1000, yielders = 4;
    for (const unsigned workers : {1U, 2U})
        for (const way yields : {way::private_queue, way::inbox}) {
            const auto waited = contest<TypeParam>(workers, yields, yielders).waits(way::pool, tasks);
            ASSERT_EQ(waited.size(), tasks);
            // A turn lets each yielder run once; a visit takes a batch or half of what is left.
            const std::size_t visits = tasks / standard.global_batch + 2 * standard.global_batch;
            const std::size_t turns = visits / standard.pool_visits + 1;
            if (yields == way::private_queue)
                EXPECT_LE(waited.back(), tasks + yielders * turns);
            else  // something for this worker alone comes with every yield: one task of each, in turn
                EXPECT_LE(waited.back(), tasks + yielders * tasks);
        }
}

// Two tasks of a millisecond that respawn, and in each of them sixty posts of a microsecond come from outside: more
// than pool_visits, and a sixteenth of the time.
TYPED_TEST(hive_fairness, beside_long_own_tasks_the_pool_has_time_and_not_only_a_number_of_visits) {
    apiary::still_script::core_on<TypeParam> h(1, 0, standard);
    h.clock().set(1);
    auto& worker = *h.io()[0];
    constexpr int posts = 60, rounds = 50;
    static_assert(posts > static_cast<int>(standard.pool_visits));
    int waiting = 0, most = 0, ran = 0;
    std::function<void()> respawn = [&] {
        h.clock().advance(1'000'000);
        for (int n = 0; n < posts; ++n) {
            ++waiting;
            EXPECT_TRUE(h.post(storage::make([&] {
                h.clock().advance(1'000);
                --waiting;
            })));
        }
        most = std::max(most, waiting);
        if (++ran == rounds) return h.request_stop(stop_mode::discard);
        EXPECT_TRUE(worker.post_local(storage::make(respawn)));
    };
    for (int k = 0; k < 2; ++k)
        EXPECT_TRUE(h.post_to(0, storage::make([&] { EXPECT_TRUE(worker.post_local(storage::make(respawn))); })));
    worker.run();
    // The worker learns that they are long from its first looks.
    EXPECT_LE(most, (2 * static_cast<int>(standard.first_looks) + 1) * posts);
    EXPECT_LE(waiting, 2 * posts) << "at the end the pool is not longer than what two tasks bring";
}

// Own tasks of a tenth of probe_ns beside a pool that never runs dry: both have their turns. The pool's time is not
// that of own tasks, whose interval would otherwise shrink to one task.
TYPED_TEST(hive_fairness, own_tasks_have_as_much_time_as_a_pool_that_never_runs_dry) {
    apiary::still_script::core_on<TypeParam> h(1, 0, standard);
    h.clock().set(1);
    auto& worker = *h.io()[0];
    constexpr std::int64_t own_ns = standard.probe_ns / 10, others_ns = 1'000;
    std::int64_t own = 0, others = 0;
    std::function<void()> respawn = [&] {
        h.clock().advance(own_ns);
        own += own_ns;
        if (own + others > 100 * standard.probe_ns) return h.request_stop(stop_mode::discard);
        EXPECT_TRUE(worker.post_local(storage::make(respawn)));
    };
    std::function<void()> comes_again = [&] {
        h.clock().advance(others_ns);
        others += others_ns;
        EXPECT_TRUE(h.post(storage::make(comes_again)));
    };
    for (int k = 0; k < 2; ++k) {
        EXPECT_TRUE(h.post(storage::make(comes_again)));
        EXPECT_TRUE(h.post_to(0, storage::make([&] { EXPECT_TRUE(worker.post_local(storage::make(respawn))); })));
    }
    worker.run();
    EXPECT_GE(own, others * 3 / 4);
    EXPECT_GE(others, own * 3 / 4);
}

}  // namespace
}  // namespace hive_fairness_test
