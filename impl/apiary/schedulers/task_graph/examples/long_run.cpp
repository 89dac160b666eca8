// A long stream through one window: its progress, its memory, and its report at the end.
//
//     task_graph_long_run [--tasks N] [--workers N] [--window N]
//
// Each task has an output of 8 to 104 bytes and two producers, one near and one up to 1,000 back, which may have
// gone. Prints a line each second while it submits: what was submitted and begun, and the memory of the process.
// After a tenth of the tasks all of that is in use that ever will be: a megabyte more at the end is an error, and so
// is a task that was not consumed or a result that is not that of a loop.
#include <apiary/schedulers/task_graph/task_graph.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using apiary::task_id;

// Of this process, resident: kB.
long resident() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmRSS:") {
            long kb = 0;
            status >> kb;
            return kb;
        }
    return 0;
}

void print(const char* what, const apiary::task_graph& g, std::int64_t since_ns) {
    const auto p = g.progress();
    std::printf("%-6s %7.2f s: %llu submitted, %llu begun, %ld kB\n", what, static_cast<double>(since_ns) / 1e9,
                static_cast<unsigned long long>(p.submitted), static_cast<unsigned long long>(p.begun), resident());
    std::fflush(stdout);
}

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 31) * 0x9E3779B97F4A7C15U;
    return x ^ x >> 29;
}

std::uint64_t number_behind(const std::string& option, const char* text) {
    std::uint64_t n = 0;
    const char* const end = text == nullptr ? text : text + std::strlen(text);
    if (const auto read = std::from_chars(text, end, n);
        text == nullptr || read.ec != std::errc() || read.ptr != end || n == 0)
        throw std::invalid_argument(option + " takes a number from 1 on");
    return n;
}

int stream(int argc, char** argv) {
    std::uint64_t tasks = 10'000'000;
    unsigned workers = 1;
    std::size_t window = 16384;
    for (int i = 1; i < argc; i += 2) {
        const std::string option = argv[i];
        if (option != "--tasks" && option != "--workers" && option != "--window")
            throw std::invalid_argument("no option " + option + "; there are --tasks, --workers and --window");
        const std::uint64_t n = number_behind(option, argv[i + 1]);  // null after the last one
        if (option == "--tasks") tasks = n;
        if (option == "--workers") workers = static_cast<unsigned>(std::min<std::uint64_t>(n, UINT32_MAX));
        if (option == "--window") window = n;
    }
    constexpr std::uint64_t reach = 1024;
    std::array<std::uint64_t, 2 * reach> expected{};
    // Twice the window and the reach: a cell is written again when the task that wrote it before has long been
    // consumed.
    std::vector<std::uint64_t> value(std::bit_ceil(2 * (window + reach)));
    apiary::task_graph g({.workers = {workers}, .window = window});
    const std::int64_t from = g.now_ns();
    std::int64_t told = from;
    long before = 0;
    for (task_id id = 0; id != tasks; ++id) {
        const task_id far = id - 1 - mix(id) % std::min<std::uint64_t>(id == 0 ? 1 : id, reach - 1);
        const std::array<task_id, 2> after{id - 1, far};
        g.submit(std::span(after).first(id == 0 ? 0 : 2),
                 [&value, id, far] {
                     const std::uint64_t mask = value.size() - 1;
                     value[id & mask] = id == 0 ? 1 : mix(value[(id - 1) & mask] + value[far & mask]);
                 },
                 {.bytes = static_cast<std::uint32_t>(8 + id % 5 * 24)});
        const std::uint64_t mask = expected.size() - 1;
        expected[id & mask] = id == 0 ? 1 : mix(expected[(id - 1) & mask] + expected[far & mask]);
        if (id == tasks / 10) before = resident();
        if (id % 65536 == 0 && g.now_ns() - told > 1'000'000'000) print("runs", g, (told = g.now_ns()) - from);
    }
    g.wait();
    const long grown = resident() - before;
    print("ended", g, g.now_ns() - from);
    const auto report = g.close();
    std::printf("%llu submitted, %llu consumed; %ld kB more than behind the first tenth\n",
                static_cast<unsigned long long>(report.submitted), static_cast<unsigned long long>(report.consumed),
                grown);
    for (std::size_t type = 0; type != report.types.size(); ++type) {
        const auto& c = report.types[type];
        std::printf("type %zu: ran %llu, of them at once %llu; cancelled %llu, threw %llu; stolen %llu, parked %llu\n",
                    type, static_cast<unsigned long long>(c.ran), static_cast<unsigned long long>(c.at_once),
                    static_cast<unsigned long long>(c.cancelled), static_cast<unsigned long long>(c.thrown),
                    static_cast<unsigned long long>(c.stolen), static_cast<unsigned long long>(c.parked));
    }
    const bool right = value[(tasks - 1) & (value.size() - 1)] == expected[(tasks - 1) & (expected.size() - 1)];
    if (!right) std::fprintf(stderr, "the last result is not that of a loop\n");
    if (grown > 1024) std::fprintf(stderr, "the memory has grown\n");
    return right && grown <= 1024 && report.submitted == tasks && report.consumed == tasks ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return stream(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "task_graph_long_run: %s\n", e.what());
        return 2;
    }
}
