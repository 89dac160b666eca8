// Graphs for a runtime that has no call for them but can post: a counter of producers for each task, a list of its consumers.
// All tasks are submitted first; then those without producers are posted, and a task that ends hands on to what it made ready.
//
// Threads.  graph: the main thread, which sleeps until all have run. The rest: tasks.
//
// Synchronisation: a task that ends takes itself off the counter of each consumer (acq_rel); the one that takes off the last
// continues the release sequence of the others, so the consumer sees what all its producers wrote. Tasks without consumers
// take themselves off `ends_` in the same way: when the last of them has ended, all have.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include <apiary/bench/task_graphs.hpp>

#include "scenarios/graph_task.hpp"

namespace apiary::bench {

// The runtime's own graphs, where it has some.
template <class Runtime>
class graph_runner {
public:
    explicit graph_runner(Runtime& runtime) : runtime_(runtime) {}

    template <class Build>
    void graph(std::uint64_t tasks, Build build) {
        runtime_.graph(tasks, build);
    }

private:
    Runtime& runtime_;
};

template <class Runtime>
    requires(!grapher<Runtime> && poster<Runtime>)
class graph_runner<Runtime> {
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    struct node {
        graph_task task;
        std::uint64_t consumers;  // the first of its edges
        std::atomic<std::uint32_t> pending;
    };
    struct edge {
        std::uint64_t consumer, next;
    };

public:
    explicit graph_runner(Runtime& runtime) : runtime_(runtime) {}

    template <class Build>
    void graph(std::uint64_t tasks, Build build) {
        if (nodes_.size() != tasks) nodes_ = std::vector<node>(tasks);
        edges_.clear();
        roots_.clear();
        build(*this);
        std::uint64_t ends = 0;
        for (const node& one : nodes_) ends += one.consumers == none;
        ends_.store(ends, std::memory_order_relaxed);
        finished_.store(0, std::memory_order_relaxed);
        for (const std::uint64_t id : roots_) runtime_.post([this, id] { run(id); });
        finished_.wait(0, std::memory_order_acquire);
    }

    void submit(std::uint64_t id, std::span<const std::uint64_t> producers, graph_task task) {
        node& mine = nodes_[id];
        mine.task = task;
        mine.consumers = none;
        mine.pending.store(static_cast<std::uint32_t>(producers.size()), std::memory_order_relaxed);
        if (producers.empty()) roots_.push_back(id);
        for (const std::uint64_t producer : producers) {
            edges_.push_back({id, nodes_[producer].consumers});
            nodes_[producer].consumers = edges_.size() - 1;
        }
    }

private:
    void run(std::uint64_t id) {
        nodes_[id].task();
        std::uint64_t at = nodes_[id].consumers, ready = none;
        if (at == none) return end();
        while (at != none) {
            const auto [consumer, next] = edges_[at];  // read first: the last one taken off may end the graph
            if (nodes_[consumer].pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                if (ready != none) bench::spawn(runtime_, [this, ready] { run(ready); });
                ready = consumer;
            }
            at = next;
        }
        if (ready != none) bench::hand_on(runtime_, [this, ready] { run(ready); });
    }

    void end() {
        if (ends_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        finished_.store(1, std::memory_order_release);
        finished_.notify_one();
    }

    Runtime& runtime_;
    std::vector<node> nodes_;
    std::vector<edge> edges_;
    std::vector<std::uint64_t> roots_;
    std::atomic<std::uint64_t> ends_{0};
    std::atomic<std::uint32_t> finished_{0};
};

}  // namespace apiary::bench
