// What the hazards of several runtimes have in common: the shape of each program. A runtime puts its own calls into it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hazard.hpp"

namespace apiary::hazards {

struct thrown {};
using counter = std::atomic<std::uint64_t>;
constexpr unsigned outer = 16, inner = 8;  // of locked loops
constexpr std::uint64_t rounds = 50;

// A callable whose copies throw, as when the memory for one is refused.
struct throws_when_copied {
    throws_when_copied() = default;
    throws_when_copied(const throws_when_copied&) { throw thrown(); }
    void operator()() const {}
};

// A loop whose bodies hold a lock while they run a loop of their own: loop(n, body) returns when all n bodies have ended.
template <class Loop>
answer locked_loops(Loop loop) {
    std::mutex m;
    counter ran = 0;
    for (std::uint64_t r = 0; r != rounds; ++r)
        loop(outer, [&](unsigned) {
            const std::lock_guard held(m);
            loop(inner, [&](unsigned) { sleep_for_us(20), ++ran; });
        });
    return counted(ran, rounds * outer * inner);
}

// The exception reaches the code that waits, and the runtime goes on.
template <class Throwing, class Post, class Wait>
answer throws_once(Throwing throwing, Post post, Wait wait) {
    bool seen = false;
    try {
        throwing();
    } catch (const thrown&) {
        seen = true;
    }
    counter ran = 0;
    for (int i = 0; i != 100; ++i) post([&ran] { ++ran; });
    wait();
    return seen ? counted(ran, 100) : answer{.told = "the exception was lost"};
}

template <class Post, class Wait>
answer idle_after(const asked& a, Post post, Wait wait) {
    for (unsigned i = 0; i != 1'000; ++i) post([i] { compute_one(i); });
    wait();
    return idle_burn(a);
}

template <class Make, class Post>
answer first_of(Make make, Post post) {
    std::atomic<double> began = 0;
    const double before = clock_seconds();
    const auto pool = make();
    post(*pool, [&began] {
        began = clock_seconds();
        began.notify_one();
    });
    began.wait(0);
    return {true, (began - before) * 1e6, "us"};
}

struct peer {
    std::string name, version;
    std::uint64_t (*work_on)(unsigned workers, std::uint64_t tasks);  // returns how many ran
    std::map<std::string, program> more = {};
    std::vector<std::string> without = {};  // of the two that need work_on alone

    int main(int argc, char** argv) {
        more["oversubscribed"] = [run = work_on](const asked& a) { return many_over_few(a, run); };
        more["half_quota"] = [run = work_on](const asked& a) { return counted(run(a.workers, 40'000), 40'000); };
        for (const std::string& one : without) more.erase(one);
        return hazard_main({{name, more}}, version, argc, argv);
    }
};

}  // namespace apiary::hazards
