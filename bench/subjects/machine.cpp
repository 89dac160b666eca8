// Subject `machine`: no runtime. It measures the cost of this machine's own hand-overs between two threads, the floor
// under every latency of the others. It also runs the bare controls, which do the work of a scenario without a
// scheduler: fork-join by plain recursion, letters that one thread hands over, graphs in the order of their tasks.
#include <array>

#include <apiary/bench/subject.hpp>

#include "scenarios/bare.hpp"
#include "scenarios/fib.hpp"
#include "scenarios/floors.hpp"
#include "scenarios/graph.hpp"
#include "scenarios/hand_over.hpp"
#include "scenarios/matmul.hpp"
#include "scenarios/msg_crowds.hpp"
#include "scenarios/msg_meetings.hpp"
#include "scenarios/msg_pairs.hpp"
#include "scenarios/recursion.hpp"
#include "scenarios/tree_sum.hpp"
#include "scenarios/trees.hpp"
#include "scenarios/uts.hpp"

int main(int argc, char** argv) {
    using namespace apiary::bench;
    static constexpr std::array scenarios{
        floor_entry<futex_channel>(),
        floor_entry<eventfd_channel>(),
        floor_entry<spin_channel>(),
        bare_entry<steal_pressure, bare_steal_pressure>(),
        bare_entry<timer_lateness, bare_timer_lateness>(),
        bare_entry<post_latency, bare_post_latency>(),
        entry_of<fib, recursion>(),
        entry_of<tree_sum, recursion>(),
        entry_of<skynet, recursion>(),
        entry_of<nqueens, recursion>(),
        entry_of<uts, recursion>(),
        entry_of<matmul, recursion>(),
        entry_of<msg_ping_pong, hand_over>(),
        entry_of<msg_count, hand_over>(),
        entry_of<msg_ring, hand_over>(),
        entry_of<msg_create, hand_over>(),
        entry_of<msg_throughput, hand_over>(),
        entry_of<chameneos, hand_over>(),
        entry_of<big, hand_over>(),
        entry_of<bounded_buffer, hand_over>(),
        entry_of<idle_processes, hand_over>(),
        entry_of<graph, recursion>(),
        entry_of<graph_again, recursion>(),
    };
    return run_subject({recursion::name, recursion::version(), scenarios}, argc, argv);
}
