// A whole task graph, from its constructor to its destructor: beside one worker, or of the submitter alone.
// The worker's thread is the check's (<apiary/model_check/modelled_threads.hpp>).
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <array>

#include <apiary/model_check/modelled_threads.hpp>
#include <apiary/model_check/register.hpp>

namespace task_graph_whole_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct whole_graph {
    static constexpr const char* one_engine =
        "the explorer exhausts it, and a graph takes seconds to compile for another";
    static constexpr std::array engine_laws{"deadlock", "lifetime", "race"};
    using graph = basic_task_graph<Sync, modelled_parts<Sync, 1>>;
    using on_stack = typename Sync::template scoped<graph>;
    hall<Sync, 1> workers;
    typename Sync::template cell<int> written{0};

    static task_graph_config config(unsigned workers) {
        return {
            .workers = {workers}, .submitter_helps = workers == 0, .window = 2, .dependencies = 2, .output_bytes = 64};
    }
};

template <class Sync>
struct graph_runs_a_task : whole_graph<Sync> {
    static constexpr const char* what =
        "a task is submitted, the graph is closed: what the task did is seen after that";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleeper.slept", "sleeper.stayed"};
    using base = whole_graph<Sync>;
    void thread(unsigned i) {
        if (i != 0) return this->workers.serve(0);
        const in_hall<Sync, 1> here(this->workers);
        typename base::on_stack g(base::config(1));
        (void)g->submit([this](auto&) { this->written.write(1); });
        const task_graph_report all = g->close();
        Sync::law(this->written.read() == 1 && all.types[0].ran == 1, "close returned before the task had run");
    }
};
APIARY_CHECK(graph_runs_a_task, explorer_only);

template <class Sync>
struct graph_of_the_submitter_alone : whole_graph<Sync> {
    static constexpr const char* what =
        "a graph without threads: the submitter runs all; of three tasks in a row the first throws";
    static constexpr unsigned threads = 1;
    static constexpr std::array must_reach{"graph_whole.ran_after_a_throw"};
    using base = whole_graph<Sync>;
    void thread(unsigned) {
        typename base::on_stack g(base::config(0));
        {
            const typename base::graph::scope keeps(*g);
            const task_id first = g->submit([](auto&) { throw 1; });
            (void)g->submit({first}, [this](auto&) { this->written.write(1); });
            g->wait();
        }
        (void)g->submit([this](auto&) {  // in the place of the first
            Sync::reach("graph_whole.ran_after_a_throw");
            this->written.write(this->written.read() + 2);
        });
        const task_graph_report all = g->close();
        Sync::law(this->written.read() == 2 && all.types[0].ran == 2 && all.types[0].thrown == 1 &&
                      all.types[0].cancelled == 1,
                  "a task ran whose producer threw, or another one did not");
    }
};
APIARY_CHECK(graph_of_the_submitter_alone, explorer_only);

}  // namespace
}  // namespace task_graph_whole_check
