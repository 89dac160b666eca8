// post_latency: an open loop; one injector posts tasks at the plan's times, each stamps when it started.
//
// A poor median means: waking an idle worker is slow. A poor tail with a good median means: a worker
// was busy, or asleep and not told. lateness_p99_ns says what the injector itself was late by.
// Twin: tokio_baseline/src/scenarios/post_latency.rs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <apiary/bench/injector.hpp>
#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

class post_latency {
public:
    static constexpr std::string_view name = "post_latency";
    static constexpr bool open_loop = true;
    // Informative: the plan rules.
    static constexpr std::array parameters{parameter{.name = "rate", .standard = 1000, .most = 1'000'000'000}};
    template <class Runtime>
    static constexpr bool expressible = runtime_adapter<Runtime>;

    template <runtime_adapter Runtime>
    static report measure(const run_options& options) {
        const std::size_t n = options.plan.size();
        ledger account(options.slowdown_ns);
        // One word per task, written once by that task: recording costs the same for the first and the last.
        std::vector<std::int64_t> started(n);
        Runtime runtime(options.workers);

        account.open(n);
        const std::int64_t cpu_start = process_cpu_ns();
        const injection injected = inject_from_new_thread(options.plan, [&](std::size_t i) {
            runtime.post([a = &account, s = started.data(), i] {
                s[i] = now_ns();
                a->complete(i);
            });
        });
        account.wait();
        const std::int64_t cpu_ns = process_cpu_ns() - cpu_start;

        report result;
        std::int64_t last_started = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t at = started[i] - injected.zero_ns;
            last_started = std::max(last_started, at);
            if (i >= discarded(n)) result.latency.record(static_cast<std::uint64_t>(at - options.plan[i]));
        }
        const double offered = per_second(n, options.plan.back()), achieved = per_second(n, last_started);
        row& r = result.measured;
        r.warmup_blocks = 0;
        r.blocks = 1;
        r.ops = n;
        r.cpu_ns = static_cast<std::uint64_t>(cpu_ns);
        r.offered_per_s = offered;
        r.achieved_per_s = achieved;
        r.set_latency(result.latency);
        r.lateness_p99_ns = injected.lateness.printed_percentile({990});
        r.check = account.sum();
        if (injector_limited(injected.lateness, result.latency, offered, achieved)) r.flags = "injector_limited";
        result.audit("the run", account.sum(), expected_sum(n));
        fill_counters(r, runtime);
        return result;
    }

    // Whether the injector, not the subject, shaped the figures. The percentiles need not be printable for that.
    [[nodiscard]] static bool injector_limited(const histogram& lateness, const histogram& latency, double offered,
                                               double achieved) {
        const auto p99 = [](const histogram& h) { return static_cast<double>(h.percentile({990}).value_or(0)); };
        return p99(lateness) > 0.2 * p99(latency) || achieved / offered < 0.99;
    }

private:
    // Infinite, printed as not measured, for an empty span.
    static double per_second(std::size_t n, std::int64_t span_ns) {
        if (span_ns == 0) return std::numeric_limits<double>::infinity();
        return static_cast<double>(n) * 1e9 / static_cast<double>(span_ns);
    }
};

}  // namespace apiary::bench
