// The calls that a runtime of dependent tasks must offer to be raced by graphs: an adapter, as in adapter.hpp, that
// also has
//
//     template <class Build> void graph(std::uint64_t tasks, Build build);
//
// It makes room for the tasks 0 … tasks - 1, calls build(g) once, and returns when all of them have run; g has
//
//     template <class F> void submit(std::uint64_t id, std::span<const std::uint64_t> producers, F task);
//
// Ids come in ascending order, producers are earlier ids without doubles, and a task runs once, after its producers.
// Tasks may run while others are still submitted, or only after that: the runtime chooses. A task is trivially
// copyable, at most 24 bytes. A runtime without such a call, but with `post`, gets its graphs by counters
// (scenarios/graph_by_counters.hpp).
//
// A runtime whose graph, once built, can run again and again has besides
//
//     template <class Build> auto prebuilt(std::uint64_t tasks, Build build);
//
// It calls build as above, runs no task, and returns an object with `void run()`, which runs all tasks once and returns
// when they have run.
//
// Threads.  graph, prebuilt, run: the main thread. build: one thread, which may be a worker; submit: that thread.
#pragma once

#include <cstdint>
#include <span>

#include <apiary/bench/adapter.hpp>

namespace apiary::bench {

// A stand-in for the tasks of the scenarios.
struct example_node {
    const void* graph;
    std::uint64_t id;
    void operator()() const {}
};

struct example_build {
    void operator()(auto& graph) const {
        graph.submit(std::uint64_t{0}, std::span<const std::uint64_t>{}, example_node{});
    }
};

template <class R>
concept grapher = runtime_adapter<R> && requires(R& r, example_build build) { r.graph(std::uint64_t{1}, build); };

template <class R>
concept prebuilder = grapher<R> && requires(R& r, example_build build) { r.prebuilt(std::uint64_t{1}, build).run(); };

}  // namespace apiary::bench
