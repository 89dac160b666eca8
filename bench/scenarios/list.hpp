// THE list of scenarios. A newcomer adds one header, one include and one line here, and the Rust twin.
#pragma once

#include <array>

#include <apiary/bench/subject.hpp>

#include "scenarios/fib.hpp"
#include "scenarios/graph.hpp"
#include "scenarios/latency_vs_load.hpp"
#include "scenarios/loops.hpp"
#include "scenarios/matmul.hpp"
#include "scenarios/mixed_load.hpp"
#include "scenarios/msg_crowds.hpp"
#include "scenarios/msg_meetings.hpp"
#include "scenarios/msg_pairs.hpp"
#include "scenarios/ping_pong.hpp"
#include "scenarios/post_latency.hpp"
#include "scenarios/post_throughput.hpp"
#include "scenarios/restart_storm.hpp"
#include "scenarios/servers.hpp"
#include "scenarios/spawn_many.hpp"
#include "scenarios/steal_pressure.hpp"
#include "scenarios/successor.hpp"
#include "scenarios/targeted_latency.hpp"
#include "scenarios/targeted_throughput.hpp"
#include "scenarios/timer_lateness.hpp"
#include "scenarios/timers.hpp"
#include "scenarios/tree_sum.hpp"
#include "scenarios/trees.hpp"
#include "scenarios/uts.hpp"
#include "scenarios/waking.hpp"

namespace apiary::bench {

template <runtime_adapter Runtime>
inline constexpr std::array scenarios_of{
    entry_of<post_throughput, Runtime>(),
    entry_of<post_latency, Runtime>(),
    entry_of<timer_lateness, Runtime>(),
    entry_of<timers, Runtime>(),
    entry_of<targeted_throughput, typename targeted_of<Runtime>::type>(),
    entry_of<targeted_latency, typename targeted_of<Runtime>::type>(),
    entry_of<steal_pressure, Runtime>(),
    entry_of<mixed_load, Runtime>(),
    entry_of<latency_vs_load, Runtime>(),
    entry_of<successor, Runtime>(),
    entry_of<spawn_many_local, Runtime>(),
    entry_of<spawn_many_remote_idle, Runtime>(),
    entry_of<spawn_many_remote_busy1, Runtime>(),
    entry_of<spawn_many_remote_busy2, Runtime>(),
    entry_of<ping_pong, Runtime>(),
    entry_of<yield_many, Runtime>(),
    entry_of<chained_spawn, Runtime>(),
    entry_of<remote_spawn, Runtime>(),
    entry_of<fib, Runtime>(),
    entry_of<tree_sum, Runtime>(),
    entry_of<skynet, Runtime>(),
    entry_of<nqueens, Runtime>(),
    entry_of<uts, Runtime>(),
    entry_of<matmul, Runtime>(),
    entry_of<loop_empty, Runtime>(),
    entry_of<loop_for, Runtime>(),
    entry_of<loop_reduce, Runtime>(),
    entry_of<loop_scan, Runtime>(),
    entry_of<loop_sort, Runtime>(),
    entry_of<msg_ping_pong, Runtime>(),
    entry_of<msg_count, Runtime>(),
    entry_of<msg_ring, Runtime>(),
    entry_of<msg_create, Runtime>(),
    entry_of<msg_throughput, Runtime>(),
    entry_of<chameneos, Runtime>(),
    entry_of<big, Runtime>(),
    entry_of<bounded_buffer, Runtime>(),
    entry_of<idle_processes, Runtime>(),
    entry_of<restart_storm, Runtime>(),
    entry_of<graph, Runtime>(),
    entry_of<graph_again, Runtime>(),
    entry_of<wake_chain, Runtime>(),
    entry_of<idle_cpu, Runtime>(),
    entry_of<echo, typename targeted_of<Runtime>::type>(),
    entry_of<fan_out, typename targeted_of<Runtime>::type>(),
    entry_of<echo_beside, typename targeted_of<Runtime>::type>(),
};

// The whole main function of a subject.
template <runtime_adapter Runtime>
[[nodiscard]] int subject_main(int argc, char** argv) {
    subject who{Runtime::name, Runtime::version(), scenarios_of<Runtime>};
    if constexpr (tunable_runtime<Runtime>) {
        who.tunables = Runtime::tunables;
        who.tune = &Runtime::tune;
    }
    return run_subject(who, argc, argv);
}

}  // namespace apiary::bench
