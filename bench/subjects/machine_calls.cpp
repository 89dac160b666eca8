// Subject `machine_calls`: no runtime; a second floor under fork-join: recursion in which every branch is a call, also
// where a node has more than two branches. So the subject `machine_rust` compares with it: it does the same, compiled
// by rustc.
#include <array>

#include <apiary/bench/subject.hpp>

#include "scenarios/fib.hpp"
#include "scenarios/matmul.hpp"
#include "scenarios/recursion.hpp"
#include "scenarios/steal_pressure.hpp"
#include "scenarios/tree_sum.hpp"
#include "scenarios/trees.hpp"
#include "scenarios/uts.hpp"

int main(int argc, char** argv) {
    using namespace apiary::bench;
    static constexpr std::array scenarios{
        entry_of<steal_pressure, recursion_by_calls>(), entry_of<fib, recursion_by_calls>(),
        entry_of<tree_sum, recursion_by_calls>(),       entry_of<skynet, recursion_by_calls>(),
        entry_of<nqueens, recursion_by_calls>(),        entry_of<uts, recursion_by_calls>(),
        entry_of<matmul, recursion_by_calls>(),
    };
    return run_subject({recursion_by_calls::name, recursion_by_calls::version(), scenarios}, argc, argv);
}
