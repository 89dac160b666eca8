// What the frame of a stress program reads and writes by other libraries' headers. They are compiled apart, without a sanitizer:
// they take most of the frame's compilation, and run in one thread.
#pragma once

#include <cstdint>
#include <optional>

#include <apiary/stress/harness.hpp>

namespace apiary::stress {

// Fills in the options. The program's exit status, where it is not to go on: 0 after --help and --list, 2 for bad arguments.
std::optional<int> read_command_line(int argc, char** argv, const char* what, const char* program, options& o);

// One JSON line, when the options ask for it.
void write_verdict(const options& o, const char* program, const char* verdict, std::uint64_t seed, std::uint64_t rounds,
                   std::uint64_t steps, double seconds);

}  // namespace apiary::stress
