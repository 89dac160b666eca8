// Subject `task_graph`: this project's dataflow scheduler with N workers, of which the main thread, which submits, is
// one: it runs tasks while it waits. Nothing can be posted: a task is submitted with its producers. Subject
// `task_graph_min_clock` is the same with the seed's fair queue, which gives each ready task to the idle worker that
// has worked least.
//
// The scheduler goes on from graph to graph, and so do its ids: the ids of each graph follow those of the graphs
// before.
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/list.hpp"

namespace {

class dataflow {
public:
#ifdef APIARY_TASK_GRAPH_MIN_CLOCK
    static constexpr std::string_view name = "task_graph_min_clock";
    static constexpr apiary::ready_policy policy = apiary::ready_policy::min_clock;
#else
    static constexpr std::string_view name = "task_graph";
    static constexpr apiary::ready_policy policy = apiary::ready_policy::locality;
#endif
    static std::string version() { return APIARY_VERSION; }

    explicit dataflow(unsigned workers) : graph_({.workers = {workers - 1}, .policy = policy}) {}

    class submitter {
    public:
        explicit submitter(apiary::task_graph& g) : graph_(g), begin_(g.submitted()) {}
        template <class F>
        void submit(std::uint64_t, std::span<const std::uint64_t> producers, F task) {
            after_.clear();
            for (const std::uint64_t p : producers) after_.push_back(begin_ + p);
            graph_.submit(after_, task);
        }

    private:
        apiary::task_graph& graph_;
        const std::uint64_t begin_;
        std::vector<apiary::task_id> after_;
    };

    template <class Build>
    void graph(std::uint64_t, Build build) {
        submitter to(graph_);
        build(to);
        graph_.wait();
    }

    apiary::bench::runtime_counters counters() const {
        const apiary::task_graph_counters c = graph_.counters(0);
        return {.wakes = c.woken, .parks = c.parked, .steals = c.stolen};
    }

private:
    apiary::task_graph graph_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<dataflow>(argc, argv); }
