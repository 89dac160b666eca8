// A hazard's program: one runtime meets one hazard, once, and says in a line of JSON what came of it. A hang, a crash, and
// a run that ends without that line are seen from outside (scripts/apiary hazards). README.md has the treaty.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace apiary::hazards {

struct asked {
    unsigned workers = 2;
    std::uint64_t depth = 1'000'000;  // of the recursion
    unsigned settle_ms = 10'000;  // idle: how long after its last task the runtime is left alone before it is watched
};

struct answer {
    bool survived = false;
    double figure = -1;  // below 0: none
    const char* unit = "";
    std::string told = {};  // without quotes
};

using program = std::function<answer(const asked&)>;
using programs = std::map<std::string, std::map<std::string, program>>;  // by runtime, by hazard

inline double seconds_of(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
inline double processor_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
inline double clock_seconds() { return seconds_of(CLOCK_MONOTONIC); }
inline void sleep_for_us(unsigned us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

// About ten microseconds of a processor.
inline std::uint64_t compute(std::uint64_t x) {
    for (int i = 0; i != 10'000; ++i) x = x * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    return x;
}
inline std::atomic<std::uint64_t> computed = 0;  // so that compute cannot be left out
inline void compute_one(std::uint64_t x) { computed.fetch_xor(compute(x), std::memory_order_relaxed); }

inline answer counted(std::uint64_t ran, std::uint64_t expected) {
    if (ran == expected) return {.survived = true};
    return {.told = std::to_string(ran) + " of " + std::to_string(expected) + " ran"};
}

// What the process spends in a second after the settling time, while it has no work at all.
inline answer idle_burn(const asked& a) {
    sleep_for_us(a.settle_ms * 1000);
    const double clock = clock_seconds(), spent = processor_seconds();
    sleep_for_us(1'000'000);
    return {true, (processor_seconds() - spent) / (clock_seconds() - clock) * 1e3, "ms/s"};
}

// Work on sixteen times as many workers as asked for, over the same work on as many as asked for: processor time of both.
template <class Work>
answer many_over_few(const asked& a, Work work) {
    double spent[2];
    std::uint64_t ran = 0;
    constexpr std::uint64_t tasks = 4'000;
    for (const unsigned times : {1u, 16u}) {
        const double before = processor_seconds();
        ran += work(a.workers * times, tasks);
        spent[times == 16] = processor_seconds() - before;
    }
    answer told = counted(ran, 2 * tasks);
    told.figure = spent[1] / spent[0], told.unit = "times";
    return told;
}

inline int usage(const char* why) {
    std::fprintf(stderr, "%s\nusage: --list | --version | RUNTIME HAZARD [--workers N] [--settle-ms N] [--depth N]\n",
                 why);
    return 2;
}

inline int hazard_main(const programs& all, const std::string& version, int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::printf("%s\n", version.c_str());
        return 0;
    }
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        for (const auto& [runtime, hazards] : all)
            for (const auto& [hazard, run] : hazards) std::printf("%s %s\n", runtime.c_str(), hazard.c_str());
        return 0;
    }
    asked a;
    if (argc < 3 || argc % 2 == 0) return usage("a runtime and a hazard are needed");
    for (int i = 3; i != argc; i += 2) {
        char* end = nullptr;
        const unsigned long n = std::strtoul(argv[i + 1], &end, 10);
        if (*end != '\0' || end == argv[i + 1] || n > 1'000'000)
            return usage("a number between 0 and 1000000 is needed");
        if (std::strcmp(argv[i], "--workers") == 0 && n >= 1 && n <= 16)
            a.workers = static_cast<unsigned>(n);
        else if (std::strcmp(argv[i], "--depth") == 0)
            a.depth = n;
        else if (std::strcmp(argv[i], "--settle-ms") == 0)
            a.settle_ms = static_cast<unsigned>(n);
        else
            return usage("no such option, or --workers is not 1 to 16");
    }
    const auto runtime = all.find(argv[1]);
    if (runtime == all.end()) return usage("no such runtime; --list names them");
    const auto hazard = runtime->second.find(argv[2]);
    if (hazard == runtime->second.end()) {
        std::fprintf(stderr, "%s cannot meet %s\n", argv[1], argv[2]);
        return 3;
    }
    answer told;
    try {
        told = hazard->second(a);
    } catch (const std::exception& e) {
        told = {.told = std::string("it threw ") + e.what()};
    }
    std::replace_if(told.told.begin(), told.told.end(), [](char c) { return c == '"' || c == '\\' || c < ' '; }, ' ');
    std::printf("{\"survived\": %s, ", told.survived ? "true" : "false");
    if (told.figure >= 0) std::printf("\"figure\": %.4g, \"unit\": \"%s\", ", told.figure, told.unit);
    std::printf("\"told\": \"%s\"}\n", told.told.c_str());
    std::fflush(stdout);
    return told.survived ? 0 : 4;
}

}  // namespace apiary::hazards
