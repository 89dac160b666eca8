// The same checks, two ways: over explorer_sync, and over real_sync behind the compiler's instrumentation. The same verdict, and
// where no memory comes back the same number of graphs. Linked with both forms of one or more sources of checks.
//
// Usage: PROGRAM [NAME …]
//        PROGRAM --speed ROUNDS [NAME …]    processor time for each run of both, in pairs
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <apiary/model_check/check.hpp>

namespace {

using namespace apiary::model;

const check_entry* as_it_is_twin(const check_entry& over_sync) {
    for (const check_entry& e : registry())
        if (e.what == std::string("code as it is") && e.name == over_sync.name) return &e;
    return nullptr;
}

// Each round runs one after the other, the first of them in turns; what holds is the interval in which the middle half of the
// ratios lies.
void compare_speed(const check_entry& over_sync, const check_entry& as_is, unsigned rounds) {
    search_options o;
    o.max_seconds = 60;
    const auto per_run = [&](const check_entry& e) {
        const std::clock_t since = std::clock();
        const verdict v = e.run_explorer(o);
        return static_cast<double>(std::clock() - since) / static_cast<double>(v.executions);
    };
    (void)per_run(as_is);  // reads the places
    std::vector<double> ratios;
    for (unsigned r = 0; r != rounds; ++r) {
        const double first = per_run(r % 2 == 0 ? over_sync : as_is), second = per_run(r % 2 == 0 ? as_is : over_sync);
        ratios.push_back(r % 2 == 0 ? second / first : first / second);
    }
    std::sort(ratios.begin(), ratios.end());
    std::printf("%-36s as it is takes %.2f [%.2f, %.2f] of the time over Sync\n", over_sync.name.c_str(),
                ratios[ratios.size() / 2], ratios[ratios.size() / 4], ratios[ratios.size() * 3 / 4]);
}

}  // namespace

int main(int argc, char** argv) {
    unsigned compared = 0, bad = 0, rounds = 0;
    if (argc > 2 && std::strcmp(argv[1], "--speed") == 0) {
        rounds = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
        argc -= 2, argv += 2;
    }
    for (const check_entry& e : registry()) {
        if (e.what == std::string("code as it is") || !e.run_explorer || e.too_large_to_exhaust) continue;
        bool wanted = argc == 1;
        for (int i = 1; i < argc; ++i) wanted = wanted || e.name == argv[i];
        const check_entry* const twin = as_it_is_twin(e);
        if (!wanted || twin == nullptr) continue;
        ++compared;
        if (rounds != 0) {
            compare_speed(e, *twin, rounds);
            continue;
        }
        search_options o;
        o.max_seconds = 60;
        const verdict over_sync = e.run_explorer(o), as_is = twin->run_explorer(o);
        const bool same = over_sync.result == as_is.result && over_sync.graphs == as_is.graphs;
        if (!same) ++bad;
        std::printf("%-6s %-36s over Sync %8llu graphs, %.2f s; as it is %8llu graphs, %.2f s %s\n",
                    same ? "same" : "DIFFER", e.name.c_str(), static_cast<unsigned long long>(over_sync.graphs),
                    over_sync.seconds, static_cast<unsigned long long>(as_is.graphs), as_is.seconds,
                    as_is.reason.c_str());
        std::fflush(stdout);
    }
    std::printf("%u checks, %u differ\n", compared, bad);
    return bad == 0 && compared != 0 ? 0 : 1;
}
