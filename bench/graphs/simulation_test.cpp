#include <graphs/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <graphs/graph_generators.hpp>

namespace simulation_test {
namespace {

using apiary::cost_model;
using apiary::graph_plan;
using apiary::planned_task;
using apiary::ready_policy;
using apiary::simulation_config;
using apiary::simulation_report;

constexpr ready_policy policies[] = {ready_policy::fifo, ready_policy::min_clock, ready_policy::critical_path,
                                     ready_policy::locality};

simulation_report simulate(const graph_plan& plan, const simulation_config& config) {
    return apiary::simulation(plan, config).run();
}

// What any schedule must hold.
void expect_sound(const graph_plan& plan, const simulation_config& config, const simulation_report& r) {
    ASSERT_EQ(r.trace.size(), plan.size());
    EXPECT_EQ(r.submitted, plan.size());
    EXPECT_EQ(r.consumed, plan.size());
    EXPECT_GE(r.makespan_ns, r.critical_path_ns);
    std::vector<const apiary::traced_task*> of(plan.size());
    std::map<std::pair<unsigned, unsigned>, std::int64_t> free_at;
    std::int64_t busy = 0;
    for (const auto& t : r.trace) {
        ASSERT_EQ(of[t.task], nullptr) << "a task ran twice";
        of[t.task] = &t;
        EXPECT_EQ(t.type, plan[t.task].type);
        EXPECT_LT(t.worker, config.workers[t.type]);
        auto& free = free_at[{t.type, t.worker}];
        EXPECT_GE(t.begin_ns, free) << "a worker ran two tasks at a time";
        free = t.end_ns;
        busy += t.end_ns - t.begin_ns;
    }
    EXPECT_EQ(busy, r.work_ns);
    for (std::size_t i = 0; i != plan.size(); ++i)
        for (const auto p : plan[i].after) EXPECT_GE(of[i]->begin_ns, of[p]->end_ns) << i;
}

TEST(simulation, of_a_chain_takes_the_sum_of_its_costs) {
    for (const ready_policy policy : policies) {
        const simulation_config config{.workers = {3}, .policy = policy};
        const auto plan = apiary::chain_plan(10, 7);
        const auto r = simulate(plan, config);
        expect_sound(plan, config, r);
        EXPECT_EQ(r.makespan_ns, 70);
        EXPECT_EQ(r.critical_path_ns, 70);
        EXPECT_DOUBLE_EQ(r.types[0].utilisation, 1.0 / 3);
    }
}

TEST(simulation, divides_independent_tasks_over_the_workers) {
    const auto plan = apiary::layered_plan(1, 100, 1, 10);
    const auto r = simulate(plan, {.workers = {10}});
    EXPECT_EQ(r.makespan_ns, 100);
    EXPECT_DOUBLE_EQ(r.types[0].utilisation, 1.0);
    EXPECT_EQ(r.types[0].longest_queue, 90U);
    EXPECT_DOUBLE_EQ(r.types[0].mean_queue, 45.0) << "90, 80, … 0 for ten each";
}

TEST(simulation, a_hand_over_and_a_submit_take_their_time) {
    EXPECT_EQ(simulate(apiary::chain_plan(10, 7), {.hand_over_ns = 3}).makespan_ns, 100);
    const auto slow_submitter = simulate(apiary::layered_plan(1, 10, 1, 5), {.workers = {10}, .submit_ns = 20});
    EXPECT_EQ(slow_submitter.submitted_ns, 200);
    EXPECT_EQ(slow_submitter.makespan_ns, 205);
}

TEST(simulation, sound_for_all_shapes_policies_and_windows) {
    const std::vector<graph_plan> plans{apiary::stencil_plan(8, 20, 100), apiary::fft_plan(16, 8, 50),
                                        apiary::tree_plan(6, 30),         apiary::wavefront_plan(12, 12, 10),
                                        apiary::cholesky_plan(8, 600, 1), apiary::layered_plan(3, 20, 20, 40)};
    for (const graph_plan& plan : plans)
        for (const ready_policy policy : policies)
            for (const cost_model costs : {cost_model::fixed, cost_model::uniform, cost_model::exponential})
                for (const std::size_t slots : {4U, 64U, 4096U}) {
                    const simulation_config config{.workers = {3, 5},
                                                   .policy = policy,
                                                   .costs = costs,
                                                   .window = {.slots = slots, .dependencies = 64}};
                    const auto r = simulate(plan, config);
                    expect_sound(plan, config, r);
                    if (slots == 4) {
                        EXPECT_NE(r.waits, 0U);
                    }
                }
}

TEST(simulation, the_same_seed_gives_the_same_report_and_another_one_another) {
    const auto plan = apiary::layered_plan(5, 30, 30, 1000);
    simulation_config config{.workers = {7}, .costs = cost_model::exponential, .seed = 3};
    const auto a = simulate(plan, config), b = simulate(plan, config);
    EXPECT_EQ(a.makespan_ns, b.makespan_ns);
    EXPECT_EQ(a.trace.size(), b.trace.size());
    for (std::size_t i = 0; i != a.trace.size(); ++i) {
        EXPECT_EQ(a.trace[i].task, b.trace[i].task);
        EXPECT_EQ(a.trace[i].worker, b.trace[i].worker);
    }
    config.seed = 4;
    EXPECT_NE(simulate(plan, config).makespan_ns, a.makespan_ns);
    EXPECT_NEAR(static_cast<double>(a.work_ns) / 900, 1000, 150) << "the mean is the plan's";
}

TEST(simulation, uniform_costs_lie_as_far_below_the_plans_as_above) {
    const auto plan = apiary::layered_plan(1, 1000, 1, 1000);
    const auto r = simulate(plan, {.costs = cost_model::uniform, .spread = 0.5, .seed = 7});
    std::int64_t least = INT64_MAX, most = 0;
    for (const auto& t : r.trace)
        least = std::min(least, t.end_ns - t.begin_ns), most = std::max(most, t.end_ns - t.begin_ns);
    EXPECT_GE(least, 500);
    EXPECT_LT(least, 550);
    EXPECT_GT(most, 1450);
    EXPECT_LE(most, 1500);
}

// Predictions are compared with those of other versions.
TEST(simulation, a_seed_draws_the_same_costs_in_every_version) {
    const auto r =
        simulate(apiary::chain_plan(4, 1'000'000'000'000), {.costs = cost_model::uniform, .spread = 1, .seed = 7});
    std::vector<std::int64_t> costs;
    for (const auto& t : r.trace) costs.push_back(t.end_ns - t.begin_ns);
    EXPECT_EQ(costs,
              (std::vector<std::int64_t>{347'735'731'919, 1'543'093'112'663, 491'377'897'680, 1'904'061'382'736}));
}

TEST(simulation, critical_path_goes_the_long_way_first) {
    // Ten short tasks, then a chain of ten: a schedule that takes the short ones first ends late.
    graph_plan plan;
    for (int i = 0; i != 10; ++i) plan.push_back({.name = "short" + std::to_string(i), .cost_ns = 10});
    for (std::uint64_t i = 0; i != 10; ++i) {
        plan.push_back({.name = "link" + std::to_string(i), .cost_ns = 10});
        if (i != 0) plan.back().after = {9 + i};
    }
    // The first two are begun before the chain is known; then the chain has one worker, and the rest the other.
    EXPECT_EQ(simulate(plan, {.workers = {2}, .policy = ready_policy::critical_path}).makespan_ns, 110);
    EXPECT_EQ(simulate(plan, {.workers = {2}, .policy = ready_policy::fifo}).makespan_ns, 150);
}

TEST(simulation, min_clock_takes_the_worker_that_has_worked_least) {
    // A long task, then short ones one by one: of two idle workers the rested one has its turn.
    graph_plan plan{{.name = "long", .cost_ns = 100}};
    for (std::uint64_t i = 0; i != 3; ++i)
        plan.push_back({.name = "s" + std::to_string(i), .cost_ns = 10, .after = {i}});
    const auto worker_of = [&](ready_policy policy, std::size_t i) {
        return simulate(plan, {.workers = {2}, .policy = policy}).trace[i].worker;
    };
    EXPECT_EQ(worker_of(ready_policy::fifo, 1), 0U);
    EXPECT_EQ(worker_of(ready_policy::min_clock, 1), 1U);
    EXPECT_EQ(worker_of(ready_policy::min_clock, 3), 1U) << "30 are less than 100";
}

TEST(simulation, locality_stays_on_the_worker) {
    const auto plan = apiary::stencil_plan(1, 50, 10);
    const auto r = simulate(plan, {.workers = {4}, .policy = ready_policy::locality});
    for (const auto& t : r.trace) EXPECT_EQ(t.worker, 0U);
    EXPECT_EQ(r.types[0].longest_queue, 0U);
}

TEST(simulation, by_locality_runs_successors_by_priority_and_then_by_age) {
    graph_plan plan(1);
    plan[0].cost_ns = 1'000'000;  // all have been submitted by then
    for (const int priority : {0, 5, -3, 7, 7, 2})
        plan.push_back({.name = {}, .priority = static_cast<std::int8_t>(priority), .cost_ns = 10, .after = {0}});
    std::vector<std::uint64_t> order;
    for (const auto& t : simulate(plan, {.workers = {1}, .policy = ready_policy::locality}).trace)
        order.push_back(t.task);
    EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 4, 5, 2, 6, 1, 3}));
}

