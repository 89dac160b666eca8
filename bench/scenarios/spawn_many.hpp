// Tokio's spawn_many_* and remote_spawn: T tasks at once, from a worker, from outside, and while others keep the
// workers busy.
//
// A poor local result means: a spawn from a task goes through a shared structure. A poor remote result means: a post
// from outside is expensive; with busy workers, outside posts wait behind tasks that respawn themselves (a fairness
// question). Twins: tokio_baseline/src/scenarios/, under the same names.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <apiary/bench/producers.hpp>

#include "scenarios/background.hpp"

namespace apiary::bench {

class spawn_many_local {
public:
    static constexpr std::string_view name = "spawn_many_local";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "tasks", .standard = 10'000, .most = 100'000'000},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const block_settings settings = settings_of_iterations(options);
        shared<Runtime> s{ledger_of<Runtime>(options.slowdown_ns, options.workers), options.param("tasks")};  // outlives the runtime
        Runtime runtime(options.workers);
        return measure_blocks(settings, runtime, [&](std::uint64_t ops) {
            return run_iterations(s.account, ops, s.tasks, [&](std::uint64_t first) {
                runtime.post([all = &s, r = &runtime, first] {
                    const std::uint64_t end = first + all->tasks;
                    for (std::uint64_t i = first; i < end; ++i)
                        bench::spawn(*r, [a = &all->account, i] { a->complete(i); });
                });
            });
        });
    }

private:
    template <class Runtime>
    struct shared {
        ledger_of<Runtime> account;
        std::uint64_t tasks;
    };
};

// The common part of the three remote scenarios: the main thread posts.
template <poster Runtime>
[[nodiscard]] report measure_remote_posts(const block_settings& settings, std::uint64_t tasks,
                                          ledger_of<Runtime>& account, Runtime& runtime) {
    ledger_of<Runtime>::this_thread_posts();
    return measure_blocks(settings, runtime, [&](std::uint64_t ops) {
        return run_iterations(account, ops, tasks, [&](std::uint64_t first) {
            for (std::uint64_t i = first; i < first + tasks; ++i) runtime.post([a = &account, i] { a->complete(i); });
        });
    });
}

class spawn_many_remote_idle {
public:
    static constexpr std::string_view name = "spawn_many_remote_idle";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters = spawn_many_local::parameters;
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const block_settings settings = settings_of_iterations(options);
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime
        Runtime runtime(options.workers);
        return measure_remote_posts(settings, options.param("tasks"), account, runtime);
    }
};

// Runs beside tasks that hold the workers: `Load` says which, how many, and how the runtime gets them.
template <class Load>
class spawn_many_beside {
public:
    static constexpr std::string_view name = Load::name;
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "tasks", .standard = Load::tasks, .most = 100'000'000},
        parameter{.name = Load::who, .standard = Load::count, .most = 4096},
        parameter{.name = "stall_us", .standard = 10, .least = 0, .most = 1'000'000},
        calibrated_ops,
    };
    template <class Runtime>
    static constexpr bool expressible = fair_poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const block_settings settings = settings_of_iterations(options);
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime, as does the load
        background busy(options.param(std::string(Load::who)),
                        static_cast<std::int64_t>(options.param("stall_us")) * 1000);
        Runtime runtime(options.workers);
        Load::start(busy, runtime);
        report result = measure_remote_posts(settings, options.param("tasks"), account, runtime);
        busy.stop();
        return result;
    }
};

struct yielders {
    static constexpr std::string_view name = "spawn_many_remote_busy1", who = "yielders";
    static constexpr std::uint64_t tasks = 10'000, count = 8;
    static void start(background& busy, auto& runtime) { busy.start_yielders(runtime); }
};
using spawn_many_remote_busy1 = spawn_many_beside<yielders>;

struct stallers {
    static constexpr std::string_view name = "spawn_many_remote_busy2", who = "stallers";
    static constexpr std::uint64_t tasks = 1000, count = 4;
    static void start(background& busy, auto& runtime) { busy.start_stallers(runtime); }
};
using spawn_many_remote_busy2 = spawn_many_beside<stallers>;

class remote_spawn {
public:
    static constexpr std::string_view name = "remote_spawn";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "tasks", .standard = 12'800, .most = 100'000'000},
        parameter{.name = "threads", .standard = 1, .most = 256},
        calibrated_ops,
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const block_settings settings = settings_of_iterations(options);
        const std::uint64_t tasks = options.param("tasks"), threads = options.param("threads");
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime
        Runtime runtime(options.workers);
        return measure_blocks(settings, runtime, [&](std::uint64_t ops) {
            return run_producers(account, ops, tasks, threads, [&](std::uint64_t p, std::uint64_t first, auto line_up) {
                line_up();
                for (std::uint64_t i = first + p; i < first + tasks; i += threads)
                    runtime.post([a = &account, i] { a->complete(i); });
            });
        });
    }
};

}  // namespace apiary::bench
