// task_graph on the virtual machine, whole: a stencil, whose tasks depend on three of the step before.
#include <apiary/schedulers/task_graph/task_graph.hpp>
#include <apiary/virtual/virtual_team.hpp>

#include "virtual/scenarios/scenario.hpp"

namespace apiary::virt {

namespace {

using S = virtual_sync;
struct parts : default_parts<S> {
    using threads = virtual_team;
};
using graph = basic_task_graph<S, parts>;

constexpr std::uint64_t width = 64;
constexpr picoseconds task_work = 1'180'000;  // its iterations, by a race with one worker

// The value of a task: its place, and the values of its producers.
std::uint64_t value_of(const std::uint64_t* before, std::uint64_t x) {
    std::uint64_t sum = x;
    if (before != nullptr)
        for (std::uint64_t y = x == 0 ? 0 : x - 1; y != std::min(x + 2, width); ++y) sum += before[y];
    return bench::mix(sum);
}

void submit_all(graph& g, std::vector<std::uint64_t>& values, std::uint64_t steps) {
    const std::uint64_t first = g.submitted();
    std::vector<task_id> after;
    for (std::uint64_t s = 0; s != steps; ++s)
        for (std::uint64_t x = 0; x != width; ++x) {
            after.clear();
            if (s != 0)
                for (std::uint64_t y = x == 0 ? 0 : x - 1; y != std::min(x + 2, width); ++y)
                    after.push_back(first + (s - 1) * width + y);
            (void)g.submit(after, [mine = values.data() + s * width, s, x] {
                work(task_work);
                mine[x] = value_of(s == 0 ? nullptr : mine - width, x);
            });
        }
}

measured stencil(machine& m, unsigned workers, bool brief) {
    const std::uint64_t steps = brief ? 5 : 100;
    std::vector<std::uint64_t> values(width * steps), expected(width * steps);
    for (std::uint64_t i = 0; i != width * steps; ++i)
        expected[i] = value_of(i < width ? nullptr : expected.data() + (i / width - 1) * width, i % width);
    // The submitter is one of the workers.
    const made<graph> g(task_graph_config{.workers = {workers - 1}});
    const auto once = [&] {
        std::fill(values.begin(), values.end(), 0);
        submit_all(*g, values, steps);
        g->wait();
        if (values != expected) throw wrong_answer("a task ran before its producers, or not once");
    };
    once();
    const stopwatch watch(m);
    once();
    measured all = watch.stop(width * steps);
    (void)g->close();
    return all;
}

constexpr scenario all[] = {
    {"task_graph", "stencil", "task", &stencil},
};

}  // namespace

std::span<const scenario> task_graph_scenarios() { return all; }

}  // namespace apiary::virt