TEST(simulation, a_small_window_costs_time) {
    const auto plan = apiary::wavefront_plan(32, 32, 100);
    const auto wide = simulate(plan, {.workers = {32}}),
               narrow = simulate(plan, {.workers = {32}, .window = {.slots = 16}});
    EXPECT_EQ(wide.makespan_ns, wide.critical_path_ns);
    EXPECT_GT(narrow.makespan_ns, 3 * wide.makespan_ns);
    EXPECT_EQ(wide.waits, 1U) << "for the end alone";
}

TEST(simulation, of_a_thousand_workers) {
    const auto plan = apiary::cholesky_plan(32, 60'000, 1);
    const simulation_config config{.workers = {500, 500}, .policy = ready_policy::critical_path};
    const auto r = simulate(plan, config);
    expect_sound(plan, config, r);
    EXPECT_LT(r.makespan_ns, 2 * r.critical_path_ns);
}

TEST(simulation, outputs_that_fill_the_heap_hold_the_submitter_up) {
    graph_plan plan;
    for (int i = 0; i != 10; ++i) plan.push_back({.name = "t" + std::to_string(i), .bytes = 64, .cost_ns = 10});
    const auto r = simulate(plan, {.workers = {10}, .window = {.output_bytes = 128}});
    EXPECT_EQ(r.makespan_ns, 50) << "two at a time";
}

TEST(simulation, transfers_to_another_type_take_turns_on_its_link) {
    // Two tasks of type 0 put 2 kB out each; one of type 1 reads both, one of type 0 reads one at no cost.
    const graph_plan plan{{.name = "a", .bytes = 2048, .cost_ns = 10},
                          {.name = "b", .bytes = 2048, .cost_ns = 10},
                          {.name = "c", .type = 1, .cost_ns = 5, .after = {0, 1}},
                          {.name = "d", .cost_ns = 5, .after = {0}}};
    const simulation_config config{.workers = {2, 1}, .transfer_ns_per_kb = 100};
    const auto r = simulate(plan, config);
    expect_sound(plan, config, r);
    EXPECT_EQ(r.makespan_ns, 10 + 2 * 200 + 5);
    EXPECT_EQ(r.types[1].received_bytes, 4096U);
    EXPECT_EQ(r.types[0].received_bytes, 0U);
    const auto shared = simulate(plan, {.workers = {2, 1}});
    EXPECT_EQ(shared.makespan_ns, 15) << "they share memory";
    EXPECT_EQ(shared.types[1].received_bytes, 0U);
    const graph_plan large{{.name = "a", .bytes = 1U << 20}, {.name = "b", .type = 1, .after = {0}}};
    EXPECT_EQ(simulate(large, config).makespan_ns, 1024 * 100) << "a kB is 1024 bytes";
}

TEST(simulation, refuses_bad_input) {
    graph_plan plan{{.name = "a", .type = 1}};
    EXPECT_THROW((void)simulate(plan, {.workers = {1}}), std::invalid_argument);
    EXPECT_THROW((void)simulate(plan, {.workers = {1, 0}}), std::invalid_argument);
    plan = {{.name = "a"}};
    EXPECT_THROW((void)simulate(plan, {.workers = {}}), std::invalid_argument);
    plan = {{.name = "a", .cost_ns = -1}};
    EXPECT_THROW((void)simulate(plan, {}), std::invalid_argument);
    plan = {{.name = "a", .after = {1}}, {.name = "b"}};
    for (const ready_policy policy : policies)
        EXPECT_THROW((void)simulate(plan, {.policy = policy}), std::invalid_argument);
    plan = {{.name = "a", .bytes = 200}};
    EXPECT_THROW((void)simulate(plan, {.window = {.output_bytes = 64}}), std::length_error);
    EXPECT_EQ(simulate({}, {}).makespan_ns, 0);
}

// A task would end before it begins, or a sum would wrap around.
TEST(simulation, refuses_times_that_are_none) {
    const auto plan = apiary::chain_plan(3, 1000);
    for (const double spread : {-0.1, 1.1, std::nan("")})
        EXPECT_THROW((void)simulate(plan, {.costs = cost_model::uniform, .spread = spread}), std::invalid_argument);
    EXPECT_THROW((void)simulate(plan, {.submit_ns = -1}), std::invalid_argument);
    EXPECT_THROW((void)simulate(plan, {.hand_over_ns = -1}), std::invalid_argument);
    EXPECT_THROW((void)simulate(plan, {.transfer_ns_per_kb = -1}), std::invalid_argument);
    EXPECT_THROW((void)simulate(plan, {.hand_over_ns = INT64_MAX}), std::invalid_argument);
    for (const cost_model costs : {cost_model::fixed, cost_model::uniform, cost_model::exponential})
        EXPECT_THROW((void)simulate(apiary::chain_plan(2, INT64_MAX), {.costs = costs}), std::invalid_argument);
    const graph_plan transfer{{.name = "a", .bytes = 1024}, {.name = "b", .type = 1, .after = {0}}};
    EXPECT_THROW((void)simulate(transfer, {.workers = {1, 1}, .transfer_ns_per_kb = std::int64_t{1} << 52}),
                 std::invalid_argument);
    const auto of_years = apiary::chain_plan(2, std::int64_t{1} << 60);
    EXPECT_EQ(simulate(of_years, {.policy = ready_policy::critical_path}).makespan_ns, std::int64_t{1} << 61);
}

TEST(simulation, runs_once) {
    const auto plan = apiary::chain_plan(3, 10);
    apiary::simulation once(plan, {});
    EXPECT_EQ(once.run().makespan_ns, 30);
    EXPECT_THROW((void)once.run(), std::logic_error) << "its window and its clocks are those of the first";
}

TEST(simulation, writes_a_trace) {
    const auto plan = apiary::chain_plan(2, 1500);
    std::ostringstream out;
    apiary::write_trace(out, plan, simulate(plan, {}).trace);
    EXPECT_EQ(out.str(),
              "[\n{\"ph\":\"X\",\"name\":\"chain_0_0\",\"pid\":0,\"tid\":0,\"ts\":0.000,\"dur\":1.500},\n"
              "{\"ph\":\"X\",\"name\":\"chain_1_0\",\"pid\":0,\"tid\":0,\"ts\":1.500,\"dur\":1.500}\n]\n");
}

}  // namespace
}  // namespace simulation_test
