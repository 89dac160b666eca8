// The adapter of fork_join: this project's fork-join in function form, on a host (apiary/bench/real_host.hpp).
//
// It has a call for two branches, which hands its worker in and gives their results. More than two are halved until one
// is left, as for rayon and chili. Nothing can be posted: its jobs never outlive the call that makes them.
#pragma once

#include <apiary/schedulers/fork_join/pool.hpp>

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

    runtime_counters counters() const {
        const fork_join_counters c = pool_.counters();
        return {.wakes = c.woken, .parks = c.parked, .steals = c.stolen};
    }

private:
    pool pool_;
};

}  // namespace apiary::bench
