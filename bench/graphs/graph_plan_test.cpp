#include <graphs/graph_plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <apiary/bench/allocation_count.hpp>
#include <apiary/schedulers/task_graph/task_graph.hpp>
#include <graphs/graph_generators.hpp>

namespace graph_plan_test {
namespace {

using apiary::graph_plan;

graph_plan read(const std::string& text) {
    std::istringstream in(text);
    return apiary::read_plan(in);
}
std::string refusal(const std::string& text) {
    try {
        (void)read(text);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "accepted";
}
std::vector<std::uint64_t> after(const graph_plan& plan, std::size_t i) { return plan.at(i).after; }
using places = std::vector<std::uint64_t>;

TEST(graph_plan, reads_tasks_in_any_order_and_puts_producers_first) {
    const auto plan = read(
        "# a diamond\nd after b c\nb type 1 cost 20 after a\n\nc bytes 64 priority -3 after a  # late\na cost 10\n");
    ASSERT_EQ(plan.size(), 4U);
    EXPECT_EQ(plan[0].name, "a");
    EXPECT_EQ(plan[0].cost_ns, 10);
    EXPECT_EQ(plan[1].name, "b");
    EXPECT_EQ(plan[1].type, 1);
    EXPECT_EQ(plan[2].bytes, 64U);
    EXPECT_EQ(plan[2].priority, -3);
    EXPECT_EQ(plan[3].name, "d");
    EXPECT_EQ(after(plan, 3), (places{1, 2}));
}

TEST(graph_plan, what_is_written_reads_the_same) {
    auto plan = apiary::cholesky_plan(4, 600, 1);
    plan[3].priority = 7, plan[2].bytes = 32;
    std::ostringstream out;
    apiary::write_plan(out, plan);
    const auto again = read(out.str());
    ASSERT_EQ(again.size(), plan.size());
    for (std::size_t i = 0; i != plan.size(); ++i) {
        EXPECT_EQ(again[i].name, plan[i].name);
        EXPECT_EQ(again[i].after, plan[i].after);
        EXPECT_EQ(again[i].cost_ns, plan[i].cost_ns);
        EXPECT_EQ(again[i].type, plan[i].type);
        EXPECT_EQ(again[i].bytes, plan[i].bytes);
        EXPECT_EQ(again[i].priority, plan[i].priority);
    }
}

TEST(graph_plan, refuses_what_is_no_graph_and_says_where) {
    EXPECT_EQ(refusal("a after b\nb after c\nc after a d\nd"), "graph file: a cycle: a -> c -> b -> a");
    EXPECT_EQ(refusal("a after a"), "graph file: a cycle: a -> a");
    EXPECT_EQ(refusal("x\na after b\n"), "graph file, line 2: unknown producer 'b'");
    EXPECT_EQ(refusal("a\na\n"), "graph file, line 2: a second task 'a'");
    EXPECT_EQ(refusal("a colour 3"),
              "graph file, line 1: unknown word 'colour'; there are type, cost, bytes, priority and after");
    EXPECT_EQ(refusal("a type 256"), "graph file, line 1: type is '256'; it can be 0 to 255");
    EXPECT_EQ(refusal("a cost 3us"),
              "graph file, line 1: cost is '3us'; it can be -9223372036854775808 to 9223372036854775807");
    EXPECT_EQ(refusal("a cost -3"), "graph file, line 1: cost is negative");
    EXPECT_EQ(refusal("a cost"), "graph file, line 1: nothing stands behind 'cost'");
    EXPECT_TRUE(read("").empty());
}

TEST(graph_plan, draws_itself) {
    std::ostringstream out;
    apiary::write_graphviz(out, read("a\n\"b\" type 1 after a\n"));
    EXPECT_EQ(out.str(),
              "digraph tasks {\n  node [shape=box, style=filled, colorscheme=set38]\n  t0 [label=\"a\", fillcolor=1]\n"
              "  t1 [label=\"\\\"b\\\"\", fillcolor=2]\n  t0 -> t1\n}\n");
}

TEST(graph_plan, of_no_tasks_draws_nothing) {
    std::ostringstream out;
    apiary::write_graphviz(out, {});
    EXPECT_EQ(out.str(), "digraph tasks {\n  node [shape=box, style=filled, colorscheme=set38]\n}\n");
}

TEST(graph_generators, make_the_shapes_that_they_name) {
    EXPECT_EQ(after(apiary::chain_plan(3, 1), 2), places{1});
    const auto stencil = apiary::stencil_plan(4, 2, 1);
    EXPECT_EQ(after(stencil, 0), places{});
    EXPECT_EQ(after(stencil, 4), (places{0, 1}));
    EXPECT_EQ(after(stencil, 6), (places{1, 2, 3}));
    const auto fft = apiary::fft_plan(4, 4, 1);
    EXPECT_EQ(after(fft, 4), (places{0, 1}));
    EXPECT_EQ(after(fft, 8), (places{4, 6}));
    EXPECT_EQ(after(fft, 12), (places{8, 9})) << "begins again";
    const auto tree = apiary::tree_plan(2, 1);
    ASSERT_EQ(tree.size(), 7U);
    EXPECT_EQ(after(tree, 4), (places{0, 1}));
    EXPECT_EQ(after(tree, 6), (places{4, 5}));
    EXPECT_EQ(after(apiary::wavefront_plan(2, 3, 1), 4), (places{1, 3}));
    const auto layered = apiary::layered_plan(1, 5, 3, 1);
    for (std::size_t i = 5; i != 15; ++i) {
        EXPECT_FALSE(after(layered, i).empty());
        EXPECT_LE(after(layered, i).size(), 3U);
        for (const auto p : after(layered, i)) EXPECT_EQ(p / 5 + 1, i / 5);
    }
}

TEST(graph_generators, cholesky_has_the_tasks_and_the_reads_of_the_tiled_factorisation) {
    const auto plan = apiary::cholesky_plan(3, 600, 1);
    std::string names;
    for (const auto& t : plan) names += t.name + ' ';
    EXPECT_EQ(names, "potrf_0 trsm_1_0 trsm_2_0 syrk_1_0 gemm_2_1_0 syrk_2_0 potrf_1 trsm_2_1 syrk_2_1 potrf_2 ");
    EXPECT_EQ(after(plan, 1), places{0});
    EXPECT_EQ(after(plan, 4), (places{2, 1})) << "tile 2,1 has no version yet; it reads 2,0 and 1,0";
    EXPECT_EQ(after(plan, 7), (places{4, 6}));
    EXPECT_EQ(plan[4].type, 1);
    EXPECT_EQ(plan[7].type, 0);
    EXPECT_EQ(plan[0].cost_ns, 100);
    EXPECT_EQ(plan[1].cost_ns, 300) << "trsm";
    EXPECT_EQ(plan[3].cost_ns, 300) << "syrk";
    EXPECT_EQ(plan[4].cost_ns, 600) << "gemm";
}

TEST(graph_generators, lu_has_the_tasks_and_the_reads_of_the_tiled_factorisation) {
    const auto plan = apiary::lu_plan(2, 600, 1);
    std::string names;
    for (const auto& t : plan) names += t.name + ' ';
    EXPECT_EQ(names, "getrf_0 trsmL_0_1 trsmU_1_0 gemm_1_1_0 getrf_1 ");
    EXPECT_EQ(after(plan, 1), places{0});
    EXPECT_EQ(after(plan, 3), (places{2, 1})) << "reads 1,0 and 0,1";
    EXPECT_EQ(after(plan, 4), places{3});
    const std::int64_t costs[] = {200, 300, 300, 600, 200};
    for (std::size_t i = 0; i != plan.size(); ++i) {
        EXPECT_EQ(plan[i].type, i == 3 ? 1 : 0) << plan[i].name;
        EXPECT_EQ(plan[i].cost_ns, costs[i]) << plan[i].name;
    }
    EXPECT_EQ(apiary::lu_plan(5, 1).size(), 55U) << "the sum of the squares";
}

TEST(graph_generators, make_the_other_patterns_of_task_bench) {
    EXPECT_EQ(after(apiary::nearest_plan(6, 2, 1), 6), (places{0, 1, 2}));
    EXPECT_EQ(after(apiary::nearest_plan(6, 2, 1), 9), (places{1, 2, 3, 4, 5}));
    EXPECT_EQ(after(apiary::spread_plan(10, 2, 1), 10), (places{1, 3, 5, 7, 9}));
    EXPECT_EQ(after(apiary::spread_plan(2, 2, 1), 2).size(), 2U);
    const auto plan = apiary::random_nearest_plan(3, 6, 40, 1);
    std::size_t edges = 0;
    for (std::size_t i = 6; i != plan.size(); ++i) {
        const auto from = after(plan, i);
        EXPECT_NE(std::find(from.begin(), from.end(), i - 6), from.end()) << "its own point";
        edges += from.size();
    }
    EXPECT_GT(edges, 2 * 234U);
    EXPECT_LT(edges, 4 * 234U);
}

// A plan that somebody has measured is named by its seed: another version must not make another plan of it.
TEST(graph_generators, a_seed_names_the_same_plan_in_every_version) {
    const auto near = apiary::random_nearest_plan(3, 6, 3, 1);
    EXPECT_EQ(near.back().name, "near_2_5");
    std::vector<places> of_near, of_layered;
    for (std::size_t i = 6; i != near.size(); ++i) of_near.push_back(after(near, i));
    EXPECT_EQ(
        of_near,
        (std::vector<places>{
            {0, 1, 2}, {1, 2}, {0, 2, 4}, {2, 3, 4, 5}, {4}, {5}, {6, 7, 8}, {7, 9}, {7, 8, 10}, {9}, {9, 10}, {11}}));
    const auto layered = apiary::layered_plan(3, 6, 2, 1);
    for (std::size_t i = 6; i != layered.size(); ++i) of_layered.push_back(after(layered, i));
    EXPECT_EQ(of_layered, (std::vector<places>{{2, 4, 5}, {1, 3}, {0, 2, 5}, {0, 3, 5}, {0, 4}, {0, 1}}));
}

TEST(graph_plan, knows_the_way_to_the_end_of_each_task) {
    EXPECT_EQ(apiary::ways_to_the_end(read("a cost 1\nb cost 20 after a\nc cost 3 after a\n")),
              (std::vector<std::int64_t>{21, 20, 3}));
    EXPECT_EQ(apiary::ways_to_the_end(read("a cost 9223372036854775807\nb cost 1 after a\n")),
              (std::vector<std::int64_t>{INT64_MAX, 1}))
        << "a file may have such costs";
}

TEST(graph_plan, runs_on_a_task_graph_behind_what_that_has_had_before) {
    apiary::task_graph g({.workers = {1, 1}});
    std::vector<int> done(10);
    g.submit([] {});
    const auto plan = apiary::cholesky_plan(3, 0, 1);
    apiary::submit_plan(g, plan, [&](std::size_t i) {
        done[i] = 1;
        for (const auto p : plan[i].after) EXPECT_EQ(done[p], 1) << i;
    });
    g.wait();
    EXPECT_EQ(done, std::vector<int>(10, 1));
}

// A graph that allocates nothing itself.
struct counts_allocations {
    std::uint64_t submitted = 0, at_the_first = 0, at_the_last = 0;
    template <class Task>
    std::uint64_t submit(const std::vector<std::uint64_t>&, const Task&, apiary::task_options) {
        at_the_last = apiary::bench::allocation_count().value();
        if (submitted == 0) at_the_first = at_the_last;
        return submitted++;
    }
};

TEST(graph_plan, has_its_memory_before_it_submits) {
    counts_allocations g;
    apiary::submit_plan(g, graph_plan(100), [](std::size_t) {});
    EXPECT_EQ(g.submitted, 100U);
    EXPECT_GT(g.at_the_first, 0U);
    EXPECT_EQ(g.at_the_last, g.at_the_first);
}

}  // namespace
}  // namespace graph_plan_test
