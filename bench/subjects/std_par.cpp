// Subject `std_par`: std::execution::par of libstdc++, in one oneTBB arena of N slots, since oneTBB is what it is made
// of. Loops only: std::for_each, transform_reduce, inclusive_scan, sort.
//
// The main thread takes one of the N slots. Indices come from a random-access iterator that counts.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <execution>
#include <functional>
#include <numeric>
#include <ranges>
#include <string>

#include <apiary/bench/subject.hpp>

#include "scenarios/loops.hpp"
#include "subjects/onetbb_version.hpp"

namespace {

namespace tbb = oneapi::tbb;

class std_par {
public:
    static constexpr std::string_view name = "std_par";
    static std::string version() {
        return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE) + ", oneTBB " + apiary::bench::onetbb_version();
    }

    explicit std_par(unsigned workers)
        : threads_(tbb::global_control::max_allowed_parallelism, workers + 1), arena_(static_cast<int>(workers), 0) {
        arena_.initialize();
    }

    struct loops {
        // A counting iterator of the standard's old kind, which the algorithms ask for.
        struct index {
            using iterator_category = std::random_access_iterator_tag;
            using value_type = std::uint64_t;
            using difference_type = std::int64_t;
            using pointer = const std::uint64_t*;
            using reference = std::uint64_t;
            std::uint64_t i;

            std::uint64_t operator*() const { return i; }
            std::uint64_t operator[](std::int64_t n) const { return i + static_cast<std::uint64_t>(n); }
            index& operator++() { return ++i, *this; }
            index operator++(int) { return {i++}; }
            index& operator--() { return --i, *this; }
            index operator--(int) { return {i--}; }
            index& operator+=(std::int64_t n) { return i += static_cast<std::uint64_t>(n), *this; }
            index& operator-=(std::int64_t n) { return i -= static_cast<std::uint64_t>(n), *this; }
            friend index operator+(index a, std::int64_t n) { return a += n; }
            friend index operator+(std::int64_t n, index a) { return a += n; }
            friend index operator-(index a, std::int64_t n) { return a -= n; }
            friend std::int64_t operator-(index a, index b) { return static_cast<std::int64_t>(a.i - b.i); }
            auto operator<=>(const index&) const = default;
        };

        template <class Body>
        static void for_each(std::uint64_t n, Body body) {
            std::for_each(std::execution::par, index{0}, index{n}, body);
        }
        template <class Map>
        static std::uint64_t reduce(std::uint64_t n, Map map) {
            return std::transform_reduce(std::execution::par, index{0}, index{n}, std::uint64_t{0}, std::plus<>(), map);
        }
        static void scan(const std::uint64_t* in, std::uint64_t* out, std::uint64_t n) {
            std::inclusive_scan(std::execution::par, in, in + n, out);
        }
        static void sort(std::uint64_t* first, std::uint64_t n) { std::sort(std::execution::par, first, first + n); }
    };
    template <class F>
    void with_loops(F&& root) {
        arena_.execute([&root] { root(loops()); });
    }

private:
    tbb::global_control threads_;
    tbb::task_arena arena_;
};

}  // namespace

int main(int argc, char** argv) {
    using namespace apiary::bench;
    static constexpr std::array scenarios{
        entry_of<loop_empty, std_par>(), entry_of<loop_for, std_par>(),  entry_of<loop_reduce, std_par>(),
        entry_of<loop_scan, std_par>(),  entry_of<loop_sort, std_par>(),
    };
    return run_subject({std_par::name, std_par::version(), scenarios}, argc, argv);
}
