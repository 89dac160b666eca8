// THE list of scenarios. A newcomer adds one header, one include and one line here, and the Rust twin.
#pragma once

#include <array>

#include <apiary/bench/subject.hpp>

#include "scenarios/post_latency.hpp"
#include "scenarios/post_throughput.hpp"
#include "scenarios/timer_lateness.hpp"

namespace apiary::bench {

template <runtime_adapter Runtime>
inline constexpr std::array scenarios_of{
    entry_of<post_throughput, Runtime>(),
    entry_of<post_latency, Runtime>(),
    entry_of<timer_lateness, Runtime>(),
};

// The whole main function of a subject.
template <runtime_adapter Runtime>
[[nodiscard]] int subject_main(int argc, char** argv) {
    return run_subject({Runtime::name, Runtime::version(), scenarios_of<Runtime>}, argc, argv);
}

}  // namespace apiary::bench
