// The hazards of OpenMP: `task` and `taskloop` in a team of N threads. libgomp of g++; its threads belong to the process.
#include <omp.h>

#include "peer.hpp"

namespace {

using namespace apiary::hazards;

template <class Body>
void in_team(unsigned workers, Body body) {
#pragma omp parallel num_threads(workers)
#pragma omp single
    body();
}

answer lock_across_fork(const asked& a) {
    answer told;
    in_team(2 * a.workers, [&] {
        told = locked_loops([](unsigned n, auto body) {
#pragma omp taskloop grainsize(1) firstprivate(body)
            for (unsigned i = 0; i < n; ++i) body(i);
        });
    });
    return told;
}
std::uint64_t down(std::uint64_t depth) {
    if (depth == 0) return 0;
    std::uint64_t x = 0, y = 0;
#pragma omp task shared(x)
    x = down(depth - 1);
#pragma omp task shared(y)
    y = 1;
#pragma omp taskwait
    return x + y;
}
answer deep_recursion(const asked& a) {
    std::uint64_t n = 0;
    in_team(a.workers, [&] { n = down(a.depth); });
    return counted(n, a.depth);
}
// An exception must not leave a structured block: the specification gives it no meaning.
template <class Throwing>
answer throws(const asked& a, Throwing throwing) {
    counter ran = 0;
    bool seen = false;
    try {
        in_team(a.workers, throwing);
    } catch (const thrown&) {
        seen = true;
    }
    in_team(a.workers, [&] {
        for (int i = 0; i < 100; ++i) {
#pragma omp task shared(ran)
            ++ran;
        }
    });
    return seen ? counted(ran, 100) : answer{.told = "the exception was lost"};
}
answer throw_body(const asked& a) {
    return throws(a, [] {
#pragma omp task
        throw thrown();
    });
}
answer throw_nested(const asked& a) {
    return throws(a, [] {
#pragma omp task
        {
#pragma omp task
            throw thrown();
#pragma omp taskwait
        }
    });
}
answer throw_spawn(const asked& a) {
    return throws(a, [] {
        const throws_when_copied callable;
#pragma omp task firstprivate(callable)
        callable();
    });
}
std::uint64_t work_on(unsigned workers, std::uint64_t tasks) {
    counter ran = 0;
    in_team(workers, [&] {
        for (std::uint64_t i = 0; i < tasks; ++i) {
#pragma omp task firstprivate(i) shared(ran)
            compute_one(i), ++ran;
        }
    });
    return ran;
}
// A team in a team.
answer two_pools(const asked& a) {
    counter ran = 0;
    in_team(a.workers, [&] {
        for (int i = 0; i < 100; ++i) {
#pragma omp task shared(ran)
            in_team(a.workers, [&] {
                for (int k = 0; k < 10; ++k) {
#pragma omp task shared(ran)
                    ++ran;
                }
            });
        }
    });
    return counted(ran, 1'000);
}
answer idle(const asked& a) {
    work_on(a.workers, 1'000);
    return idle_burn(a);
}
answer first_task(const asked& a) {
    std::atomic<double> began = 0;
    const double before = clock_seconds();
    in_team(a.workers, [&] {
#pragma omp task shared(began)
        began = clock_seconds();
    });
    return {true, (began - before) * 1e6, "us"};
}
answer to_its_end(const asked& a) {
    work_on(a.workers, 1'000);
    const double before = clock_seconds();
    const bool paused = ::omp_pause_resource_all(::omp_pause_hard) == 0;
    answer told{paused, (clock_seconds() - before) * 1e6, "us"};
    if (!paused) told.told = "omp_pause_resource_all failed";
    return told;
}

}  // namespace

int main(int argc, char** argv) {
    ::omp_set_max_active_levels(2);
    peer of{.name = "openmp", .version = std::string("libgomp of g++ ") + __VERSION__, .work_on = work_on};
    of.more = {{"lock_across_fork", lock_across_fork},
               {"deep_recursion", deep_recursion},
               {"throw_body", throw_body},
               {"throw_spawn", throw_spawn},
               {"throw_nested", throw_nested},
               {"two_pools", two_pools},
               {"idle", idle},
               {"first_task", first_task},
               {"to_its_end", to_its_end}};
    return of.main(argc, argv);
}
