// successor and chained_spawn: each task spawns the next and ends; chains of hops and nothing else.
//
// A poor result means: a hand-over on the same worker is expensive, or each hop wakes a sleeper that finds nothing, or
// a hop moves the chain to another processor. Twins: tokio_baseline/src/scenarios/successor.rs and chained_spawn.rs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <apiary/bench/closed_loop.hpp>

namespace apiary::bench {

// Task i, then i + step, … below end.
template <poster Runtime>
struct chain {
    Runtime& runtime;
    ledger_of<Runtime>& account;
    std::uint64_t step, end;

    void run(std::uint64_t i) const {
        if (i + step < end) bench::hand_on(runtime, [this, i] { run(i + step); });
        account.complete(i);
    }
};

class successor {
public:
    static constexpr std::string_view name = "successor";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "chains", .standard = 1, .most = 16'384}, calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t chains = options.param("chains");
        if (const auto ops = options.optional_param("ops"); ops && chains > *ops)
            throw bad_arguments("--param chains=" + std::to_string(chains) +
                                " is more than ops=" + std::to_string(*ops));
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime, as does the chain
        std::optional<chain<Runtime>> hops;
        Runtime runtime(options.workers);
        return measure_blocks(settings_of(options, 16'384), runtime, [&](std::uint64_t ops) {
            hops.emplace(runtime, account, chains, ops);
            return run_iterations(account, ops, ops, [&](std::uint64_t) {
                for (std::uint64_t c = 0; c < chains; ++c) runtime.post([h = &*hops, c] { h->run(c); });
            });
        });
    }
};

// After Tokio's chained_spawn: a root spawns the first link of a chain of T.
class chained_spawn {
public:
    static constexpr std::string_view name = "chained_spawn";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "tasks", .standard = 1000, .most = 1'000'000},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const block_settings settings = settings_of_iterations(options);
        const std::uint64_t tasks = options.param("tasks");
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime, as does the chain
        std::optional<chain<Runtime>> hops;
        Runtime runtime(options.workers);
        return measure_blocks(settings, runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, tasks, [&](std::uint64_t first) {
                hops.emplace(runtime, account, 1U, first + tasks);
                runtime.post([h = &*hops, first] { bench::hand_on(h->runtime, [h, first] { h->run(first); }); });
            });
        });
    }
};

}  // namespace apiary::bench
