// Micro-benchmarks of mpsc_inbox. Each measurement runs on one benchmark thread: Google Benchmark
// 1.7.1 divides the wall time by the number of its own threads.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

#include <apiary/queues/mpsc_inbox.hpp>

#include "micro/micro.hpp"

namespace {

struct node {
    apiary::real_sync::cell<node*> next;
};
using inbox = apiary::mpsc_inbox<node>;
using apiary::push_result;
using apiary::micro::must;

std::size_t walk(apiary::fifo_list<node> list) {
    std::size_t n = 0;
    while (node* const first = list.pop_front()) {
        benchmark::DoNotOptimize(first);
        ++n;
    }
    return n;
}

// `range` pushes, then one drain and a walk over the taken nodes.
void push_drain(benchmark::State& state) {
    inbox box;
    std::vector<node> nodes(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        for (node& n : nodes) must(box.push(&n) != push_result::closed, "the inbox is closed");
        must(walk(box.drain()) == nodes.size(), "a node is missing");
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

// The same as push_drain, but one push_list pushes all nodes.
void push_list_drain(benchmark::State& state) {
    inbox box;
    std::vector<node> nodes(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        apiary::fifo_list<node> list;
        for (node& n : nodes) list.push_back(&n);
        must(box.push_list(list) != push_result::closed, "the inbox is closed");
        must(walk(box.drain()) == nodes.size(), "a node is missing");
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Two producers push `range` nodes each at the same time; no consumer drains meanwhile.
void two_producers(benchmark::State& state) {
    inbox box;
    const auto n = static_cast<std::size_t>(state.range(0));
    std::vector<node> mine(n), theirs(n);
    const auto push_all = [&](std::vector<node>& nodes) {
        for (node& each : nodes) must(box.push(&each) != push_result::closed, "the inbox is closed");
    };
    for (auto _ : state) {
        state.SetIterationTime(apiary::micro::seconds_of_both([&] { push_all(mine); }, [&] { push_all(theirs); }));
        must(walk(box.drain()) == 2 * n, "a node is missing");
    }
    state.SetItemsProcessed(state.iterations() * 2 * state.range(0));
}

BENCHMARK(push_drain)->Name("inbox/push_drain")->Arg(1)->Arg(16)->Arg(256);
BENCHMARK(push_list_drain)->Name("inbox/push_list_drain")->Arg(16)->Arg(256);
BENCHMARK(two_producers)->Name("inbox/two_producers")->Arg(1 << 16)->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
