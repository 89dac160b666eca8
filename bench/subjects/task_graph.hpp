// The adapter of task_graph: this project's dataflow scheduler on a host (apiary/bench/real_host.hpp). The main thread,
// which submits, is one of its workers: it runs tasks while it waits. Nothing can be posted: a task is submitted with its
// producers.
//
// The scheduler goes on from graph to graph, and so do its ids: the ids of each graph follow those of the graphs
// before.
#pragma once

#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/bench/task_graphs.hpp>

namespace apiary::bench {

template <class Host, ready_policy Policy = ready_policy::locality>
class task_graph_adapter {
    using scheduler = basic_task_graph<typename Host::sync>;

public:
    using host = Host;
    static constexpr std::string_view name =
        Policy == ready_policy::min_clock ? "task_graph_min_clock" : "task_graph";
    static std::string version() { return APIARY_VERSION; }

    explicit task_graph_adapter(unsigned workers)
        : graph_(task_graph_config{.workers = {workers - 1}, .policy = Policy}) {}

    class submitter {
    public:
        explicit submitter(scheduler& g) : graph_(g), begin_(g.submitted()) {}
        template <class F>
        void submit(std::uint64_t, std::span<const std::uint64_t> producers, F task) {
            after_.clear();
            for (const std::uint64_t p : producers) after_.push_back(begin_ + p);
            graph_.submit(after_, task);
        }

    private:
        scheduler& graph_;
        const std::uint64_t begin_;
        std::vector<task_id> after_;
    };

    template <class Build>
    void graph(std::uint64_t, Build build) {
        submitter to(graph_);
        build(to);
        graph_.wait();
    }

    runtime_counters counters() const {
        const task_graph_counters c = graph_.counters(0);
        return {.wakes = c.woken, .parks = c.parked, .steals = c.stolen};
    }

private:
    scheduler graph_;
};

}  // namespace apiary::bench
