// The explorer against brute force: on random programs the two find the same graphs, each once.
//
// Usage: explorer_oracle_test [--programs N] [--seed S] [--cxx20]
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <apiary/model_check/explorer/cxx20.hpp>
#include <apiary/model_check/explorer/tests/interpreter.hpp>
#include <apiary/model_check/explorer/tests/random_programs.hpp>

namespace {

using namespace apiary::model;
namespace oracle = explorer::oracle;

// Where the two models differ: shapes of litmus tests, each operation with an order of its own, most of them seq_cst, and now and
// then a read-modify-write in place of a store, or a fence in front.
constexpr std::array shapes{
    "x=1 sc || y=1 sc || r x sc; r y sc || r y sc; r x sc",
    "x=1 sc || r x sc; r y sc || y=1 sc; r x sc",
    "x=1 sc; x=2 sc || r x sc; r y sc || y=1 sc; r x sc",
    "y=1 sc; x=1 sc || x=2 sc || r x sc; r y sc",
    "x=1 sc; y=1 sc || y=2 sc; r y sc || r y sc; r x sc",
    "x=1 sc; y=1 sc || y=2 sc; r y sc; r z sc || z=1 sc; r x sc",
    "x=1 sc; r y sc || y=1 sc; y=2 sc || r y sc; r x sc",
    "x=1 sc; z=1 sc || r z sc; r y sc || y=1 sc; r x sc",
};
oracle::program near_the_difference(oracle::generator& random) {
    constexpr int release = 3, seq_cst = 5;
    oracle::program p = oracle::parse(shapes[random.below(shapes.size())]);
    for (auto& t : p.threads)
        for (std::size_t k = 0; k < t.size(); ++k) {
            oracle::instruction& i = t[k];
            const int weaker[] = {0, i.what == oracle::op::load ? 2 : release};
            if (random.below(3) == 0) i.order = weaker[random.below(2)];
            if (i.what == oracle::op::store && random.below(8) == 0) i.what = oracle::op::fetch_add;
            if (k != 0 && t.size() < 4 && random.below(6) == 0) {
                oracle::instruction fence;
                fence.what = oracle::op::fence;
                fence.order = seq_cst;
                t.insert(t.begin() + static_cast<std::ptrdiff_t>(k++), fence);
            }
        }
    return p;
}

std::uint64_t left_out = 0;

bool same(const oracle::program& p, const verdict& v, bool of_cxx20) {
    oracle::answer a = oracle::enumerate(p);
    left_out += a.graphs - a.graphs_of_cxx20;
    if (of_cxx20) a.graphs = a.graphs_of_cxx20, a.outcomes = a.outcomes_of_cxx20;
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
    // The same with [atomics.order] by the letter: cxx20_forbids() leaves out exactly what it should.
    bool of_cxx20 = false;
    for (int i = 1; i < argc; ++i) of_cxx20 = of_cxx20 || std::strcmp(argv[i], "--cxx20") == 0;
    explorer::leave_out_what_cxx20_forbids = of_cxx20;
    explorer::attacks().verify_increments = true;
    oracle::generator random(seed);
    std::uint64_t graphs = 0, bad = 0;
    for (std::uint64_t n = 0; n < programs; ++n) {
        oracle::current = of_cxx20 && n % 2 == 0 ? near_the_difference(random) : random.next();
        const verdict v = run_explorer<oracle::interpreted>({});
        graphs += v.graphs;
        if (!same(oracle::current, v, of_cxx20) && ++bad == 5) break;
    }
    std::printf("%llu programs, %llu graphs, %llu disagreements (seed %llu)\n",
                static_cast<unsigned long long>(programs), static_cast<unsigned long long>(graphs),
                static_cast<unsigned long long>(bad), static_cast<unsigned long long>(seed));
    if (of_cxx20)
        std::printf("C++20 forbids %llu graphs more than RC11\n", static_cast<unsigned long long>(left_out));
    return bad == 0 && (!of_cxx20 || left_out != 0) ? 0 : 1;
}
