// task_graph on the virtual machine, whole, by the adapter of its subject.
#include "subjects/task_graph.hpp"
#include "virtual/scenarios/programs.hpp"

namespace apiary::virt {

namespace {

using subject = bench::task_graph_adapter<virtual_host>;

constexpr scenario all[] = {
    stencil::on<subject>("task"),
};

}  // namespace

std::span<const scenario> task_graph_scenarios() { return all; }

}  // namespace apiary::virt
