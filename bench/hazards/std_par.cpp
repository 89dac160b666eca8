// The hazards of std::execution::par, for_each over indices: g++'s, which runs on oneTBB. It has no pool of its own to name,
// no workers to choose, and no end.
#include <algorithm>
#include <execution>
#include <numeric>
#include <vector>

#include "../subjects/onetbb_version.hpp"
#include "peer.hpp"

namespace {

using namespace apiary::hazards;

template <class Body>
void loop(unsigned n, Body body) {
    std::vector<unsigned> all(n);
    std::iota(all.begin(), all.end(), 0u);
    std::for_each(std::execution::par, all.begin(), all.end(), body);
}

answer lock_across_fork(const asked&) {
    return locked_loops([](unsigned n, auto body) { loop(n, body); });
}
std::uint64_t down(std::uint64_t depth) {
    if (depth == 0) return 0;
    counter sum = 0;
    loop(2, [&](unsigned i) { sum += i == 0 ? down(depth - 1) : 1; });
    return sum;
}
answer deep_recursion(const asked& a) { return counted(down(a.depth), a.depth); }
// The standard has std::terminate for each of these.
answer throw_body(const asked&) {
    return throws_once(
        [] {
            loop(4, [](unsigned i) {
                if (i == 2) throw thrown();
            });
        },
        [](auto task) { task(); }, [] {});
}
answer throw_nested(const asked&) {
    return throws_once(
        [] {
            loop(4, [](unsigned i) {
                loop(4, [i](unsigned k) {
                    if (i + k == 4) throw thrown();
                });
            });
        },
        [](auto task) { task(); }, [] {});
}
std::uint64_t work_on(unsigned, std::uint64_t tasks) {
    counter ran = 0;
    loop(static_cast<unsigned>(tasks), [&](unsigned i) { compute_one(i), ++ran; });
    return ran;
}
answer idle(const asked& a) {
    work_on(0, 1'000);
    return idle_burn(a);
}
answer first_task(const asked&) {
    std::atomic<double> began = 0;
    const double before = clock_seconds();
    loop(4, [&](unsigned) {
        double none = 0;
        began.compare_exchange_strong(none, clock_seconds());
    });
    return {true, (began - before) * 1e6, "us"};
}

}  // namespace

int main(int argc, char** argv) {
    peer of{.name = "std_par",
            .version = std::string("libstdc++ of g++ ") + __VERSION__ + ", oneTBB " + apiary::bench::onetbb_version(),
            .work_on = work_on};
    of.more = {{"lock_across_fork", lock_across_fork},
               {"deep_recursion", deep_recursion},
               {"throw_body", throw_body},
               {"throw_nested", throw_nested},
               {"idle", idle},
               {"first_task", first_task}};
    of.without = {"oversubscribed"};
    return of.main(argc, argv);
}
