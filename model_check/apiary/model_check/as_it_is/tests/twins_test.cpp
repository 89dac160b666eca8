// The same checks, two ways: over explorer_sync, and over real_sync behind the compiler's instrumentation. The same verdict, and
// where no memory comes back the same number of graphs. Linked with both forms of one or more sources of checks.
//
// Usage: PROGRAM [NAME …]
#include <cstdio>
#include <cstring>

#include <apiary/model_check/check.hpp>

namespace {

using namespace apiary::model;

const check_entry* as_it_is_twin(const check_entry& over_sync) {
    for (const check_entry& e : registry())
        if (e.what == std::string("code as it is") && e.name == over_sync.name) return &e;
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
    unsigned compared = 0, bad = 0;
    for (const check_entry& e : registry()) {
        if (e.what == std::string("code as it is") || !e.run_explorer || e.too_large_to_exhaust) continue;
        bool wanted = argc == 1;
        for (int i = 1; i < argc; ++i) wanted = wanted || e.name == argv[i];
        const check_entry* const twin = as_it_is_twin(e);
        if (!wanted || twin == nullptr) continue;
        search_options o;
        o.max_seconds = 60;
        const verdict over_sync = e.run_explorer(o), as_is = twin->run_explorer(o);
        ++compared;
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
