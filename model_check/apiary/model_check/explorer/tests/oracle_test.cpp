// The explorer against brute force: on random programs the two find the same graphs, each once.
//
// Usage: explorer_oracle_test [--programs N] [--seed S]
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <apiary/model_check/explorer/graph.hpp>
#include <apiary/model_check/explorer/tests/interpreter.hpp>

namespace {

using namespace apiary::model;
namespace oracle = explorer::oracle;

class generator {
public:
    explicit generator(std::uint64_t seed) : state_(seed * 0x9E37'79B9'7F4A'7C15U | 1U) {}

    unsigned below(unsigned n) {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<unsigned>((state_ * 0x2545'F491'4F6C'DD1DU >> 40) % n);
    }

    oracle::program next() {
        // Shapes are kept small enough for brute force; what they are made of varies from program to program.
        const unsigned threads = 2 + below(3);
        const unsigned locations = 1 + below(3);
        const unsigned events = threads == 2 ? 8 : 7;
        // 0 mixed, 1 mostly seq_cst, 2 fences, 3 read-modify-writes, 4 relaxed, 5 asymmetric fences
        const unsigned flavour = below(6);
        oracle::program p;
        p.threads.resize(threads);
        std::uint64_t value = 1;
        for (unsigned used = 0; used < events;) {
            oracle::instruction i;
            i.location = below(locations);
            const unsigned pick = below(10);
            i.what = pick < 4    ? oracle::op::load
                     : pick < 8  ? oracle::op::store
                     : pick == 8 ? oracle::op::fetch_add
                                 : oracle::op::cas;
            if ((flavour == 2 || flavour == 5) && below(3) == 0) i.what = oracle::op::fence;
            if (flavour == 0 && below(8) == 0) i.what = oracle::op::fence;
            if (flavour == 3 && below(2) == 0) i.what = below(2) == 0 ? oracle::op::fetch_add : oracle::op::cas;
            i.order = order(i.what, flavour);
            i.failure_order = order(oracle::op::load, flavour);
            i.value = i.what == oracle::op::fetch_add ? 10 : value++;
            i.expected = below(2) == 0 ? 0 : below(3) + 1;
            used += i.what == oracle::op::fetch_add || i.what == oracle::op::cas ? 2 : 1;
            p.threads[below(threads)].push_back(i);
        }
        return p;
    }

private:
    int order(oracle::op what, unsigned flavour) {
        static constexpr int loads[] = {0, 2, 5}, stores[] = {0, 3, 5}, both[] = {0, 2, 3, 4, 5},
                             fences[] = {2, 3, 4, 5};
        if (flavour == 5 && what == oracle::op::fence)
            return std::array<int, 4>{explorer::light_order, explorer::light_order, explorer::heavy_order, 5}[below(4)];
        if (flavour == 4 && below(4) != 0) return what == oracle::op::fence ? 5 : 0;
        if (flavour == 1 && below(4) != 0) return 5;
        if (what == oracle::op::fence) return flavour == 2 && below(2) == 0 ? 5 : fences[below(4)];
        if (what == oracle::op::load) return loads[below(3)];
        if (what == oracle::op::store) return stores[below(3)];
        return both[below(5)];
    }
    std::uint64_t state_;
};

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
    generator random(seed);
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
