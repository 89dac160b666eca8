// The common part of the exact drivers: a table of operations, and the calls `--list` and `run NAME N`.
//
// A driver runs on one thread and depends on N alone: no clock, no address, no random number decides its path.
// `scripts/apiary exact` counts its instructions under callgrind with N and 2N. An operation prints its own counts as
// NAME=NUMBER. Every operation checks its own result and ends the program if it is wrong.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include <apiary/bench/allocation_count.hpp>

namespace apiary::exact {

struct operation {
    const char* name;
    void (*run)(std::uint64_t n);
};

inline void must(bool holds, const char* what) {
    if (holds) [[likely]]
        return;
    std::fprintf(stderr, "exact driver: %s\n", what);
    std::abort();
}

inline void count(const char* name, std::uint64_t number) {
    std::printf("%s=%llu\n", name, static_cast<unsigned long long>(number));
}

// Runs `name`, or every operation when it is "all". Status 2 for anything but the two calls.
inline int main_of(std::span<const operation> operations, int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--list") {
        for (const operation& o : operations) std::puts(o.name);
        return 0;
    }
    bool found = false;
    if (argc == 4 && std::string_view(argv[1]) == "run") {
        const std::string_view name = argv[2];
        char* end = nullptr;
        const std::uint64_t n = std::strtoull(argv[3], &end, 10);
        for (const operation& o : operations)
            if (*end == '\0' && n > 0 && (name == o.name || name == "all")) {
                found = true;
                const auto before = bench::allocation_count();
                o.run(n);
                if (before) count("allocations", *bench::allocation_count() - *before);
            }
    }
    if (found) return 0;
    std::fputs("expected --list, or run NAME N with N >= 1 and a NAME of the list or `all`; seen:", stderr);
    for (int i = 1; i < argc; ++i) std::fprintf(stderr, " %s", argv[i]);
    std::fputs("\n", stderr);
    return 2;
}

}  // namespace apiary::exact
