// The programs of bench/scenarios that run on the virtual machine, and how large they are with so many workers. What the
// real subjects race has the same source; only these sizes are smaller. --param sets others.
#pragma once

#include "scenarios/fib.hpp"
#include "scenarios/graph.hpp"
#include "scenarios/loops.hpp"
#include "scenarios/msg_crowds.hpp"
#include "scenarios/msg_meetings.hpp"
#include "scenarios/msg_pairs.hpp"
#include "scenarios/ping_pong.hpp"
#include "scenarios/post_throughput.hpp"
#include "scenarios/spawn_many.hpp"
#include "scenarios/successor.hpp"
#include "scenarios/trees.hpp"
#include "scenarios/uts.hpp"
#include "virtual/scenarios/virtual_host.hpp"

namespace apiary::virt {

// Little: so that answers are seen to be right. Usual: for up to 16 workers. More get five times as much: from the first
// post on it takes many workers up to a millisecond to take what there is or to fall asleep, and a block is to last
// several times as long. Programs of chains, rings, pairs and messages get more for the same reason. Others do not: one
// operation of graph costs the host most.
inline std::uint64_t scaled(unsigned workers, bool brief, std::uint64_t little, std::uint64_t usual) {
    return brief ? little : workers <= 16 ? usual : 5 * usual;
}

// Programs of short tasks: `tasks` of them in one iteration.
inline sizes of_tasks(unsigned workers, bool brief) {
    const std::uint64_t n = scaled(workers, brief, 300, 10'000);
    return {{"tasks", n}, {"ops", n}};
}
inline sizes of_posts(unsigned workers, bool brief) { return {{"ops", scaled(workers, brief, 300, 10'000)}}; }
inline sizes of_chains(unsigned workers, bool brief) {
    const std::uint64_t hops = brief ? 300 : workers <= 16 ? 10'000 : std::uint64_t{2'000} * workers;
    return {{"chains", workers}, {"ops", hops}};
}
inline sizes of_yields(unsigned workers, bool brief) {
    const std::uint64_t tasks = 8 * workers, yields = brief ? 5 : workers <= 16 ? 50 : 200;
    return {{"tasks", tasks}, {"yields", yields}, {"ops", tasks}};
}
inline std::uint64_t turns_of_each(const sizes& s) { return s.at("yields") + 1; }
inline sizes of_fib(unsigned workers, bool brief) {
    return {{"n", brief ? 13 : workers <= 16 ? 25 : 28}, {"ops", 1}};
}
inline std::uint64_t forks(const sizes& s) { return bench::forks_of(bench::fib_node{s.at("n")}); }
template <class Tree>
std::uint64_t nodes(const Tree& tree, const typename Tree::Node& n) {
    std::uint64_t sum = 1;
    for (unsigned k = 0, end = tree.children(n); k != end; ++k) sum += nodes(tree, tree.child(n, k));
    return sum;
}
inline sizes of_skynet(unsigned workers, bool brief) {
    return {{"leaves", brief ? 1'000 : workers <= 16 ? 100'000 : 1'000'000}, {"ops", 1}};
}
inline std::uint64_t skynet_nodes(const sizes& s) {
    const bench::skynet_tree tree{s.at("leaves")};
    return nodes(tree, tree.root());
}
inline sizes of_uts(unsigned workers, bool brief) {
    return {{"depth", brief ? 4 : workers <= 16 ? 7 : 8}, {"ops", 1}};
}
inline std::uint64_t uts_nodes(const sizes& s) {
    const bench::uts_tree tree{static_cast<std::uint32_t>(s.at("depth"))};
    return nodes(tree, tree.root());
}
// Stencils of 64 tasks a step, as they were raced.
inline sizes of_graph(unsigned workers, bool brief) {
    const std::uint64_t width = 64, steps = brief ? 5 : workers <= 32 ? 100 : 50;
    return {{"pattern", 0}, {"width", width}, {"steps", steps}, {"iterations", 1024}, {"ops", 1}};
}
inline sizes of_throughput(unsigned workers, bool brief) {
    const std::uint64_t processes = 60, messages = brief ? 20 : workers <= 16 ? 1'000 : 2'000;
    return {{"processes", processes}, {"messages", messages}, {"ops", 1}};
}
inline sizes of_create(unsigned workers, bool brief) {
    return {{"processes", scaled(workers, brief, 300, 10'000)}, {"ops", 1}};
}
inline sizes of_ring(unsigned workers, bool brief) {
    const std::uint64_t hops = brief ? 300 : workers <= 16 ? 10'000 : 100'000;
    return {{"hops", hops}, {"ops", 1}};
}
inline sizes of_pings(unsigned workers, bool brief) {
    const std::uint64_t pings = brief ? 150 : workers <= 16 ? 5'000 : 50'000;
    return {{"pings", pings}, {"ops", 1}};
}
inline std::uint64_t pings_and_pongs(const sizes& s) { return 2 * s.at("pings"); }
inline sizes of_meetings(unsigned workers, bool brief) {
    const std::uint64_t meetings = scaled(workers, brief, 100, 5'000);
    return {{"meetings", meetings}, {"ops", 1}};
}

inline std::uint64_t messages_of_meetings(const sizes& s) { return 4 * s.at("meetings"); }

inline sizes of_empty_loops(unsigned, bool brief) { return {{"ops", brief ? 20 : 200}}; }
// Bodies as they were raced, whatever the number of workers: how far a loop can be divided is the question.
template <std::uint64_t Lengths>
sizes of_bodies(unsigned, bool brief) {
    const std::uint64_t n = brief ? 3'000 : 100'000;
    return {{"n", n}, {"iterations", 10}, {"lengths", Lengths}, {"ops", 1}};
}
// Arrays as the smaller ones that were raced; more than 16 workers get sixteen times as much.
template <std::uint64_t N>
sizes of_array(unsigned workers, bool brief) {
    const std::uint64_t n = brief ? 3'000 : workers <= 16 ? N : 16 * N;
    return {{"n", n}, {"ops", 1}};
}

using spawn_many_local = sized_program<bench::spawn_many_local, of_tasks>;
using spawn_many_remote_idle = sized_program<bench::spawn_many_remote_idle, of_tasks>;
using post_throughput = sized_program<bench::post_throughput, of_posts>;
using ping_pong = sized_program<bench::ping_pong, of_tasks>;
using yield_many = sized_program<bench::yield_many, of_yields, turns_of_each>;
using successor = sized_program<bench::successor, of_chains>;
using fib = sized_program<bench::fib, of_fib, forks>;
using skynet = sized_program<bench::skynet, of_skynet, skynet_nodes>;
// A node's hash is a library's, which the machine does not see: the time of a node in a race with one worker.
using uts = sized_program<bench::uts, of_uts, uts_nodes, 83'000>;
// A turn of a task's loop is two instructions that wait for each other, in a block of their own. In a race of task_graph
// with one worker they took so much more than that block costs.
using stencil = sized_program<bench::graph, of_graph, product<"width", "steps">, 900>;
using msg_throughput = sized_program<bench::msg_throughput, of_throughput, product<"processes", "messages">>;
using msg_create = sized_program<bench::msg_create, of_create, product<"processes">>;
using msg_ring = sized_program<bench::msg_ring, of_ring, product<"hops">>;
using msg_ping_pong = sized_program<bench::msg_ping_pong, of_pings, pings_and_pongs>;
using loop_empty = sized_program<bench::loop_empty, of_empty_loops>;
using loop_for = sized_program<bench::loop_for, of_bodies<0>, product<"n">>;
// Turns of a long body wait for each other; those of short bodies overlap. By a race with one worker.
using loop_reduce = sized_program<bench::loop_reduce, of_bodies<1>, product<"n">, 700>;
using loop_scan = sized_program<bench::loop_scan, of_array<65'536>, product<"n">>;
using loop_sort = sized_program<bench::loop_sort, of_array<16'384>, product<"n">>;
using chameneos = sized_program<bench::chameneos, of_meetings, messages_of_meetings>;

}  // namespace apiary::virt
