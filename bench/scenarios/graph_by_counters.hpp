// Graphs for a runtime that has no call for them but can post: a counter of producers for each task, a list of its
// consumers. All tasks are submitted first; then those without producers are posted, and a task that ends hands on to
// the tasks that it made ready. Such a graph runs again when its counters are set again.
//
// Threads.  graph, build, run_again: the main thread, which sleeps until all have run. The rest: tasks.
//
// Synchronisation: a task that ends takes itself off the counter of each consumer (acq_rel). The last one to do so
// continues the release sequence of the others, so the consumer sees the writes of all its producers. Tasks without
// consumers take themselves off `ends_` in the same way: when the last of them has ended, all have.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <apiary/bench/task_graphs.hpp>

#include "scenarios/graph_task.hpp"

namespace apiary::bench {

// Uses the runtime's own graphs, where it has some.
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
    template <class T>
    using atomic = typename host<Runtime>::sync::template atomic<T>;

    struct node {
        graph_task<host<Runtime>> task;
        std::uint64_t consumers;  // the first of its edges
        atomic<std::uint32_t> pending;
        std::uint32_t producers;
    };
    struct edge {
        std::uint64_t consumer, next;
    };

public:
    explicit graph_runner(Runtime& runtime) : runtime_(runtime) {}

    template <class Build>
    void graph(std::uint64_t tasks, Build build) {
        this->build(tasks, build);
        start();
    }

    template <class Build>
    void build(std::uint64_t tasks, Build build) {
        if (nodes_.size() != tasks) nodes_ = std::vector<node>(tasks);
        edges_.clear();
        roots_.clear();
        build(*this);
        ends_in_all_ = 0;
        for (const node& one : nodes_) ends_in_all_ += one.consumers == none;
    }

    void run_again() {
        for (node& one : nodes_) one.pending.store(one.producers, std::memory_order_relaxed);
        start();
    }

    void submit(std::uint64_t id, std::span<const std::uint64_t> producers, graph_task<host<Runtime>> task) {
        node& mine = nodes_[id];
        mine.task = task;
        mine.consumers = none;
        mine.producers = static_cast<std::uint32_t>(producers.size());
        mine.pending.store(mine.producers, std::memory_order_relaxed);
        if (producers.empty()) roots_.push_back(id);
        for (const std::uint64_t producer : producers) {
            edges_.push_back({id, nodes_[producer].consumers});
            nodes_[producer].consumers = edges_.size() - 1;
        }
    }

private:
    void start() {
        ends_.store(ends_in_all_, std::memory_order_relaxed);
        finished_.lower();
        for (const std::uint64_t id : roots_) runtime_.post([this, id] { run(id); });
        finished_.wait();
    }

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
        finished_.raise();
    }

    Runtime& runtime_;
    std::vector<node> nodes_;
    std::vector<edge> edges_;
    std::vector<std::uint64_t> roots_;
    std::uint64_t ends_in_all_ = 0;
    atomic<std::uint64_t> ends_{0};
    typename host<Runtime>::signal finished_;
};

// An operation of the scenario `graph`.
template <class Runtime, class Build>
class built_and_run {
public:
    built_and_run(Runtime& runtime, std::uint64_t tasks, Build build)
        : runner_(runtime), tasks_(tasks), build_(build) {}
    void operator()() { runner_.graph(tasks_, build_); }

private:
    graph_runner<Runtime> runner_;
    const std::uint64_t tasks_;
    const Build build_;
};

// An operation of `graph_again`.
template <class Runtime, class Build>
class built_once {
public:
    built_once(Runtime& runtime, std::uint64_t tasks, Build build) : graph_(runtime.prebuilt(tasks, build)) {}
    void operator()() { graph_.run(); }

private:
    decltype(std::declval<Runtime&>().prebuilt(0, std::declval<Build>())) graph_;
};

template <class Runtime, class Build>
    requires(!grapher<Runtime> && poster<Runtime>)
class built_once<Runtime, Build> {
public:
    built_once(Runtime& runtime, std::uint64_t tasks, Build build) : runner_(runtime) { runner_.build(tasks, build); }
    void operator()() { runner_.run_again(); }

private:
    graph_runner<Runtime> runner_;
};

}  // namespace apiary::bench
