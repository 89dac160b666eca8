// scenario: one program on one scheduler, on the virtual machine; and what was measured of it.
//
// Thread 0 stands outside: it builds the scheduler, starts the threads of its workers, hands in work, verifies each answer
// and ends them. The programs are those of bench/scenarios (programs.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <apiary/bench/scenario.hpp>
#include <apiary/virtual/virtual_sync.hpp>
#include <apiary/virtual/virtual_team.hpp>

namespace apiary::virt {

// An answer that is wrong.
struct wrong_answer : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// How large a program is made: numbers of its parameters.
using sizes = std::map<std::string, std::uint64_t>;

struct measured {
    std::uint64_t operations = 0;
    picoseconds took = 0;
    machine::counts counts;
    std::vector<moves::row> table;
    // What a real subject answers, too, given the same parameters: bench/contract/CLI.md.
    std::uint64_t check = 0;
    std::string flags;
    sizes params;
};

struct scenario {
    std::string_view subject, name;
    std::string_view operation;  // what is counted, in a word
    std::span<const bench::parameter> parameters;  // of the program
    // The body of thread 0. Brief: as little work as shows that the answers are right. Sizes that are not given are those
    // of so many workers.
    measured (*run)(machine& m, unsigned workers, bool brief, sizes given);
    std::span<const bench::parameter> tunables = {};  // numbers of the scheduler, as its subject has them
    void (*tune)(std::string_view name, std::uint64_t value) = nullptr;  // before it is made
};
std::span<const scenario> fork_join_scenarios();
std::span<const scenario> coro_pool_scenarios();
std::span<const scenario> global_queue_scenarios();
std::span<const scenario> hive_scenarios();
std::span<const scenario> process_scenarios();
std::span<const scenario> task_graph_scenarios();

}  // namespace apiary::virt
