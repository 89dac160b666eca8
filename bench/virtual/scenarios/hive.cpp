// hive on the virtual machine, whole but for its event loop, by the adapter of its subject. Epoll waits for the system.
#include <apiary/events/parker_driver.hpp>

#include "subjects/hive.hpp"
#include "virtual/scenarios/programs.hpp"

namespace apiary::virt {

namespace {

using S = virtual_sync;
using subject = bench::hive_adapter<virtual_host, basic_hive<S, parker_driver<S>, pooled_storage<S>>>;

constexpr scenario all[] = {
    spawn_many_local::on<subject>("task"), spawn_many_remote_idle::on<subject>("task"),
    post_throughput::on<subject>("task"),  ping_pong::on<subject>("task"),
    yield_many::on<subject>("yield"),      successor::on<subject>("task"),
    skynet::on<subject>("node"),           uts::on<subject>("node"),
    stencil::on<subject>("task"),
};

}  // namespace

std::span<const scenario> hive_scenarios() { return all; }

}  // namespace apiary::virt
