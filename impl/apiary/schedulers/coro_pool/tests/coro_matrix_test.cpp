// What coroutines do, in each situation of their pool: stopped by a drain, by a cancel, its last owner gone, what runs
// throws, the other pool stopped or not started. A table of uses times a table of situations, and for each cell the one
// answer that is allowed. coro_memory_test.cpp has the column without memory.
#include <apiary/schedulers/coro_pool/coro_pool.hpp>
#include <apiary/schedulers/coro_pool/when_any.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace coro_matrix_test {
namespace {

using apiary::co_scope;
using apiary::co_stop;
using apiary::co_task;
using apiary::coro_pool;
using apiary::when_all;
using apiary::when_any;

// v a value, or accepted   o the coroutine's own exception   c wait_cancelled   f false: refused   l std::logic_error
// p pool_stopped
using answer = char;

struct thrown : std::exception {};

struct course {
    coro_pool* pool;  // null: its last owner has let go of it
    coro_pool& other;
    bool throws = false;
    apiary::co_priority priority = apiary::co_priority::normal;  // of the root, and so of all that it awaits and forks
    std::atomic<unsigned> ran = 0, with_another_priority = 0;
};

co_task<int> child(course& c) {
    co_await apiary::yield_turn();
    auto* const me = co_await apiary::this_frame();
    if (me->root().priority != c.priority) ++c.with_another_priority;
    ++c.ran;
    if (c.throws) throw thrown();
    co_return 1;
}
co_task<> detached(course& c) { (void)co_await child(c); }

co_task<answer> calls(course& c) { co_return co_await child(c) == 1 ? 'v' : '?'; }
co_task<answer> calls_one_that_was_moved_from(course& c) {
    auto t = child(c);
    auto moved = std::move(t);
    (void)co_await std::move(t);
    co_return 'v';
}
co_task<answer> assigns_over_a_task(course& c) {
    auto t = child(c);
    t = child(c);  // the first never begins
    co_return co_await std::move(t) == 1 ? 'v' : '?';
}
co_task<answer> assigns_a_task_to_itself(course& c) {
    auto t = child(c);
    auto& same = t;
    t = std::move(same);
    co_return co_await std::move(t) == 1 ? 'v' : '?';
}
co_task<answer> waits_for_all(course& c) {
    const auto [a, b] = co_await when_all(child(c), child(c));
    co_return a + b == 2 ? 'v' : '?';
}
co_task<answer> waits_for_all_of_a_vector(course& c) {
    std::vector<co_task<int>> tasks;
    for (int i = 0; i != 3; ++i) tasks.push_back(child(c));
    const auto all = co_await when_all(std::move(tasks));
    co_return all == std::vector{1, 1, 1} ? 'v' : '?';
}
co_task<answer> waits_for_none(course&) {
    const auto all = co_await when_all(std::vector<co_task<int>>());
    co_return all.empty() ? 'v' : '?';
}
co_task<answer> forks(course& c) {
    co_await apiary::with_scope([&](co_scope<>& s) -> co_task<> {
        s.fork(detached(c));
        s.fork([&c]() -> co_task<> { (void)co_await child(c); });
        co_return;
    });
    co_return 'v';
}
co_task<answer> forks_and_throws(course& c) {
    co_await apiary::with_scope([&](co_scope<>& s) -> co_task<> {
        s.fork(detached(c));
        if (c.throws) throw thrown();
        co_return;
    });
    co_return 'v';
}
co_task<answer> forks_into_an_outcome(course& c) {
    apiary::co_outcome<int> out;
    co_scope<> s(co_await apiary::this_frame());
    s.fork(child(c), out);
    co_await s.join();
    co_return out.take() == 1 ? 'v' : '?';
}
co_task<answer> waits_for_the_first(course& c) {
    const auto [which, one] = co_await when_any(child(c), child(c));
    co_return which < 2 && one == 1 ? 'v' : '?';
}
co_task<answer> gives_its_turn(course& c) {
    co_await apiary::yield_turn();
    co_return co_await calls(c);
}
co_task<answer> moves(course& c) {
    co_await apiary::resume_on(c.other);
    co_return co_await calls(c);
}
// A child that began elsewhere goes to the pool of its root, whatever stop that has.
co_task<answer> goes_home(course& c) {
    co_await apiary::resume_on(*c.pool);
    co_return co_await calls(c);
}
co_task<answer> a_child_goes_home(course& c) {
    co_await apiary::resume_on(c.other);
    co_return co_await goes_home(c);
}
co_task<answer> moves_where_it_is(course& c) {
    if (c.pool != nullptr) co_await apiary::resume_on(*c.pool);
    co_return co_await calls(c);
}
co_task<answer> spawns(course& c) { co_return c.pool->spawn(detached(c)) ? 'v' : 'f'; }
co_task<answer> spawns_elsewhere(course& c) { co_return c.other.spawn(detached(c)) ? 'v' : 'f'; }
co_task<answer> blocks(course& c) { co_return sync_wait(*c.pool, child(c)) == 1 ? 'v' : '?'; }
co_task<answer> blocks_for_another(course& c) { co_return sync_wait(c.other, child(c)) == 1 ? 'v' : '?'; }
co_task<answer> stops(course& c) {
    c.pool->stop();
    co_return 'v';
}
co_task<answer> starts(course& c) { co_return c.pool->start() ? 'v' : 'f'; }

// d a drain was asked for   c a cancel   L the last owner lets go   t what runs throws   o the other pool is stopped
// n it was not started. A row has an answer for each; '-' where there is none, since the pool has gone that it would
// name.
constexpr std::string_view situations[] = {"", "d", "c", "L", "t", "dt", "ct", "Lt", "o", "n", "oc"};
struct use {
    const char* name;
    co_task<answer> (*does)(course&);
    const char* answers;
    const char* ran;  // how many of the children have run at the end
    unsigned lost;    // exceptions, where all throw
};
const use uses[] = {
    //                                                    .dcLt     o
    {"calls", calls, "vvvvoooovvv", "11111111111", 0},
    {"calls_one_that_was_moved_from", calls_one_that_was_moved_from, "lllllllllll", "00000000000", 0},
    {"assigns_over_a_task", assigns_over_a_task, "vvvvoooovvv", "11111111111", 0},
    {"assigns_a_task_to_itself", assigns_a_task_to_itself, "vvvvoooovvv", "11111111111", 0},
    {"waits_for_all", waits_for_all, "vvvvoooovvv", "22222222222", 1},
    {"waits_for_all_of_a_vector", waits_for_all_of_a_vector, "vvvvoooovvv", "33333333333", 2},
    {"waits_for_none", waits_for_none, "vvvvvvvvvvv", "00000000000", 0},
    {"forks", forks, "vvvvoooovvv", "22222222222", 1},
    {"forks_and_throws", forks_and_throws, "vvvvoooovvv", "11111111111", 1},
    {"forks_into_an_outcome", forks_into_an_outcome, "vvvvoooovvv", "11111111111", 0},
    {"waits_for_the_first", waits_for_the_first, "vvccooccvvc", "22002200220", 1},
    {"gives_its_turn", gives_its_turn, "vvvvoooovvv", "11111111111", 0},
    {"moves", moves, "vvvvooooppp", "11111111000", 0},
    {"a_child_goes_home", a_child_goes_home, "vvv-ooo-ppp", "111-111-000", 0},
    {"moves_where_it_is", moves_where_it_is, "vvvvoooovvv", "11111111111", 0},
    {"spawns", spawns, "vvv-vvv-vvv", "110-110-110", 0},
    {"spawns_elsewhere", spawns_elsewhere, "vvvvvvvvfff", "11111111000", 0},
    {"blocks", blocks, "lll-lll-lll", "000-000-000", 0},
    {"blocks_for_another", blocks_for_another, "vvvvoooolll", "11111111000", 0},
    {"stops", stops, "lll-lll-lll", "000-000-000", 0},
    {"starts", starts, "fff-fff-fff", "000-000-000", 0},
};

struct cell {
    const use* of;
    std::size_t in;
};
void PrintTo(const cell& c, std::ostream* out) { *out << situations[c.in]; }
std::vector<cell> cells() {
    std::vector<cell> all;
    for (const use& u : uses)
        for (std::size_t in = 0; in != std::size(situations); ++in)
            if (u.answers[in] != '-') all.push_back({&u, in});
    return all;
}

co_task<> plays(course& c, std::unique_ptr<coro_pool> owner, cell of, std::promise<answer>& told) {
    for (const char what : situations[of.in]) {
        if (what == 'd') c.pool->request_stop(co_stop::drain);
        if (what == 'c') c.pool->request_stop(co_stop::cancel);
        if (what == 'L') {
            owner.reset();
            c.pool = nullptr;
        }
        if (what == 't') c.throws = true;
    }
    answer a = '?';
    try {
        a = co_await of.of->does(c);
    } catch (const thrown&) {
        a = 'o';
    } catch (const apiary::wait_cancelled&) {
        a = 'c';
    } catch (const apiary::pool_stopped&) {
        a = 'p';
    } catch (const std::logic_error&) {
        a = 'l';
    }
    (void)owner.release();  // the test's again, unless it has gone
    told.set_value(a);
}

struct coro_matrix : testing::TestWithParam<cell> {};
TEST_P(coro_matrix, gives_the_one_answer_that_is_allowed_and_leaves_nothing) {
    const cell& of = GetParam();
    const std::string_view in = situations[of.in];
    const auto has = [&](char what) { return in.find(what) != std::string_view::npos; };
    coro_pool other({.workers = 1});
    if (!has('n')) other.start();
    if (has('o')) other.request_stop();
    auto made = std::make_unique<coro_pool>(apiary::co_config{.workers = 1});
    coro_pool* const pool = made.get();
    pool->start();
    course c{.pool = pool, .other = other};
    std::promise<answer> told;
    ASSERT_TRUE(pool->spawn(plays(c, std::move(made), of, told)));
    EXPECT_EQ(told.get_future().get(), of.of->answers[of.in]);
    std::optional<apiary::coro_report> report;
    if (!has('L')) {
        const std::unique_ptr<coro_pool> mine(pool);
        mine->stop();
        report = mine->report();
    }
    other.stop();
    EXPECT_EQ(c.ran, static_cast<unsigned>(of.of->ran[of.in] - '0'));
    EXPECT_EQ(other.report().living, 0U);
    if (!report) return;
    const apiary::coro_report there = other.report();
    const bool spawned = of.of->does == spawns;
    EXPECT_EQ(report->living, 0U);
    EXPECT_EQ(report->run, 1U + (spawned && !has('c') ? 1 : 0));
    EXPECT_EQ(report->cancelled, spawned && has('c') ? 1U : 0U);
    EXPECT_EQ(report->exceptions, spawned && has('t') && !has('c') ? 1U : 0U);
    const bool raced = of.of->does == waits_for_the_first && has('c');
    EXPECT_EQ(report->lost_exceptions + there.lost_exceptions, has('t') && !raced ? of.of->lost : 0U);
}
INSTANTIATE_TEST_SUITE_P(each, coro_matrix, testing::ValuesIn(cells()), [](const testing::TestParamInfo<cell>& c) {
    const std::string_view in = situations[c.param.in];
    return std::string(c.param.of->name) + "_" + (in.empty() ? std::string("alone") : std::string(in));
});

TEST(coro_matrix, what_a_coroutine_awaits_and_forks_has_its_priority) {
    coro_pool other({.workers = 1}), pool({.workers = 1});
    other.start();
    pool.start();
    for (const apiary::co_priority p : {apiary::co_priority::high, apiary::co_priority::background})
        for (const use& u : uses) {
            // Roots of their own.
            if (u.does == spawns || u.does == spawns_elsewhere || u.does == blocks_for_another) continue;
            course c{.pool = &pool, .other = other, .priority = p};
            std::promise<answer> told;
            ASSERT_TRUE(pool.spawn(plays(c, nullptr, {&u, 0}, told), {.priority = p}));
            EXPECT_EQ(told.get_future().get(), u.answers[0]) << u.name;
            while (pool.report().living + other.report().living != 0) std::this_thread::yield();
            EXPECT_EQ(c.with_another_priority, 0U) << u.name;
        }
}

// From another thread. b before the start   s started   d after a drain   c after a cancel   D a drain, then a cancel
// B stopped and never started   t started, and what runs throws
struct outside {
    const char* name;
    answer (*does)(coro_pool&, course&);
    const char* answers;
};
constexpr std::string_view phases = "bsdcDBt";
const outside from_outside[] = {
    {"spawns",
     [](coro_pool& p, course& c) {
         auto t = detached(c);
         const bool accepted = p.spawn(std::move(t));
         EXPECT_EQ(t.empty(), accepted) << "what was refused is still the caller's";
         return accepted ? 'v' : 'f';
     },
     "fvffffv"},
    {"spawns_a_lambda",
     [](coro_pool& p, course& c) { return p.spawn([&c] { return detached(c); }) ? 'v' : 'f'; }, "fvffffv"},
    {"spawns_nothing", [](coro_pool& p, course&) { return p.spawn(co_task<>()) ? 'v' : 'f'; }, "fllllfl"},
    {"blocks", [](coro_pool& p, course& c) { return sync_wait(p, child(c)) == 1 ? 'v' : '?'; }, "lvllllo"},
    {"blocks_for_nothing",
     [](coro_pool& p, course&) { return sync_wait(p, co_task<int>()) == 1 ? 'v' : '?'; }, "lllllll"},
    {"starts", [](coro_pool& p, course&) { return p.start() ? 'v' : 'f'; }, "vffffff"},
    {"stops",
     [](coro_pool& p, course&) {
         p.stop();
         return p.is_started() ? 'v' : 'f';
     },
     "fvvvvfv"},
    {"waits_for_the_end",
     [](coro_pool& p, course&) { return p.wait_for_end(std::chrono::nanoseconds(-1)) ? 'v' : 'f'; }, "ffvvvvf"},
};
TEST(coro_matrix, each_call_from_outside_gives_the_one_answer_that_is_allowed) {
    for (const outside& o : from_outside)
        for (std::size_t i = 0; i != phases.size(); ++i) {
            const char phase = phases[i];
            coro_pool other, pool({.workers = 1});
            course c{.pool = &pool, .other = other, .throws = phase == 't'};
            if (phase != 'b' && phase != 'B') pool.start();
            if (phase == 'd' || phase == 'D' || phase == 'B') pool.stop();
            if (phase == 'c' || phase == 'D') pool.stop(co_stop::cancel);
            answer a = '?';
            try {
                a = o.does(pool, c);
            } catch (const thrown&) {
                a = 'o';
            } catch (const std::logic_error&) {
                a = 'l';
            }
            EXPECT_EQ(a, o.answers[i]) << o.name << " in phase " << phase;
            pool.stop();
            EXPECT_EQ(pool.report().living, 0U);
        }
}

}  // namespace
}  // namespace coro_matrix_test
