// graph: dependent tasks in the patterns of Task Bench and others, built and run; a value goes along every edge.
// graph_again: the same, built once and run again and again; only the runs are timed, so the two are never compared.
//
// A poor result means: a task allocates, an edge locks or is looked up, or ready tasks are handed over one by one. The
// floor is the subject machine: the same loop in one thread. Over `iterations` it gives the curve from which METG is
// read. Twins: tokio_baseline/src/scenarios/graph.rs, subjects/go/graph.go.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <apiary/bench/closed_loop.hpp>
#include <apiary/bench/task_graphs.hpp>

#include "scenarios/graph_by_counters.hpp"
#include "scenarios/graph_task.hpp"

namespace apiary::bench {

// The two scenarios; `Operation<Runtime, Build>` is made once, with the tasks' builder, and one call of it is an
// operation.
template <template <class, class> class Operation>
class graphs {
public:
    static constexpr bool open_loop = false;
    static constexpr std::uint64_t most_tasks = 1 << 24;
    static constexpr std::array parameters{
        parameter{.name = "pattern", .standard = 0, .words = pattern_words},
        parameter{.name = "width", .standard = 8, .most = 4096},
        parameter{.name = "steps", .standard = 1000, .most = most_tasks},
        parameter{.name = "iterations", .standard = 0, .least = 0},
        calibrated_ops,
    };

    template <class Runtime>
    static report measure(const run_options& options) {
        const auto kind = static_cast<pattern>(options.param("pattern"));
        const std::uint64_t width = options.param("width"), steps = options.param("steps");
        if (task_list::tasks_of(kind, width, steps) > most_tasks)
            throw bad_arguments("--param width=" + std::to_string(width) + " and steps=" + std::to_string(steps) +
                                " make more than " + std::to_string(most_tasks) + " tasks");
        value_graph all{task_list(kind, width, steps), options.param("iterations"), options.slowdown_ns, {}};
        const std::uint64_t tasks = all.list.tasks();
        all.values.resize(tasks);
        for (std::uint64_t id = 0; id < tasks; ++id) all.values[id] = all.value(id);
        const std::uint64_t expected = all.answer();

        const auto build = [&](auto& to) {
            for (std::uint64_t id = 0; id < tasks; ++id) to.submit(id, all.list.producers(id), graph_task<host<Runtime>>{&all, id});
        };
        Runtime runtime(options.workers);
        const std::uint64_t before = peak_resident_bytes();
        Operation operation(runtime, tasks, build);
        std::uint64_t bytes_each = 0;
        bool first = true;
        report result = measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            block_meter<host<Runtime>> meter;
            for (std::uint64_t i = 0; i < ops; ++i) {
                std::ranges::fill(all.values, 0);
                meter.start();
                operation();
                const std::int64_t end = host<Runtime>::now_ns();
                meter.stop(end, mark(i + all.answer() - expected));
                if (first) bytes_each = (peak_resident_bytes() - before) / tasks;
                first = false;
            }
            return meter.finished(ops);
        });
        result.measured.add_flag("tasks_per_op=" + std::to_string(tasks));
        result.measured.add_flag("edges_per_op=" + std::to_string(all.list.edges()));
        result.measured.add_flag("answer=" + std::to_string(expected % 1'000'000'000));
        result.measured.add_flag("bytes_each=" + std::to_string(bytes_each));
        return result;
    }
};

class graph : public graphs<built_and_run> {
public:
    static constexpr std::string_view name = "graph";
    template <class Runtime>
    static constexpr bool expressible = grapher<Runtime> || poster<Runtime>;
};

class graph_again : public graphs<built_once> {
public:
    static constexpr std::string_view name = "graph_again";
    template <class Runtime>
    static constexpr bool expressible = prebuilder<Runtime> || (!grapher<Runtime> && poster<Runtime>);
};

}  // namespace apiary::bench
