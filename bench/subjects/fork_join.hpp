// The adapter of fork_join: this project's fork-join in function form, on a host (apiary/bench/real_host.hpp).
//
// Its loops are begun on one of its workers. It has a call for two branches, which hands its worker in and gives their
// results. More than two are halved until one is left, as for rayon and chili. Nothing can be posted: its jobs never
// outlive the call that makes them.
#pragma once

#include <apiary/schedulers/fork_join/parallel.hpp>
#include <apiary/schedulers/fork_join/pool.hpp>
#include <apiary/schedulers/fork_join/scan.hpp>
#include <apiary/schedulers/fork_join/sort.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <apiary/bench/adapter.hpp>

namespace apiary::bench {

template <class Host>
class fork_join_adapter {
    using pool = basic_fork_join_pool<typename Host::sync>;

public:
    using host = Host;
    using worker = typename pool::context;
    static constexpr std::string_view name = "fork_join";
    static std::string version() { return APIARY_VERSION; }

    explicit fork_join_adapter(unsigned workers) : pool_({.workers = workers}) {}

    template <class F>
    void call(F&& root) {
        pool_.run(root);
    }

    static constexpr bool by_value = true, by_halves = true;
    template <class F, class G>
    static auto fork_join(worker& w, F&& f, G&& g) {
        return apiary::fork_join(w, std::forward<F>(f), std::forward<G>(g));
    }

    class loops {
    public:
        explicit loops(worker& w) : w_(w) {}
        template <class Body>
        void for_each(std::uint64_t n, Body body) {
            parallel_for(w_, std::uint64_t{0}, n, body);
        }
        template <class Map>
        std::uint64_t reduce(std::uint64_t n, Map map) {
            return parallel_reduce(w_, std::uint64_t{0}, n, std::uint64_t{0}, map, std::plus<>());
        }
        void scan(const std::uint64_t* in, std::uint64_t* out, std::uint64_t n) {
            parallel_inclusive_scan(w_, in, in + n, out, std::uint64_t{0}, std::plus<>());
        }
        void sort(std::uint64_t* first, std::uint64_t n) { parallel_sort(w_, first, first + n); }

    private:
        worker& w_;
    };
    template <class F>
    void with_loops(F&& root) {
        pool_.run([&root](worker& w) { root(loops(w)); });
    }

    runtime_counters counters() const {
        const fork_join_counters c = pool_.counters();
        return {.wakes = c.woken, .parks = c.parked, .steals = c.stolen};
    }

private:
    pool pool_;
};

}  // namespace apiary::bench
