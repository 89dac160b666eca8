// wake_chain and idle_cpu: the cost of waking sleeping workers together, and the cost of sleeping itself.
//
// A poor wake_chain means: workers wake each other one by one, or all at once for one task. A poor idle_cpu means:
// workers poll (idle_switches says how often they ran), or a single post wakes more than one of them. Twins:
// tokio_baseline/src/scenarios/, under the same names.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include <apiary/bench/injector.hpp>
#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

// After schbench: a message thread wakes one task per worker, is woken by the last, sleeps, and again.
class wake_chain {
public:
    static constexpr std::string_view name = "wake_chain";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "sleep_us", .standard = 100, .least = 0, .most = 1'000'000},
        parameter{.name = "ops", .standard = 1000, .most = 100'000'000},
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t ops = options.param("ops");
        const std::int64_t sleep_ns = static_cast<std::int64_t>(options.param("sleep_us")) * 1000;
        ledger account(options.slowdown_ns);
        std::vector<std::int64_t> latency(ops);  // posted, then started - posted; each by one task
        Runtime runtime(options.workers);

        std::uint64_t sum = 0;
        std::int64_t wall_start = 0, wall_end = 0, cpu_ns = 0;
        std::exception_ptr failure;
        std::thread([&] {
            try {
                set_timer_slack_1ns();
                const std::int64_t cpu_start = process_cpu_ns();
                wall_start = now_ns();
                for (std::uint64_t first = 0; first < ops; first += options.workers) {
                    const std::uint64_t end = std::min<std::uint64_t>(first + options.workers, ops);
                    if (first != 0) sleep_until_ns(now_ns() + sleep_ns);
                    account.open(end - first);
                    for (std::uint64_t i = first; i < end; ++i) {
                        latency[i] = now_ns();
                        runtime.post([a = &account, at = &latency[i], i] {
                            *at = now_ns() - *at;
                            a->complete(i);
                        });
                    }
                    wall_end = account.wait();
                    sum += account.sum();
                }
                cpu_ns = process_cpu_ns() - cpu_start;
            } catch (...) {
                failure = std::current_exception();
            }
        }).join();
        if (failure) std::rethrow_exception(failure);

        report result;
        for (std::size_t i = discarded(ops); i < ops; ++i)
            result.latency.record(static_cast<std::uint64_t>(std::max<std::int64_t>(latency[i], 0)));
        row& r = result.measured;
        r.warmup_blocks = 0;
        r.blocks = 1;
        r.ops = ops;
        r.wall_ns = static_cast<std::uint64_t>(wall_end - wall_start);
        r.cpu_ns = static_cast<std::uint64_t>(cpu_ns);
        r.set_latency(result.latency);
        r.check = sum;
        result.audit("the run", sum, expected_sum(ops));
        fill_counters(r, runtime);
        return result;
    }
};

class idle_cpu {
public:
    static constexpr std::string_view name = "idle_cpu";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "rate", .standard = 0, .least = 0, .most = 1000},
        parameter{.name = "seconds", .standard = 10, .most = 3600},
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t rate = options.param("rate"), seconds = options.param("seconds"), ops = rate * seconds;
        constexpr std::int64_t second = 1'000'000'000;
        ledger account(options.slowdown_ns);
        Runtime runtime(options.workers);
        account.open(1);
        runtime.post([a = &account] { a->complete(0); });
        account.wait();
        sleep_until_ns(now_ns() + second / 10);

        if (ops != 0) account.open(ops);
        const std::uint64_t switches_start = switches_of_others();
        const std::int64_t cpu_start = process_cpu_ns();
        const std::int64_t start = now_ns();
        for (std::uint64_t k = 0; k < ops; ++k) {
            sleep_until_ns(start + static_cast<std::int64_t>(k) * second / static_cast<std::int64_t>(rate));
            runtime.post([a = &account, k] { a->complete(k); });
        }
        sleep_until_ns(start + static_cast<std::int64_t>(seconds) * second);
        if (ops != 0) account.wait();
        const std::int64_t wall_ns = now_ns() - start, cpu_ns = process_cpu_ns() - cpu_start;
        // A thread that has ended in between takes its count with it.
        const std::uint64_t switches_end = switches_of_others();
        const std::uint64_t switches = switches_end - std::min(switches_end, switches_start);

        report result;
        row& r = result.measured;
        r.warmup_blocks = 0;
        r.blocks = 1;
        r.ops = ops;
        r.wall_ns = static_cast<std::uint64_t>(wall_ns);
        r.cpu_ns = static_cast<std::uint64_t>(cpu_ns);
        r.add_flag("idle_switches=" + std::to_string(switches));
        r.check = ops != 0 ? account.sum() : 0;
        result.audit("the run", *r.check, expected_sum(ops));
        fill_counters(r, runtime);
        return result;
    }
};

}  // namespace apiary::bench
