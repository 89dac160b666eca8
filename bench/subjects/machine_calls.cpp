// Subject `machine_calls`: no runtime, a second floor under fork-join: recursion in which every branch is a call.
#include <array>

#include <apiary/bench/subject.hpp>

#include "scenarios/fib.hpp"
#include "scenarios/recursion.hpp"
#include "scenarios/tree_sum.hpp"

int main(int argc, char** argv) {
    using namespace apiary::bench;
    static constexpr std::array scenarios{entry_of<fib, recursion_by_calls>(),
                                          entry_of<tree_sum, recursion_by_calls>()};
    return run_subject({recursion_by_calls::name, recursion_by_calls::version(), scenarios}, argc, argv);
}
