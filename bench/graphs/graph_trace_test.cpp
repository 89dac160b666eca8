#include <graphs/graph_trace.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/schedulers/task_graph/task_graph.hpp>
#include <graphs/graph_generators.hpp>

namespace graph_trace_test {
namespace {

using apiary::graph_plan;
using apiary::graph_trace;
using apiary::ready_policy;

TEST(graph_trace, of_a_real_run_has_each_task_once_behind_its_producers_and_one_at_a_time_on_a_worker) {
    const graph_plan plan = apiary::cholesky_plan(6, 0, 1);
    for (const ready_policy policy :
         {ready_policy::fifo, ready_policy::min_clock, ready_policy::critical_path, ready_policy::locality}) {
        apiary::task_graph g({.workers = {1, 2}, .policy = policy});
        const auto run = apiary::run_plan(g, plan, [](std::size_t) {});
        ASSERT_EQ(run.trace.size(), plan.size());
        EXPECT_EQ(run.makespan_ns, run.trace.back().end_ns);
        std::vector<apiary::traced_task> of(plan.size());
        std::vector<int> seen(plan.size());
        for (const auto& t : run.trace) of[t.task] = t, ++seen[t.task];
        EXPECT_EQ(seen, std::vector<int>(plan.size(), 1));
        std::array<std::array<std::int64_t, 3>, 2> free{};
        for (const auto& t : run.trace) {
            EXPECT_EQ(t.type, plan[t.task].type);
            ASSERT_LT(t.worker, 2U) << "a thread and the submitter; two threads";
            EXPECT_GE(t.begin_ns, free[t.type][t.worker]);
            free[t.type][t.worker] = t.end_ns;
            for (const auto p : plan[t.task].after) EXPECT_GE(t.begin_ns, of[p].end_ns);
        }
    }
}

TEST(graph_trace, of_a_plan_that_is_refused_half_way_ends_behind_the_tasks_that_were_submitted) {
    graph_plan plan = apiary::chain_plan(2, 0);
    plan[1].type = 1;
    apiary::task_graph g({.workers = {1}, .submitter_helps = false});
    bool ended = false;
    const auto slowly = [&ended](std::size_t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ended = true;
    };
    EXPECT_THROW((void)apiary::run_plan(g, plan, slowly), std::invalid_argument) << "no workers of type 1";
    EXPECT_EQ(g.state(0), apiary::task_state::consumed);
    g.wait();
    EXPECT_TRUE(ended);
}

TEST(graph_trace, leaves_out_what_threw_and_what_was_cancelled_for_it) {
    const graph_plan plan = apiary::chain_plan(3, 7);
    apiary::task_graph g({.workers = {0}});
    const auto run = apiary::run_plan(g, plan, [](std::size_t i) {
        if (i == 1) throw std::runtime_error("task 1");
    });
    ASSERT_EQ(run.trace.size(), 1U);
    EXPECT_EQ(run.trace[0].task, 0U);
    const graph_plan measured = apiary::with_costs_of(plan, {&run.trace, 1});
    EXPECT_EQ(measured[1].cost_ns, 7);
    EXPECT_EQ(measured[2].cost_ns, 7);
}

// A graph that runs its tasks as it is waited for, the newest first, by a clock that only they move.
struct graph_by_hand {
    struct context {
        unsigned worker() const { return 0; }
    };
    std::int64_t time = 0, submit_takes = 0;
    std::uint64_t id = 0, step = 1;
    std::vector<std::function<void(context&)>> tasks;
    std::vector<std::vector<std::uint64_t>> after;

