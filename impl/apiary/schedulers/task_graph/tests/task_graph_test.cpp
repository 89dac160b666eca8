#include <apiary/schedulers/task_graph/task_graph.hpp>
#include <apiary/sync/cache_line.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "random_graph.hpp"

namespace task_graph_test {
namespace {

using apiary::task_graph;
using apiary::task_graph_config;
using apiary::task_id;
using apiary::task_state;
using apiary::window_stuck;
using apiary::testing::random_graph;

using apiary::ready_policy;

// The engine's worker that runs the task which asks.
template <class Sync = apiary::real_sync>
auto* this_worker() {
    using graph = apiary::basic_task_graph<Sync>;
    using slot = typename apiary::task_window<Sync, apiary::task_graph_limits, apiary::task_body<graph>>::slot;
    using kind = apiary::graph_kind<Sync, apiary::default_parts<Sync>, slot>;
    return Sync::template current<typename apiary::crew<graph, kind>::worker_type>();
}

constexpr ready_policy policies[] = {ready_policy::locality, ready_policy::fifo, ready_policy::min_clock,
                                     ready_policy::critical_path};

// Its address decides nothing: what each submit writes is on no line that a task's end reads, wherever the graph lies.
static_assert(alignof(apiary::task_graph) >= apiary::cache_line);

TEST(task_graph, of_no_config_has_the_usual_one_however_it_is_written) {
    task_graph a, b({}), c{}, d(task_graph_config{}), e{{}};
    for (task_graph* g : {&a, &b, &c, &d, &e}) {
        EXPECT_EQ(g->window(), task_graph_config().window);
        EXPECT_EQ(g->close().types.size(), 1U);
    }
    task_graph small({.workers = {0}, .window = 4});
    EXPECT_EQ(small.window(), 4U);
    static_assert(!std::is_copy_constructible_v<task_graph> && !std::is_move_constructible_v<task_graph>);
}

// Gives threads to the first `most` bodies.
struct few_threads : apiary::thread_team {
    static inline unsigned most = 0, started = 0;
    template <class Body>
    void start(Body body) {
        if (started == most) throw std::runtime_error("no thread");
        ++started;
        apiary::thread_team::start(std::move(body));
    }
};
struct few_threads_parts : apiary::default_parts<> {
    using threads = few_threads;
};

TEST(task_graph, that_gets_too_few_threads_ends_those_that_it_has) {
    const task_graph_config config{.workers = {2, 2}};
    for (const unsigned most : {0U, 1U, 2U, 3U}) {
        few_threads::most = most, few_threads::started = 0;
        EXPECT_THROW((apiary::basic_task_graph<apiary::real_sync, few_threads_parts>(config)), std::runtime_error) << most;
        EXPECT_EQ(few_threads::started, most);
    }
    few_threads::most = 4, few_threads::started = 0;
    apiary::basic_task_graph<apiary::real_sync, few_threads_parts> whole(config);
    whole.submit([] {}, {.type = 1});
    EXPECT_EQ(whole.close().consumed, 1U);
}

TEST(task_graph, hands_outputs_on) {
    task_graph g({.workers = {2}});
    const task_graph::scope outputs_stay(g);
    int seen = 0;
    const auto a = g.submit([](auto& t) { *t.template output<int>() = 20; }, {.bytes = sizeof(int)});
    const auto b = g.submit({a}, [](auto& t) { *t.template output<int>() = *t.template input<int>(0) + 1; },
                            {.bytes = sizeof(int)});
    g.submit({a, b}, [&](auto& t) { seen = *t.template input<int>(0) + 100 * *t.template input<int>(1); });
    g.wait();
    EXPECT_EQ(seen, 2120);
}

TEST(task_graph, an_input_beyond_those_that_were_named_is_empty) {
    task_graph g({.workers = {0}});
    const task_graph::scope outputs_stay(g);
    std::size_t there = 0, beyond = 0;
    const auto a = g.submit([] {}, {.bytes = 8});
    const auto b = g.submit({a}, [](auto& t) { *t.template output<int>() = 1; }, {.bytes = 4});
    g.submit({b}, [&](auto& t) {
        there = t.input(0).size();
        beyond = t.input(1).size() + t.input(SIZE_MAX).size();
    });
    g.submit({a}, [] {});
    g.wait();
    EXPECT_EQ(there, 4U);
    EXPECT_EQ(beyond, 0U) << "the edges around it are other tasks'";
}

TEST(task_graph, of_the_submitter_alone_runs_everything_in_wait) {
    task_graph g({.workers = {0}});
    std::vector<int> order;
    const auto a = g.submit([&] { order.push_back(0); });
    const auto b = g.submit({a}, [&] { order.push_back(1); });
    g.submit({b}, [&] { order.push_back(2); });
    EXPECT_TRUE(order.empty());
    g.wait();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(g.counters(0).at_once, 2U) << "one job for the chain";
}

TEST(task_graph, random_graphs_give_what_a_serial_run_gives) {
    unsigned round = 0;
    for (const unsigned one_in : {0U, 40U})
        for (const bool helps : {true, false})
            for (const std::size_t window : {4U, 64U, 4096U})
                for (const std::vector<unsigned>& workers :
                     {std::vector<unsigned>{1}, std::vector<unsigned>{3}, std::vector<unsigned>{1, 2, 1},
                      std::vector<unsigned>{2, 70}}) {
                    ++round;
                    const random_graph graph(round, 700, round % 2 == 0 ? 3 : 60, static_cast<unsigned>(workers.size()),
                                             one_in);
                    task_graph g({.workers = workers,
                                  .submitter_helps = helps,
                                  .window = window,
                                  .dependencies = window < 64 ? 8U : 1024U,
                                  .output_bytes = window < 64 ? 256U : 8192U,
                                  .at_once = 1 + round % 5,
                                  .policy = policies[round % 4],
                                  .window_most = round % 5 == 0 ? 8192U : 0U});
                    apiary::testing::run_and_compare(g, graph, window >= 64 && round % 3 == 0, [&](const char* what) {
                        ADD_FAILURE() << what << ", round " << round;
                    });
                }
}

TEST(task_graph, a_window_of_one_is_a_serial_run) {
    task_graph g({.workers = {1}, .window = 1, .dependencies = 4});
    std::vector<task_id> order;
    for (task_id id = 0; id != 100; ++id) {
        const std::array<task_id, 2> after{id - 1, id / 2};
        g.submit(std::span(after).first(id == 0 ? 0 : 2), [&order](auto& t) { order.push_back(t.id()); });
    }
    g.wait();
    ASSERT_EQ(order.size(), 100U);
    for (task_id id = 0; id != 100; ++id) EXPECT_EQ(order[id], id);
}

TEST(task_graph, no_ready_task_is_dropped_however_many_wait_for_one_worker) {  // defect A29
    task_graph g({.workers = {0, 1}, .window = 256});
    std::atomic<bool> go = false;
    std::atomic<int> ran = 0;
    const auto first = g.submit(
        [&] {
            while (!go) std::this_thread::yield();
        },
        {.type = 1});
    for (int i = 0; i != 100; ++i) g.submit([&] { ++ran; }, {.type = 1});
    for (int i = 0; i != 100; ++i) g.submit({first}, [&] { ++ran; }, {.type = 1});
    EXPECT_EQ(ran, 0);
    go = true;
    g.wait();
    EXPECT_EQ(ran, 200);
}

TEST(task_graph, types_have_threads_of_their_own) {
    for (const ready_policy policy : policies) {
        task_graph g({.workers = {1, 1, 1}, .submitter_helps = false, .policy = policy});
        std::array<std::atomic<std::thread::id>, 3> seen{};
        std::atomic<int> wrong = 0;
        task_id before = g.submit([&] { seen[0] = std::this_thread::get_id(); });
        for (int i = 1; i != 300; ++i) {
            const auto type = static_cast<std::uint8_t>(i % 3);
            before = g.submit({before},
                              [&, type, i] {
                                  if (i < 3) seen[type] = std::this_thread::get_id();
                                  if (seen[type].load() != std::this_thread::get_id()) ++wrong;
                              },
                              {.type = type});
        }
        const auto report = g.close();
        EXPECT_EQ(wrong, 0);
        for (std::size_t type = 0; type != 3; ++type) EXPECT_EQ(report.types[type].ran, 100U);
        EXPECT_NE(seen[0].load(), seen[1].load());
    }
}

TEST(task_graph, of_critical_path_runs_the_task_with_the_longest_way_first) {
    task_graph g({.workers = {0}, .policy = ready_policy::critical_path});
    std::vector<int> order;
    for (const int ahead : {10, 30, 20}) g.submit([&order, ahead] { order.push_back(ahead); }, {.ahead_ns = ahead});
    g.wait();
    EXPECT_EQ(order, (std::vector<int>{30, 20, 10}));
    std::vector<std::int64_t> of_large;
    for (const std::int64_t ahead :
         {INT64_MIN, std::int64_t{-1}, std::int64_t{1} << 40, (std::int64_t{1} << 40) + 1, INT64_MAX})
        g.submit([&of_large, ahead] { of_large.push_back(ahead); }, {.ahead_ns = ahead});
    g.wait();
    EXPECT_EQ(of_large, (std::vector<std::int64_t>{INT64_MAX, (std::int64_t{1} << 40) + 1, std::int64_t{1} << 40, -1,
                                                   INT64_MIN}));
    std::vector<std::int64_t> of_neighbours;
    for (const std::int64_t ahead : {65535, 65536})
        g.submit([&of_neighbours, ahead] { of_neighbours.push_back(ahead); }, {.ahead_ns = ahead});
    g.wait();
    EXPECT_EQ(of_neighbours, (std::vector<std::int64_t>{65536, 65535}));
}

TEST(task_graph, of_fifo_runs_tasks_in_the_order_in_which_they_became_ready) {
    task_graph g({.workers = {0}, .policy = ready_policy::fifo});
    std::vector<task_id> order;
    const auto note = [&order](auto& t) { order.push_back(t.id()); };
    const auto root = g.submit(note);
    g.submit({root}, note), g.submit({root}, note), g.submit(note);
    g.wait();
    EXPECT_EQ(order, (std::vector<task_id>{0, 3, 1, 2}));
}

TEST(task_graph, takes_tasks_from_several_submitters) {
    for (const ready_policy policy : policies) {
        task_graph g({.workers = {1}, .window = 8, .policy = policy, .several_submitters = true});
        constexpr int each = 2000, submitters = 3;
        std::array<int, submitters> count{};
        std::atomic<task_id> newest = 0;
        newest = g.submit([] {});
        std::vector<std::thread> threads;
        for (int me = 0; me != submitters; ++me)
            threads.emplace_back([&, me] {
                task_id last = newest;
                for (int i = 0; i != each; ++i) {
                    const std::array<task_id, 2> after{last, newest.load()};  // its own chain, and anybody's
                    last = g.submit(after, [&count, me] { ++count[static_cast<std::size_t>(me)]; });
                    newest = last;
                }
                g.wait();
            });
        for (std::thread& t : threads) t.join();
        EXPECT_THROW(task_graph::scope{g}, std::logic_error);
        const auto report = g.close();
        EXPECT_EQ(count, (std::array<int, submitters>{each, each, each}));
        EXPECT_EQ(report.submitted, each * submitters + 1U);
        EXPECT_EQ(report.consumed, report.submitted);
        try {
            const task_graph::scope behind_close(g);
            ADD_FAILURE() << "a scope in a graph of several submitters";
        } catch (const std::logic_error& e) {
            EXPECT_NE(std::string(e.what()).find("has several"), std::string::npos) << e.what();
        }
    }
}

TEST(task_graph, a_window_that_is_full_again_and_again_grows_to_what_it_may) {
    task_graph g({.workers = {0}, .window = 4, .dependencies = 8, .window_most = 64});
    int ran = 0;
    for (int i = 0; i != 2000; ++i) g.submit([&ran] { ++ran; });
    EXPECT_EQ(g.window(), 64U);
    const auto report = g.close();
    EXPECT_EQ(ran, 2000);
    EXPECT_EQ(report.consumed, 2000U);
    EXPECT_THROW(task_graph({.workers = {1}, .window_most = 100}), std::invalid_argument);
}

std::string refusal_of(const task_graph_config& config) {
    try {
        const task_graph g(config);
        return "";
    } catch (const std::invalid_argument& refused) {
        return refused.what();
    }
}

TEST(task_graph, takes_a_share_of_a_processor_for_looking_on_and_nothing_else) {
    EXPECT_EQ(refusal_of({.workers = {1, 1}, .idle_cpu = 1}), "");
    EXPECT_EQ(refusal_of({.idle_cpu = 1.5}), "task_graph: idle_cpu is 1.5; it can be 0 to 1");
}

TEST(task_graph, refuses_a_window_that_would_grow_to_less) {
    EXPECT_EQ(refusal_of({.window = 16, .window_most = 8}),
              "task_graph: window_most is 8; it must be a power of two, from window, which is 16, to 2147483648");
    EXPECT_EQ(refusal_of({.window = 16, .window_most = 16}), "") << "it does not grow";
    EXPECT_EQ(refusal_of({.window = 16, .window_most = 0}), "");
}

TEST(task_graph, says_how_many_dependencies_there_can_be) {
    EXPECT_EQ(refusal_of({.dependencies = 131072}), "");
    for (const std::size_t n : {262144U, 262141U, 131073U})
        EXPECT_EQ(refusal_of({.dependencies = n}), "task_graph: dependencies is " + std::to_string(n) +
                                                       "; it must be a power of two, at most 131072");
}

TEST(task_graph, tells_how_far_it_is) {
    task_graph g({.workers = {0}});
    const auto failed = g.submit([] { throw 1; });
    g.submit({failed}, [] {});
    EXPECT_EQ(g.progress().submitted, 2U);
    EXPECT_EQ(g.progress().begun, 0U);
    g.wait();
    EXPECT_EQ(g.progress().begun, 2U) << "one ran, one was cancelled";
}

TEST(task_graph, has_never_begun_more_than_was_submitted) {
    task_graph g({.workers = {1}, .window = 64});
    std::atomic<bool> ended = false;
    std::uint64_t looks = 0, wrong = 0;
    std::thread watcher([&] {
        for (; !ended; ++looks)
            if (const auto p = g.progress(); p.begun > p.submitted) ++wrong;
    });
    for (int i = 0; i != 300'000; ++i) g.submit([] {});
    g.wait();
    ended = true;
    watcher.join();
    EXPECT_EQ(wrong, 0U) << "of " << looks;
}

struct traced_parts : apiary::default_parts<> {
    using trace = apiary::event_trace;
};

TEST(task_graph, writes_what_the_workers_of_each_type_did_when_its_parts_have_a_trace) {
    apiary::basic_task_graph<apiary::real_sync, traced_parts> g({.workers = {0, 2}});
    const auto a = g.submit([] {});
    const auto b = g.submit({a}, [] {}, {.type = 1});
    g.submit({b}, [] {}, {.type = 1});
    (void)g.close();
    std::ostringstream text;
    g.write_trace(text);
    std::string about;
    std::vector<unsigned> tasks;  // of each track
    std::istringstream lines(text.str());
    for (std::string line; std::getline(lines, line);) {
        if (line.find("thread_name") != std::string::npos) about += line, tasks.push_back(0);
        if (line.find("\"name\":\"task\"") == std::string::npos) continue;
        EXPECT_NE(line.find("\"tid\":" + std::to_string(tasks.size()) + ','), std::string::npos) << line;
        ++tasks.back();
    }
    for (const char* worker : {"type 0 worker 0", "type 1 worker 0", "type 1 worker 1"})
        EXPECT_NE(about.find(worker), std::string::npos) << worker;
    ASSERT_EQ(tasks.size(), 3U);
    EXPECT_EQ(tasks[0], 1U) << "the submitter ran its own";
    EXPECT_EQ(tasks[1] + tasks[2], 1U) << "b, and its successor at once after it";
}

TEST(task_graph, has_jobs_that_were_run_and_not_cancelled_in_the_books_of_its_workers) {
    for (const ready_policy policy : policies) {
        task_graph g({.workers = {0}, .at_once = 2, .policy = policy});
        decltype(this_worker()) worker = nullptr;
        task_id last = g.submit([&worker] { worker = this_worker(); });
        for (int i = 0; i != 4; ++i) last = g.submit({last}, [] {});
        g.wait();
        ASSERT_NE(worker, nullptr);
        EXPECT_EQ(worker->counters().run, 3U) << "jobs of two tasks, and of one";
        EXPECT_EQ(worker->counters().cancelled, 0U);
    }
}

TEST(task_graph, a_worker_sees_its_desk_only_when_that_has_handed_it_a_task) {
    task_graph g({.workers = {0}, .policy = ready_policy::fifo});
    decltype(this_worker()) worker = nullptr;
    g.submit([&worker] { worker = this_worker(); });
    g.wait();
    ASSERT_NE(worker, nullptr);
    EXPECT_FALSE(worker->sources().visible());
    int ran = 0;
    g.submit([&ran] { ++ran; });
    EXPECT_TRUE(worker->sources().run_some());
    EXPECT_EQ(ran, 1);
    EXPECT_FALSE(worker->sources().run_some()) << "it is idle now";
    g.submit([&ran] { ++ran; });
    EXPECT_TRUE(worker->sources().visible());
    EXPECT_TRUE(worker->sources().run_some());
    EXPECT_EQ(ran, 2);
}

struct counts_wakes : apiary::real_sync {
    static inline std::atomic<int> wakes = 0;
    static void reach(const char* what) noexcept {
        if (std::string_view(what) == "crew.woke_one") ++wakes;
    }
};

// Until the other of two workers sleeps, and not for a moment only: it stays asleep until somebody wakes it.
template <class Sync = apiary::real_sync>
void wait_until_the_other_sleeps() {
    const auto& idle = this_worker<Sync>()->crew().idle();
    while (idle.snapshot().sleepers() == 0 || idle.snapshot().napping()) std::this_thread::yield();
    // It has announced its sleep, and looks once more. If it were not after that look, a missing wake would go unseen
    // here.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST(task_graph, a_task_that_makes_no_more_than_one_ready_wakes_nobody) {
    apiary::basic_task_graph<counts_wakes> g({.workers = {2}, .submitter_helps = false});
    std::atomic<bool> all_there = false;
    int wakes = -1;
    task_id last = g.submit([&] {
        while (!all_there) std::this_thread::yield();
        wait_until_the_other_sleeps<counts_wakes>();
        counts_wakes::wakes = 0;
    });
    for (int i = 0; i != 10; ++i) last = g.submit({last}, [&wakes] { wakes = counts_wakes::wakes; });
    all_there = true;
    g.wait();
    EXPECT_EQ(wakes, 0);
}

// The two wait for each other, so one worker alone would hang.
TEST(task_graph, a_task_that_makes_two_ready_wakes_a_worker_that_sleeps) {
    task_graph g({.workers = {2}, .submitter_helps = false});
    std::atomic<bool> all_there = false;
    std::atomic<int> begun = 0;
    const auto first = g.submit([&] {
        while (!all_there) std::this_thread::yield();
        wait_until_the_other_sleeps();
    });
    for (int i = 0; i != 2; ++i)
        g.submit({first}, [&begun] {
            ++begun;
            while (begun != 2) std::this_thread::yield();
        });
    all_there = true;
    g.wait();
    EXPECT_EQ(g.counters(0).ran, 3U);
}

TEST(task_graph, of_those_that_become_ready_together_the_one_of_the_highest_priority_runs_first) {
    task_graph g({.workers = {0}});
    std::vector<int> order;
    const auto root = g.submit([] {});
    for (const int priority : {0, 5, 5, 3})
        g.submit({root}, [&order, priority, n = order.size()] { order.push_back(priority); },
                 {.priority = static_cast<std::int8_t>(priority)});
    g.wait();
    ASSERT_EQ(order.size(), 4U);
    EXPECT_EQ(order[0], 5);
}

// Two of them; and the order does not take in what lay in the deque before.
TEST(task_graph, priorities_are_those_of_the_tasks_that_one_end_makes_ready) {
    task_graph g({.workers = {0}});
    std::vector<int> order;
    const auto root = g.submit([] {});
    const auto submits = [&](std::initializer_list<task_id> after, int priority) {
        g.submit(after, [&order, priority] { order.push_back(priority); }, {.priority = static_cast<std::int8_t>(priority)});
    };
    submits({}, 9);
    const auto newest = g.submit([] {});
    submits({newest}, 2), submits({newest}, 1);
    submits({root}, 3), submits({root}, 4);
    g.wait();
    EXPECT_EQ(order, (std::vector<int>{2, 1, 9, 4, 3}));
}

TEST(task_graph, of_min_clock_measures_the_work_of_a_worker_and_else_does_not) {
    for (const ready_policy policy : {ready_policy::min_clock, ready_policy::fifo}) {
        task_graph g({.workers = {0}, .policy = policy});
        decltype(this_worker()) worker = nullptr;
        g.submit([&worker] {
            worker = this_worker();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        });
        g.wait();
        ASSERT_NE(worker, nullptr);
        if (policy == ready_policy::min_clock)
            EXPECT_GE(worker->ready().worked_ns, 2'000'000);
        else
            EXPECT_EQ(worker->ready().worked_ns, 0);
    }
}

TEST(task_graph, says_of_a_task_that_it_runs) {
    task_graph g({.workers = {1}, .submitter_helps = false});
    std::atomic<bool> begun = false, go = false;
    const auto task = g.submit([&] {
        begun = true;
        while (!go) std::this_thread::yield();
    });
    while (!begun) std::this_thread::yield();
    EXPECT_EQ(g.state(task), task_state::running);
    go = true;
    g.wait();
}

constexpr int mixed_priorities[] = {0, 5, -3, 7, 7, 2, -128, 127};

// By one worker: the priority and the place of each task, in the order in which they ran.
std::vector<std::pair<int, int>> order_of_mixed_priorities(int long_tasks_before) {
    task_graph g({.workers = {1}, .submitter_helps = false});
    std::atomic<bool> all_there = false;
    std::vector<std::pair<int, int>> order;
    const auto first = g.submit([&] {
        while (!all_there) std::this_thread::yield();
    });
    const auto a_while = [] {
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
        while (std::chrono::steady_clock::now() < until) {}
    };
    auto root = first;
    for (int i = 0; i != 2 * long_tasks_before; ++i) {
        const auto id = g.submit({first}, a_while);
        if (i == long_tasks_before) root = id;
    }
    for (int n = 0; const int priority : mixed_priorities)
        g.submit({root},
                 [&, priority, n = n++] {
                     order.emplace_back(priority, n);
                     if (long_tasks_before != 0) a_while();
                 },
                 {.priority = static_cast<std::int8_t>(priority)});
    all_there = true;
    g.wait();
    return order;
}

TEST(task_graph, a_worker_runs_those_that_become_ready_together_by_priority_and_then_by_age) {
    const std::vector<std::pair<int, int>> expected{{127, 7}, {7, 3}, {7, 4}, {5, 1}, {2, 5}, {0, 0}, {-3, 2}, {-128, 6}};
    EXPECT_EQ(order_of_mixed_priorities(0), expected);
    EXPECT_EQ(order_of_mixed_priorities(20), expected) << "its tasks are long, and it takes the oldest of its deque";
}

// Sorted without a loop that grows with the square of them, and none is lost where thieves take some meanwhile.
TEST(task_graph, runs_many_of_many_priorities_each_once) {
    for (const unsigned workers : {0U, 3U}) {
        task_graph g({.workers = {workers}, .window = 1 << 15, .dependencies = 1 << 15});
        std::vector<std::atomic<int>> ran(20000);
        const auto root = g.submit([] {});
        for (std::size_t i = 0; i != ran.size(); ++i)
            g.submit({root}, [&ran, i] { ++ran[i]; }, {.priority = static_cast<std::int8_t>(i * 37 % 256)});
        g.wait();
        for (std::size_t i = 0; i != ran.size(); ++i) ASSERT_EQ(ran[i], 1) << i;
    }
}

TEST(task_graph, a_task_that_throws_cancels_all_that_depend_on_it_and_says_why) {
    task_graph g({.workers = {2}});
    const auto a = g.submit([] { throw std::runtime_error("a"); });
    const auto b = g.submit({a}, [] { ADD_FAILURE() << "ran"; });
    g.wait();
    const auto late = g.submit({b}, [] { ADD_FAILURE() << "ran"; });
    std::atomic<bool> ran = false;
    g.submit([&] { ran = true; });
    g.wait();
    EXPECT_TRUE(ran);
    const auto failures = g.failures();
    ASSERT_EQ(failures.size(), 3U);
    for (const auto& f : failures) {
        EXPECT_TRUE(f.task == a || f.task == b || f.task == late);
        EXPECT_EQ(f.cause, a);
        if (f.task == a)
            EXPECT_THROW(std::rethrow_exception(f.thrown), std::runtime_error);
        else
            EXPECT_EQ(f.thrown, nullptr);
    }
}

TEST(task_graph, destroys_callables_that_ran_that_threw_and_that_were_cancelled_large_and_small) {
    const auto held = std::make_shared<int>();
    {
        task_graph g({.workers = {1}, .window = 4});
        for (int i = 0; i != 20; ++i) {
            const std::array<long, 10> large{};
            const auto a = g.submit([held, i] {
                if (i % 2 == 0) throw i;
            });
            g.submit({a}, [held, large] { EXPECT_EQ(large[3], 0); });
        }
    }
    EXPECT_EQ(held.use_count(), 1);
}

TEST(task_graph, a_callable_that_cannot_be_copied_leaves_all_as_it_was) {
    struct refuses {
        refuses() = default;
        refuses(const refuses&) { throw std::bad_alloc(); }
        void operator()() const {}
    };
    task_graph g({.workers = {0}});
    const refuses r;
    EXPECT_THROW(g.submit(r), std::bad_alloc);
    EXPECT_EQ(g.submitted(), 0U);
    EXPECT_EQ(g.submit([] {}), 0U);
}

TEST(task_graph, outputs_can_be_read_while_a_scope_is_open) {
    task_graph g({.workers = {1}});
    task_id a = 0;
    {
        task_graph::scope s(g);
        a = g.submit([](auto& t) { *t.template output<long>() = 7; }, {.bytes = sizeof(long)});
        g.wait();
        EXPECT_EQ(g.state(a), task_state::completed);
        ASSERT_NE(g.output<long>(a), nullptr);
        EXPECT_EQ(*g.output<long>(a), 7);
        const auto one_byte = g.submit([](auto& t) { *t.template output<char>() = 'x'; }, {.bytes = 1});
        g.wait();
        ASSERT_EQ(g.output(one_byte).size(), 1U);
        EXPECT_EQ(*g.output<char>(one_byte), 'x');
    }
    EXPECT_EQ(g.state(a), task_state::consumed);
    EXPECT_TRUE(g.output(a).empty());
    EXPECT_TRUE(g.output(99).empty()) << "never submitted";
}

TEST(task_graph, of_a_task_that_threw_or_was_cancelled_has_no_output) {
    task_graph g({.workers = {1}});
    const task_graph::scope s(g);
    const auto threw = g.submit([] { throw 1; }, {.bytes = sizeof(long)});
    const auto cancelled = g.submit({threw}, [] {}, {.bytes = sizeof(long)});
    g.wait();
    for (const task_id id : {threw, cancelled}) {
        EXPECT_EQ(g.state(id), task_state::completed);
        EXPECT_TRUE(g.output(id).empty()) << "nobody has written it";
        EXPECT_EQ(g.output<long>(id), nullptr);
    }
}

TEST(task_graph, a_scope_that_keeps_the_window_full_is_named) {
    task_graph g({.workers = {1}, .window = 4});
    task_graph::scope s(g);
    for (int i = 0; i != 4; ++i) g.submit([] {});
    EXPECT_THROW(g.submit([] {}), window_stuck);
    s.end();
    EXPECT_EQ(g.submit([] {}), 4U);
}

TEST(task_graph, a_scope_ends_once_and_behind_those_inside_it) {
    task_graph g({.workers = {0}});
    task_graph::scope outer(g);
    {
        const task_graph::scope inner(g);
        EXPECT_THROW(outer.end(), std::logic_error);
    }
    outer.end();
    EXPECT_THROW(outer.end(), std::logic_error);
    EXPECT_DEATH(
        {
            auto first = std::make_unique<task_graph::scope>(g);
            const task_graph::scope second(g);
            first.reset();
        },
        "a scope ends before one that is inside it");
}

TEST(task_graph, a_scope_is_neither_ended_nor_begun_by_a_task) {
    for (const unsigned workers : {0U, 1U}) {
        task_graph g({.workers = {workers}});
        task_graph::scope s(g);
        g.submit([&s] { s.end(); });
        g.submit([&g] { const task_graph::scope inner(g); });
        g.wait();
        EXPECT_EQ(g.counters(0).thrown, 2U);
        s.end();
        EXPECT_EQ(g.close().open_scopes, 0U);
    }
}

TEST(task_graph, a_close_ends_the_scopes_that_nobody_has_ended) {
    task_graph g({.workers = {1}});
    task_graph::scope s(g);
    g.submit([] {});
    const auto report = g.close();
    EXPECT_EQ(report.open_scopes, 1U);
    EXPECT_EQ(report.submitted, 1U);
    EXPECT_EQ(report.consumed, 1U);
    try {
        s.end();
        FAIL() << "it ended a second time";
    } catch (const std::logic_error& e) {
        EXPECT_STREQ(e.what(), "task_graph: a scope has ended before");
    }
}

TEST(task_graph, refuses_too_many_workers_of_any_type_and_too_many_types) {
    for (const std::vector<unsigned>& workers : std::vector<std::vector<unsigned>>{{4}, {1, 4}, {4, 0}})
        EXPECT_THROW((void)apiary::checked({.workers = workers}, 3), std::invalid_argument);
    EXPECT_NO_THROW((void)apiary::checked({.workers = std::vector<unsigned>(255)}, 3));
    try {
        task_graph g({.workers = std::vector<unsigned>(256)});
        FAIL() << "it took them";
    } catch (const std::invalid_argument& refused) {
        EXPECT_STREQ(refused.what(), "task_graph: 256 worker types; there can be 1 to 255");
    }
}

TEST(task_graph, refuses_more_workers_of_a_type_than_a_crew_can_have) {
    try {
        task_graph g({.workers = {1, 280}});
        FAIL() << "it took them";
    } catch (const std::invalid_argument& refused) {
        EXPECT_STREQ(refused.what(),
                     "task_graph: type 1 has 280 workers; a type can have 0 to 279: have several types for more");
    }
}

// Each task waits until all have begun: it takes all the workers at once.
void run_all_at_once(task_graph& g, const std::vector<unsigned>& workers) {
    std::vector<std::atomic<unsigned>> begun(workers.size());
    for (std::size_t type = 0; type != workers.size(); ++type)
        for (unsigned i = 0; i != workers[type]; ++i)
            g.submit(
                [&, type] {
                    ++begun[type];
                    while (begun[type] != workers[type]) std::this_thread::yield();
                },
                {.type = static_cast<std::uint8_t>(type)});
    g.wait();
}

TEST(task_graph, of_many_workers_has_them_all_at_work) {
    for (const std::vector<unsigned>& workers :
         {std::vector<unsigned>{64}, std::vector<unsigned>{100}, std::vector<unsigned>{64, 64, 64, 64}})
        for (const ready_policy policy : policies) {
            task_graph g({.workers = workers, .submitter_helps = false, .policy = policy});
            for (int again = 0; again != 3; ++again) run_all_at_once(g, workers);
            const auto report = g.close();
            EXPECT_EQ(report.submitted, report.consumed);
            for (std::size_t type = 0; type != workers.size(); ++type)
                EXPECT_EQ(report.types[type].ran, 3 * workers[type]);
        }
}

// A task makes all of them ready: they lie in its worker's deque, or on the desk, and none is posted.
TEST(task_graph, of_many_workers_has_them_all_at_the_successors_of_one_task) {
    for (const unsigned workers : {64U, 100U})
        for (const ready_policy policy : policies) {
            task_graph g({.workers = {workers}, .submitter_helps = false, .policy = policy});
            std::atomic<bool> all_there = false;
            std::atomic<unsigned> begun = 0;
            const auto first = g.submit([&] {
                while (!all_there) std::this_thread::yield();
            });
            for (unsigned i = 0; i != workers; ++i)
                g.submit({first}, [&] {
                    ++begun;
                    while (begun != workers) std::this_thread::yield();
                });
            all_there = true;
            g.wait();
            EXPECT_EQ(begun, workers);
        }
}

TEST(task_graph, of_as_many_workers_as_there_can_be_works) {
    task_graph g({.workers = {279}});
    run_all_at_once(g, {279});
    EXPECT_EQ(g.close().consumed, 279U);
}

TEST(task_graph, refuses_bad_input) {
    task_graph g({.workers = {1, 0}, .window = 8, .dependencies = 4, .output_bytes = 64});
    const auto a = g.submit([] {});
    EXPECT_THROW(g.submit({a + 1}, [] {}), std::invalid_argument) << "itself";
    EXPECT_THROW(g.submit({a + 2}, [] {}), std::invalid_argument) << "unknown";
    EXPECT_THROW(g.submit([] {}, {.type = 1}), std::invalid_argument) << "a type without workers";
    for (int type = 2; type != 256; ++type)
        EXPECT_THROW(g.submit([] {}, {.type = static_cast<std::uint8_t>(type)}), std::invalid_argument) << type;
    EXPECT_THROW(g.submit([] {}, {.bytes = 65}), std::length_error);
    EXPECT_THROW(g.submit({a, a, a, a, a}, [] {}), std::length_error);
    EXPECT_EQ(g.submitted(), 1U);
    EXPECT_THROW((void)g.state(a + 1), std::invalid_argument) << "nobody has submitted it";
    EXPECT_THROW((void)g.state(a + 8), std::invalid_argument) << "another task's slot";
    EXPECT_TRUE(g.output(a + 8).empty());
    EXPECT_EQ(g.counters(1).ran, 0U);
    EXPECT_THROW((void)g.counters(2), std::invalid_argument) << "no such type";
    EXPECT_EQ(g.close().consumed, 1U);
    EXPECT_EQ(g.state(a), task_state::consumed);
    EXPECT_THROW(g.submit([] {}), std::logic_error) << "after close";
    EXPECT_THROW(task_graph::scope{g}, std::logic_error);
    EXPECT_EQ(g.close().submitted, 1U) << "a second close says the same";

    EXPECT_THROW(task_graph({.workers = {}}), std::invalid_argument);
    EXPECT_THROW(task_graph({.workers = {1}, .window = 100}), std::invalid_argument);
    EXPECT_THROW(task_graph({.workers = {1}, .at_once = 0}), std::invalid_argument);
    task_graph idle({.workers = {0}, .submitter_helps = false});
    EXPECT_THROW(idle.submit([] {}), std::invalid_argument) << "nobody would run it";
}

// What lies after the numbers of workers is not zero, where the heap gives out what was given back last.
TEST(task_graph, refuses_the_type_after_the_last) {
    const task_graph_config config{.workers = {1, 0, 0, 0}};
    std::vector<unsigned>(6, 1U).swap(*std::make_unique<std::vector<unsigned>>());
    task_graph g(config);
    EXPECT_THROW(g.submit([] {}, {.type = 4}), std::invalid_argument);
}

TEST(task_graph, a_task_that_submits_fails) {
    for (const unsigned workers : {0U, 1U}) {
        task_graph g({.workers = {workers}});
        g.submit([&g] { g.submit([] {}); });
        g.submit([&g] { g.wait(); });
        g.wait();
        EXPECT_EQ(g.counters(0).thrown, 2U);
        EXPECT_EQ(g.submitted(), 2U);
    }
}

TEST(task_graph, a_task_may_submit_to_another_graph) {
    task_graph outer({.workers = {1}});
    int seen = 0;
    outer.submit([&] {
        task_graph inner({.workers = {1}});
        inner.submit([&] { seen = 1; });
        inner.wait();
    });
    outer.wait();
    EXPECT_EQ(outer.counters(0).thrown, 0U);
    EXPECT_EQ(seen, 1);
}

// The inner task lies upon the outer one, on one stack: a wait there would be inside the outer graph's own.
TEST(task_graph, a_task_that_submits_from_within_another_graph_fails) {
    for (const bool several : {false, true})
        for (const unsigned workers : {0U, 1U}) {
            task_graph outer({.workers = {workers}, .several_submitters = several});
            int refused = 0;
            outer.submit([&] {
                task_graph middle({.workers = {0}}), inner({.workers = {0}});
                middle.submit([&] {
                    inner.submit([&] {
                        try {
                            outer.submit([] {});
                        } catch (const std::logic_error&) {
                            ++refused;
                        }
                    });
                    inner.wait();
                });
                middle.wait();
                inner.submit([] {});
                inner.wait();
                try {
                    outer.submit([] {});  // still a task of that graph, after it has been the submitter of others
                } catch (const std::logic_error&) {
                    ++refused;
                }
            });
            outer.wait();
            EXPECT_EQ(refused, 2);
            EXPECT_EQ(outer.submitted(), 1U);
            EXPECT_EQ(outer.counters(0).thrown, 0U);
        }
}

TEST(task_graph, streams_many_laps_of_a_small_window) {
    task_graph g({.workers = {2}, .window = 32, .dependencies = 64, .output_bytes = 1024});
    std::uint64_t last = 0;
    constexpr task_id tasks = 50'000;
    for (task_id id = 0; id != tasks; ++id) {
        const std::array<task_id, 1> after{id == 0 ? 0 : id - 1};
        g.submit(std::span(after).first(id == 0 ? 0 : 1),
                 [&last](auto& t) {
                     const auto* before = t.inputs() == 0 ? nullptr : t.template input<std::uint64_t>(0);
                     *t.template output<std::uint64_t>() = last = before == nullptr ? last + 1 : *before + 1;
                 },
                 {.bytes = static_cast<std::uint32_t>(8 + id % 5 * 24)});
    }
    const auto report = g.close();
    EXPECT_EQ(last, tasks);
    EXPECT_EQ(report.consumed, tasks);
}

}  // namespace
}  // namespace task_graph_test
