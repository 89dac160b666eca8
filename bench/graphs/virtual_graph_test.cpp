// Plans on task_graph itself, in virtual time: sound schedules, the same each time, and what workers, policies, windows
// and links change.
#include <graphs/virtual_graph.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <graphs/drawn_costs.hpp>
#include <graphs/graph_generators.hpp>

#include "virtual/tests/round_prices.hpp"

namespace virtual_graph_test {
namespace {

using apiary::graph_plan;
using apiary::ready_policy;
using apiary::task_graph_config;
using apiary::virtual_graph_config;
using apiary::virtual_graph_report;

constexpr ready_policy policies[] = {ready_policy::fifo, ready_policy::min_clock, ready_policy::critical_path,
                                     ready_policy::locality};

virtual_graph_report run(const graph_plan& plan, task_graph_config graph, std::int64_t transfer_ns_per_kb = 0) {
    graph.submitter_helps = false;
    return apiary::run_in_virtual_time(plan, {.graph = std::move(graph),
                                              .priced = apiary::virt::test::round_prices(),
                                              .transfer_ns_per_kb = transfer_ns_per_kb});
}

// What any schedule must hold.
void expect_sound(const graph_plan& plan, const virtual_graph_report& r) {
    ASSERT_EQ(r.trace.size(), plan.size());
    EXPECT_GE(r.makespan_ns, r.critical_path_ns);
    std::vector<const apiary::traced_task*> of(plan.size());
    std::map<std::pair<unsigned, unsigned>, std::int64_t> free_at;
    for (const auto& t : r.trace) {
        ASSERT_EQ(of[t.task], nullptr) << "a task ran twice";
        of[t.task] = &t;
        EXPECT_EQ(t.type, plan[t.task].type);
        EXPECT_GE(t.end_ns - t.begin_ns, plan[t.task].cost_ns);
        auto& free = free_at[{t.type, t.worker}];
        EXPECT_GE(t.begin_ns, free) << "a worker ran two tasks at a time";
        free = t.end_ns;
    }
    for (std::size_t i = 0; i != plan.size(); ++i)
        for (const auto p : plan[i].after) EXPECT_GE(of[i]->begin_ns, of[p]->end_ns) << i;
}

TEST(virtual_graph, sound_for_shapes_policies_and_windows) {
    const std::vector<graph_plan> plans{apiary::stencil_plan(8, 10, 1'000), apiary::wavefront_plan(8, 8, 100),
                                        apiary::cholesky_plan(6, 6'000, 1), apiary::layered_plan(3, 20, 5, 400)};
    for (const graph_plan& plan : plans)
        for (const ready_policy policy : policies)
            for (const std::size_t window : {4U, 4096U})
                expect_sound(plan, run(plan, {.workers = {3, 5}, .window = window, .policy = policy}));
}

TEST(virtual_graph, the_same_each_time) {
    const auto plan = apiary::layered_plan(5, 30, 10, 1'000);
    const auto a = run(plan, {.workers = {7}}), b = run(plan, {.workers = {7}});
    EXPECT_EQ(a.makespan_ns, b.makespan_ns);
    EXPECT_EQ(a.counts.moves, b.counts.moves);
    ASSERT_EQ(a.trace.size(), b.trace.size());
    for (std::size_t i = 0; i != a.trace.size(); ++i) {
        EXPECT_EQ(a.trace[i].task, b.trace[i].task);
        EXPECT_EQ(a.trace[i].worker, b.trace[i].worker);
        EXPECT_EQ(a.trace[i].end_ns, b.trace[i].end_ns);
    }
}

// Tasks of a millisecond, beside which the scheduler's microseconds are little.
constexpr std::int64_t cost = 1'000'000;

TEST(virtual_graph, a_chain_takes_the_sum_of_its_costs_and_little_more) {
    for (const ready_policy policy : policies) {
        const auto r = run(apiary::chain_plan(10, cost), {.workers = {3}, .policy = policy});
        EXPECT_EQ(r.critical_path_ns, 10 * cost);
        EXPECT_EQ(r.work_ns, 10 * cost);
        EXPECT_GE(r.makespan_ns, 10 * cost);
        EXPECT_LT(r.makespan_ns, 11 * cost);
        EXPECT_NEAR(r.types[0].utilisation, 1.0 / 3, 0.02);
    }
}

TEST(virtual_graph, divides_independent_tasks_over_the_workers) {
    const auto r = run(apiary::layered_plan(1, 100, 1, cost), {.workers = {10}});
    EXPECT_GE(r.makespan_ns, 10 * cost);
    EXPECT_LT(r.makespan_ns, 12 * cost);
    EXPECT_EQ(r.types[0].ran, 100U);
}

TEST(virtual_graph, submits_and_tasks_cost_the_plain_instructions_that_are_given) {
    const auto plan = apiary::chain_plan(10, cost);
    virtual_graph_config c{.graph = {.workers = {1}, .submitter_helps = false},
                           .priced = apiary::virt::test::round_prices()};
    const auto before = apiary::run_in_virtual_time(plan, c);
    c.task_ns = 5'000;
    const auto dear_tasks = apiary::run_in_virtual_time(plan, c);
    EXPECT_NEAR(static_cast<double>(dear_tasks.makespan_ns - before.makespan_ns), 10 * 5'000, 1'000);
    c.task_ns = 0, c.submit_ns = 2 * cost;
    const auto slow_submitter = apiary::run_in_virtual_time(plan, c);
    EXPECT_GE(slow_submitter.submitted_ns, 20 * cost);
    EXPECT_GT(slow_submitter.makespan_ns, 21 * cost);
}

TEST(virtual_graph, critical_path_goes_the_long_way_first) {
    // Ten short tasks, then a chain of ten: a schedule that takes the short ones first ends late.
    graph_plan plan;
    for (int i = 0; i != 10; ++i) plan.push_back({.name = "short", .cost_ns = cost});
    for (std::uint64_t i = 0; i != 10; ++i) {
        plan.push_back({.name = "link", .cost_ns = cost});
        if (i != 0) plan.back().after = {9 + i};
    }
    const auto takes = [&](ready_policy policy) { return run(plan, {.workers = {2}, .policy = policy}).makespan_ns; };
    EXPECT_LT(takes(ready_policy::critical_path), 12 * cost);
    EXPECT_GT(takes(ready_policy::fifo), 14 * cost);
}

TEST(virtual_graph, locality_stays_on_the_worker) {
    const auto r = run(apiary::stencil_plan(1, 50, cost), {.workers = {4}, .policy = ready_policy::locality});
    for (const auto& t : r.trace) EXPECT_EQ(t.worker, r.trace.front().worker);
}

TEST(virtual_graph, a_small_window_costs_time) {
    const auto plan = apiary::wavefront_plan(16, 16, cost);
    const auto wide = run(plan, {.workers = {16}}), narrow = run(plan, {.workers = {16}, .window = 16});
    EXPECT_LT(wide.makespan_ns, wide.critical_path_ns + wide.critical_path_ns / 10);
    EXPECT_GT(narrow.makespan_ns, 3 * wide.makespan_ns / 2);
}

TEST(virtual_graph, hundreds_of_workers) {
    const auto plan = apiary::cholesky_plan(8, 600'000, 1);
    const auto r = run(plan, {.workers = {150, 150}, .policy = ready_policy::critical_path});
    expect_sound(plan, r);
    EXPECT_LT(r.makespan_ns, 2 * r.critical_path_ns);
}

TEST(virtual_graph, transfers_to_another_type_take_turns_on_its_link) {
    // Two tasks of type 0 put 2 kB out each; two of type 1 read one each, and share its link; one of type 0 reads both at
    // no cost.
    const graph_plan plan{{.name = "a", .bytes = 2048, .cost_ns = cost},
                          {.name = "b", .bytes = 2048, .cost_ns = cost},
                          {.name = "c", .type = 1, .cost_ns = cost, .after = {0}},
                          {.name = "d", .type = 1, .cost_ns = cost, .after = {1}},
                          {.name = "e", .cost_ns = cost, .after = {0, 1}}};
    const auto r = run(plan, {.workers = {2, 2}}, 10 * cost);
    expect_sound(plan, r);
    EXPECT_GE(r.makespan_ns, (1 + 2 * 20 + 1) * cost);
    EXPECT_LT(r.makespan_ns, 43 * cost);
    EXPECT_EQ(r.types[1].received_bytes, 4096U);
    EXPECT_EQ(r.types[0].received_bytes, 0U);
    EXPECT_LT(run(plan, {.workers = {2, 2}}).makespan_ns, 4 * cost) << "they share memory";
}

TEST(virtual_graph, refuses_bad_input) {
    const auto refused = [](const graph_plan& plan, virtual_graph_config c) {
        c.priced = apiary::virt::test::round_prices();
        EXPECT_THROW((void)apiary::run_in_virtual_time(plan, c), std::invalid_argument);
    };
    const auto plan = apiary::chain_plan(3, 1'000);
    refused({{.name = "a", .type = 1}}, {});
    refused(plan, {.graph = {.workers = {}}});
    refused(plan, {.graph = {.workers = {200, 200, 200, 200, 200, 200}}});
    refused(plan, {.submit_ns = -1});
    refused(plan, {.task_ns = -1});
    refused(plan, {.transfer_ns_per_kb = -1});
    refused(plan, {.task_ns = INT64_MAX});
    refused({{.name = "a", .cost_ns = -1}}, {});
    refused({{.name = "a", .after = {1}}, {.name = "b"}}, {});
    refused(apiary::chain_plan(2, INT64_MAX), {});
    EXPECT_EQ(apiary::run_in_virtual_time({}, {.priced = apiary::virt::test::round_prices()}).makespan_ns, 0);
}

// Predictions are compared with those of other versions.
TEST(drawn_costs, a_seed_draws_the_same_in_every_version) {
    const auto plan =
        apiary::with_drawn_costs(apiary::chain_plan(4, 1'000'000'000'000), apiary::cost_model::uniform, 7, 1);
    std::vector<std::int64_t> costs;
    for (const auto& t : plan) costs.push_back(t.cost_ns);
    EXPECT_EQ(costs,
              (std::vector<std::int64_t>{347'735'731'919, 1'543'093'112'663, 491'377'897'680, 1'904'061'382'736}));
}

TEST(drawn_costs, lie_about_the_plans) {
    const auto plan = apiary::layered_plan(1, 1000, 1, 1000);
    std::int64_t least = INT64_MAX, most = 0, sum = 0;
    for (const auto& t : apiary::with_drawn_costs(plan, apiary::cost_model::uniform, 7, 0.5))
        least = std::min(least, t.cost_ns), most = std::max(most, t.cost_ns);
    EXPECT_GE(least, 500);
    EXPECT_LT(least, 550);
    EXPECT_GT(most, 1450);
    EXPECT_LE(most, 1500);
    for (const auto& t : apiary::with_drawn_costs(plan, apiary::cost_model::exponential, 3)) sum += t.cost_ns;
    EXPECT_NEAR(static_cast<double>(sum) / 1000, 1000, 150) << "the mean is the plan's";
    for (const double spread : {-0.1, 1.1, std::nan("")})
        EXPECT_THROW((void)apiary::with_drawn_costs(plan, apiary::cost_model::uniform, 1, spread),
                     std::invalid_argument);
}

}  // namespace
}  // namespace virtual_graph_test
