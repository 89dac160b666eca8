// Subject `machine`: no runtime. What this machine's own hand-overs cost between two threads, the floor under every latency of the
// others; and the bare controls, which do the work of a scenario without a scheduler.
#include <sys/utsname.h>

#include <array>
#include <string>

#include <apiary/bench/subject.hpp>

#include "scenarios/bare.hpp"
#include "scenarios/floors.hpp"

namespace {

std::string kernel() {
    utsname names{};
    return ::uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "unknown kernel";
}

}  // namespace

int main(int argc, char** argv) {
    using namespace apiary::bench;
    static constexpr std::array scenarios{
        floor_entry<futex_channel>(),
        floor_entry<eventfd_channel>(),
        floor_entry<spin_channel>(),
        bare_entry<steal_pressure, bare_steal_pressure>(),
        bare_entry<timer_lateness, bare_timer_lateness>(),
        bare_entry<post_latency, bare_post_latency>(),
    };
    return run_subject({"machine", kernel(), scenarios}, argc, argv);
}
