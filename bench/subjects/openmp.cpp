// Subjects `openmp` and `libomp`: OpenMP tasks of the compiler's own library (GCC: libgomp; clang: libomp). One
// parallel region per computation, its root in a `single`, `task` for each child, `taskwait` for the join.
//
// Only the threads of a region can create its tasks, so nothing can be posted from outside: fork-join, and graphs by
// `depend`. The main thread is one of the N.
#include <omp.h>
#ifndef __clang__
#include <parallel/algorithm>
#endif

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/list.hpp"

// clang's own __VERSION__ names clang.
#ifdef __clang__
#define APIARY_OPENMP_OF ""
#else
#define APIARY_OPENMP_OF "GCC "
#endif

namespace {

class openmp {
public:
    static constexpr std::string_view name = APIARY_OPENMP_NAME;
    static std::string version() { return "OpenMP " + std::to_string(_OPENMP) + " (" APIARY_OPENMP_OF __VERSION__ ")"; }

    explicit openmp(unsigned workers) : workers_(static_cast<int>(workers)) { omp_set_dynamic(0); }

    template <class F>
    void call(F&& root) {
#pragma omp parallel num_threads(workers_)
#pragma omp single
        root();
    }

    // The thread goes on with the first branch and leaves the second to others.
    template <class F, class G>
    static void fork_join(F f, G g) {
#pragma omp task firstprivate(g)
        g();
        f();
#pragma omp taskwait
    }

    // A byte for each task: `depend` says that the task writes it and its consumers read it.
    class submitter {
    public:
        explicit submitter(std::uint64_t tasks) : bytes_(tasks) {}

        template <class F>
        void submit(std::uint64_t id, std::span<const std::uint64_t> producers, F task) {
            char* const bytes = bytes_.data();
            const std::uint64_t* const from = producers.data();
            const std::size_t n = producers.size();
#pragma omp task firstprivate(task) depend(iterator(std::size_t k = 0 : n), in : bytes[from[k]]) depend(out : bytes[id])
            task();
        }

    private:
        std::vector<char> bytes_;
    };

    // One region for each graph, its tasks from a `single`; the barrier at the end of the region waits for them.
    template <class Build>
    void graph(std::uint64_t tasks, Build build) {
        submitter all(tasks);
#pragma omp parallel num_threads(workers_)
#pragma omp single
        build(all);
    }

    // For bodies that may differ in length: `guided` balances, and needs no number of its user.
    struct loops {
        int workers;

        template <class Body>
        void for_each(std::uint64_t n, Body body) const {
#pragma omp parallel for num_threads(workers) schedule(guided)
            for (std::uint64_t i = 0; i < n; ++i) body(i);
        }
        template <class Map>
        std::uint64_t reduce(std::uint64_t n, Map map) const {
            std::uint64_t sum = 0;
#pragma omp parallel for num_threads(workers) schedule(guided) reduction(+ : sum)
            for (std::uint64_t i = 0; i < n; ++i) sum += map(i);
            return sum;
        }
#ifndef __clang__
// g++ 12 takes the copies of `sum` that it makes itself for uninitialised ones.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
        // Not by clang 19: its `inscan` keeps n sums on the caller's stack, so a million overflow it, and for one
        // number it writes below the sums.
        void scan(const std::uint64_t* in, std::uint64_t* out, std::uint64_t n) const {
            std::uint64_t sum = 0;
#pragma omp parallel for num_threads(workers) reduction(inscan, + : sum)
            for (std::uint64_t i = 0; i < n; ++i) {
                sum += in[i];
#pragma omp scan inclusive(sum)
                out[i] = sum;
            }
        }
#pragma GCC diagnostic pop
        // OpenMP has no sort. libstdc++'s parallel mode has one, made of OpenMP.
        void sort(std::uint64_t* first, std::uint64_t n) const {
            omp_set_num_threads(workers);
            __gnu_parallel::sort(first, first + n);
        }
#endif
    };
    template <class F>
    void with_loops(F&& root) {
        root(loops{workers_});
    }

    class scope {
    public:
        template <class F>
        void run(F task) {
#pragma omp task firstprivate(task)
            task();
        }
        void wait() {
#pragma omp taskwait
        }
    };

private:
    int workers_;
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<openmp>(argc, argv); }
