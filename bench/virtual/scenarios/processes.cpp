// processes on the virtual machine, whole, by the adapter of its subject.
#include "subjects/processes.hpp"
#include "virtual/scenarios/programs.hpp"

namespace apiary::virt {

namespace {

using subject = bench::process_adapter<virtual_host>;

constexpr scenario all[] = {
    msg_create::on<subject>("process"),     msg_throughput::on<subject>("message"), msg_ring::on<subject>("message"),
    msg_ping_pong::on<subject>("message"), chameneos::on<subject>("message"),
};

}  // namespace

std::span<const scenario> process_scenarios() { return all; }

}  // namespace apiary::virt
