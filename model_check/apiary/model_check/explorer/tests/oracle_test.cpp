// The explorer against brute force: on random programs the two find the same graphs, each once.
//
// Usage: explorer_oracle_test [--programs N] [--seed S]
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/tests/interpreter.hpp>
#include <apiary/model_check/explorer/tests/random_programs.hpp>

namespace {

using namespace apiary::model;
namespace oracle = explorer::oracle;

bool same(const oracle::program& p, const verdict& v) {
    const oracle::answer a = oracle::enumerate(p);
    const bool fine = v.result == outcome::pass && v.graphs == a.graphs && v.executions == a.graphs && v.blocked == 0 &&
                      v.outcomes == a.outcomes;
    if (fine) return true;
    std::printf("explorer: %llu graphs in %llu executions (%llu blocked), brute force: %llu graphs. %s\n%s",
                static_cast<unsigned long long>(v.graphs), static_cast<unsigned long long>(v.executions),
                static_cast<unsigned long long>(v.blocked), static_cast<unsigned long long>(a.graphs), v.reason.c_str(),
                oracle::print(p).c_str());
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t programs = 2000, seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--programs") == 0) programs = std::strtoull(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    }
    explorer::attacks().verify_increments = true;
    oracle::generator random(seed);
    std::uint64_t graphs = 0, bad = 0;
    for (std::uint64_t n = 0; n < programs; ++n) {
        oracle::current = random.next();
        const verdict v = run_explorer<oracle::interpreted>({});
        graphs += v.graphs;
        if (!same(oracle::current, v) && ++bad == 5) break;
    }
    std::printf("%llu programs, %llu graphs, %llu disagreements (seed %llu)\n",
                static_cast<unsigned long long>(programs), static_cast<unsigned long long>(graphs),
                static_cast<unsigned long long>(bad), static_cast<unsigned long long>(seed));
    return bad == 0 ? 0 : 1;
}
