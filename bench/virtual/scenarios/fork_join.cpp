// fork_join on the virtual machine, whole, by the adapter of its subject.
#include "subjects/fork_join.hpp"
#include "virtual/scenarios/programs.hpp"

namespace apiary::virt {

namespace {

using subject = bench::fork_join_adapter<virtual_host>;

constexpr scenario all[] = {
    fib::on<subject>("fork"),
    skynet::on<subject>("node"),
    uts::on<subject>("node"),
    loop_empty::on<subject>("loop"),
    loop_for::on<subject>("index"),
    loop_reduce::on<subject>("index"),
    loop_scan::on<subject>("element"),
    loop_sort::on<subject>("element"),
};

}  // namespace

std::span<const scenario> fork_join_scenarios() { return all; }

}  // namespace apiary::virt
