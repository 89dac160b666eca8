// What a task costs beside its kernel: chain, wavefront and random graph with kernels of a few instructions, each
// built and run.
//
//     task_graph_overhead [--workers N] [--window N] [--rounds N] [--size N] [--policy NAME] [--at-once N]
//                         [--window-most N]
//
// Prints the median over the rounds, ns a task, from before the first submit to the end of wait(). The submitter is a
// worker, too: --workers 0 is one thread, --workers 1 two. Every answer is compared with that of a loop. Measures
// nothing by itself that is to be believed: bench/ does. As a test it has one small round.
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace {

using apiary::task_id;

struct graph {
    const char* name;
    std::vector<std::uint32_t> first;  // of a task's producers, in `after`; one more than there are tasks
    std::vector<task_id> after;

    std::size_t tasks() const { return first.size() - 1; }
    std::span<const task_id> producers(task_id id) const {
        return {after.data() + first[id], after.data() + first[id + 1]};
    }
};

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 31) * 0x9E3779B97F4A7C15U;
    return x ^ x >> 29;
}

template <class Producers>
graph make(const char* name, std::size_t tasks, Producers producers) {
    graph g{name, {0}, {}};
    for (task_id id = 0; id != tasks; ++id) {
        producers(id, g.after);
        g.first.push_back(static_cast<std::uint32_t>(g.after.size()));
    }
    return g;
}

std::uint64_t value(const graph& g, std::span<const std::uint64_t> values, task_id id) {
    std::uint64_t sum = id;
    for (const task_id p : g.producers(id)) sum += values[p];
    return mix(sum);
}

double run(const graph& g, const apiary::task_graph_config& config, bool& right) {
    std::vector<std::uint64_t> values(g.tasks()), expected(g.tasks());
    for (task_id id = 0; id != g.tasks(); ++id) expected[id] = value(g, expected, id);
    apiary::task_graph scheduler(config);
    const std::int64_t from = apiary::real_sync::now_ns();
    for (task_id id = 0; id != g.tasks(); ++id)
        scheduler.submit(g.producers(id), [&g, &values, id] { values[id] = value(g, values, id); });
    scheduler.wait();
    const std::int64_t took = apiary::real_sync::now_ns() - from;
    right = right && values == expected && scheduler.close().consumed == g.tasks();
    return static_cast<double>(took) / static_cast<double>(g.tasks());
}

}  // namespace

int main(int argc, char** argv) {
    apiary::task_graph_config config;
    std::size_t rounds = 1, size = 40;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::size_t n = std::strtoul(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--workers") == 0) config.workers = {static_cast<unsigned>(n)};
        if (std::strcmp(argv[i], "--window") == 0) config.window = n;
        if (std::strcmp(argv[i], "--window-most") == 0) config.window_most = n;
        if (std::strcmp(argv[i], "--at-once") == 0) config.at_once = static_cast<unsigned>(n);
        if (std::strcmp(argv[i], "--rounds") == 0) rounds = n;
        if (std::strcmp(argv[i], "--size") == 0) size = n;
        if (std::strcmp(argv[i], "--policy") == 0) config.policy = apiary::policy_of(argv[i + 1]);
    }
    const std::size_t tasks = size * size;
    const std::array graphs{
        make("chain", tasks,
             [](task_id id, auto& to) {
                 if (id != 0) to.push_back(id - 1);
             }),
        make("wavefront", tasks,
             [size](task_id id, auto& to) {
                 if (id >= size) to.push_back(id - size);
                 if (id % size != 0) to.push_back(id - 1);
             }),
        make("stencil, 8 wide", tasks,
             [](task_id id, auto& to) {
                 for (const task_id i : {id - 9, id - 8, id - 7})
                     if (id >= 8 && i < id && i / 8 + 1 == id / 8) to.push_back(i);
             }),
        make("random, 2 of the 500 before", tasks,
             [](task_id id, auto& to) {
                 for (std::uint64_t k = 0; id != 0 && k != 2; ++k)
                     to.push_back(id - 1 - mix(2 * id + k) % std::min<std::uint64_t>(id, 500));
             }),
        make("no dependencies", tasks, [](task_id, auto&) {}),
    };
    bool right = true;
    for (const graph& g : graphs) {
        std::vector<double> ns;
        for (std::size_t round = 0; round != rounds; ++round) ns.push_back(run(g, config, right));
        std::sort(ns.begin(), ns.end());
        std::printf("%-28s %7.1f ns a task, %zu tasks, %u threads, window %zu\n", g.name, ns[ns.size() / 2], tasks,
                    config.workers[0] + 1, config.window);
    }
    std::printf("window and output heap: %zu kB; policy %s, %u at once\n", apiary::task_graph(config).bytes() / 1024,
                apiary::name_of(config.policy), config.at_once);
    if (!right) std::fprintf(stderr, "a result is not that of a loop\n");
    return right ? 0 : 1;
}
