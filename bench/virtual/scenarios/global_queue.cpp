// global_queue on the virtual machine, whole, by the adapter of its subject.
#include "subjects/global_queue.hpp"
#include "virtual/scenarios/programs.hpp"

namespace apiary::virt {

namespace {

using subject = bench::global_queue_adapter<virtual_host>;

constexpr scenario all[] = {
    spawn_many_local::on<subject>("task"), post_throughput::on<subject>("task"), ping_pong::on<subject>("task"),
    successor::on<subject>("task"),        uts::on<subject>("node"),             stencil::on<subject>("task"),
};

}  // namespace

std::span<const scenario> global_queue_scenarios() { return all; }

}  // namespace apiary::virt
