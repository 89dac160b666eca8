// Subject `task_graph`: this project's dataflow scheduler with N workers, of which the main thread is one. Subject
// `task_graph_min_clock` is the same with the seed's fair queue, which gives each ready task to the idle worker that
// has worked least.
#include "subjects/task_graph.hpp"

#include "scenarios/list.hpp"

int main(int argc, char** argv) {
#ifdef APIARY_TASK_GRAPH_MIN_CLOCK
    constexpr auto policy = apiary::ready_policy::min_clock;
#else
    constexpr auto policy = apiary::ready_policy::locality;
#endif
    return apiary::bench::subject_main<apiary::bench::task_graph_adapter<apiary::bench::real_host, policy>>(argc, argv);
}