    std::int64_t now_ns() const { return time; }
    template <class F>
    std::uint64_t submit(const std::vector<std::uint64_t>& producers, F f, apiary::task_options) {
        tasks.push_back(f), after.push_back(producers), time += submit_takes;
        return std::exchange(id, id + step);
    }
    void wait() {
        context c;
        for (; !tasks.empty(); tasks.pop_back()) tasks.back()(c);
    }
};

TEST(graph_trace, has_a_task_of_no_time_behind_the_one_that_ended_as_it_began) {
    graph_by_hand g;
    const auto run = apiary::run_plan(g, graph_plan(2), [&g](std::size_t i) { g.time += i == 1 ? 10 : 0; });
    ASSERT_EQ(run.trace.size(), 2U);
    EXPECT_EQ(run.trace[0].task, 1U);
    EXPECT_EQ(run.trace[1].task, 0U);
}

TEST(graph_trace, tells_when_the_last_task_was_submitted_and_when_the_last_one_ended) {
    graph_by_hand g;
    g.time = 1000, g.submit_takes = 5;
    const auto run = apiary::run_plan(g, graph_plan(3), [&g](std::size_t) { g.time += 10; });
    EXPECT_EQ(run.submitted_ns, 15);
    EXPECT_EQ(run.makespan_ns, 45);
}

TEST(graph_plan, names_producers_by_the_ids_that_they_were_given) {
    graph_by_hand g;
    g.id = 100, g.step = 3;  // other submitters' tasks lie between
    apiary::submit_plan(g, apiary::chain_plan(3, 0), [](std::size_t) {});
    EXPECT_EQ(g.after, (std::vector<std::vector<std::uint64_t>>{{}, {100}, {103}}));
}

TEST(graph_trace, gives_the_median_of_what_a_task_took_as_its_cost) {
    const graph_plan plan = apiary::chain_plan(2, 7);
    const std::vector<graph_trace> traces{{{0, 0, 0, 10, 15}}, {{0, 0, 0, 10, 110}}, {{0, 0, 1, 10, 20}}};
    const graph_plan measured = apiary::with_costs_of(plan, traces);
    EXPECT_EQ(measured[0].cost_ns, 10);
    EXPECT_EQ(measured[1].cost_ns, 7) << "of no trace";
}

TEST(graph_trace, draws_itself) {
    const graph_plan plan = apiary::chain_plan(2, 1000);
    const graph_trace trace{{0, 0, 0, 0, 1000}, {1, 0, 1, 1000, 2000}};
    const apiary::titled_trace one{"a < b", &plan, &trace};
    std::ostringstream out;
    apiary::write_picture(out, {&one, 1});
    const std::string svg = out.str();
    EXPECT_NE(svg.find("a &lt; b: 2.000 us"), std::string::npos);
    EXPECT_NE(svg.find("<rect x=\"630\" y=\"49\" width=\"550\" height=\"20\""), std::string::npos) << svg;
    EXPECT_NE(svg.find("<title>chain_1_0</title>"), std::string::npos);
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

TEST(graph_trace, draws_a_title_a_colour_for_each_kind_of_task_and_places_to_six_digits) {
    graph_plan plan(2);
    plan[0].name = "gemm_1", plan[1].name = "trsm_1";
    const graph_trace trace{{0, 0, 0, 0, 1}, {1, 0, 0, 1, 3}};
    const apiary::titled_trace one{"run", &plan, &trace};
    std::ostringstream out;
    apiary::write_picture(out, {&one, 1});
    for (const char* part :
         {"<text x=\"80\" y=\"20\">run: 0.003 us</text>",
          "<rect x=\"630\" y=\"10\" width=\"10\" height=\"10\" fill=\"#d1495b\"/><text x=\"644\" y=\"20\">gemm</text>",
          "<rect x=\"720\" y=\"10\" width=\"10\" height=\"10\" fill=\"#edae49\"/><text x=\"734\" y=\"20\">trsm</text>",
          "<text x=\"4\" y=\"42\">0/0</text>", "<rect x=\"446.667\" y=\"28\" width=\"733.333\" height=\"20\""})
        EXPECT_NE(out.str().find(part), std::string::npos) << part << "\nin\n" << out.str();
}

TEST(graph_trace, draws_many_workers_in_lower_rows) {
    const graph_plan plan = apiary::chain_plan(1, 0);
    for (const unsigned workers : {16U, 17U}) {
        graph_trace trace;
        for (unsigned worker = 0; worker != workers; ++worker) trace.push_back({0, 0, worker, 0, 1});
        std::ostringstream out;
        EXPECT_EQ(apiary::draw_trace(out, plan, trace, "run", 0),
                  workers == 16 ? 24U + 16 * 21 + 16 : 24U + 17 * 7 + 16);
        EXPECT_NE(out.str().find(workers == 16 ? "height=\"20\"" : "height=\"6\""), std::string::npos);
    }
}

}  // namespace
}  // namespace graph_trace_test
