// coro_pool on the virtual machine, whole, by the adapter of its subject.
#include "subjects/coro_pool.hpp"
#include "virtual/scenarios/programs.hpp"

namespace apiary::virt {

namespace {

using subject = bench::coro_pool_adapter<virtual_host>;

constexpr scenario all[] = {
    fib::on<subject>("fork"),
    skynet::on<subject>("node"),
    uts::on<subject>("node"),
    spawn_many_local::on<subject>("task"),
    post_throughput::on<subject>("task"),
    ping_pong::on<subject>("task"),
    yield_many::on<subject>("yield"),
    successor::on<subject>("task"),
    stencil::on<subject>("task"),
    msg_ping_pong::on<subject>("message"),
    msg_ring::on<subject>("message"),
    msg_throughput::on<subject>("message"),
    chameneos::on<subject>("message"),
};

}  // namespace

std::span<const scenario> coro_pool_scenarios() { return all; }

}  // namespace apiary::virt
