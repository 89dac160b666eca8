// ping_pong and yield_many, after Tokio: tasks that hand to and fro, tasks that let others go first.
//
// A poor ping_pong means: a task that wakes another sends it to a different worker. A poor yield_many means: a return
// to the queue is expensive. Twins: tokio_baseline/src/scenarios/, under the same names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <apiary/bench/closed_loop.hpp>

namespace apiary::bench {

class ping_pong {
public:
    static constexpr std::string_view name = "ping_pong";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "tasks", .standard = 1000, .most = 1'000'000},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const block_settings settings = settings_of_iterations(options);
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime
        std::optional<game<Runtime>> table;
        Runtime runtime(options.workers);
        table.emplace(runtime, account, options.param("tasks"));
        return measure_blocks(settings, runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, table->tasks,
                                  [&](std::uint64_t first) { runtime.post([g = &*table, first] { g->root(first); }); });
        });
    }

private:
    // Without channels: a task sends the task that goes on.
    template <poster Runtime>
    struct game {
        Runtime& runtime;
        ledger_of<Runtime>& account;
        std::uint64_t tasks;

        void root(std::uint64_t first) const {
            const std::uint64_t end = first + tasks;
            for (std::uint64_t i = first; i < end; ++i) bench::spawn(runtime, [this, i] { ping(i); });
        }
        void ping(std::uint64_t i) const {
            bench::hand_on(runtime, [this, i] { pong(i); });
        }
        void pong(std::uint64_t i) const {
            bench::hand_on(runtime, [a = &account, i] { a->complete(i); });
        }
    };
};

class yield_many {
public:
    static constexpr std::string_view name = "yield_many";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "tasks", .standard = 200, .most = 1'000'000},
        parameter{.name = "yields", .standard = 1000, .least = 0, .most = 1'000'000},
        calibrated_ops,
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const block_settings settings = settings_of_iterations(options);
        const std::uint64_t tasks = options.param("tasks"), yields = options.param("yields");
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime
        std::optional<crowd<Runtime>> all;
        Runtime runtime(options.workers);
        all.emplace(runtime, account);
        return measure_blocks(settings, runtime, [&](std::uint64_t ops) {
            return run_iterations(account, ops, tasks, [&](std::uint64_t first) {
                for (std::uint64_t i = first; i < first + tasks; ++i)
                    runtime.post([c = &*all, i, yields] { c->step(i, yields); });
            });
        });
    }

private:
    template <poster Runtime>
    struct crowd {
        Runtime& runtime;
        ledger_of<Runtime>& account;

        void step(std::uint64_t i, std::uint64_t left) const {
            if (left == 0) return account.complete(i);
            bench::yield(runtime, i, [this, i, left] { step(i, left - 1); });
        }
    };
};

}  // namespace apiary::bench
