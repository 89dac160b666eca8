// mixed_load: posts arrive while long compute tasks keep every processor busy.
//
// A poor tail means: posts wait behind compute tasks of milliseconds, or only the system's scheduler stands between the
// two. compute_lost_ppm gives the price: compute throughput beside the posts against that of the same pool alone, just
// before. Twin: tokio_baseline/src/scenarios/mixed_load.rs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <apiary/bench/open_loop.hpp>

#include "scenarios/background.hpp"

namespace apiary::bench {

class mixed_load {
public:
    static constexpr std::string_view name = "mixed_load";
    static constexpr bool open_loop = true;
    static constexpr std::array parameters{
        rate_parameter,
        parameter{.name = "compute_us", .standard = 2000, .most = 1'000'000},
        parameter{.name = "compute_workers", .standard = {}, .most = 1024},
    };
    template <class Runtime>
    static constexpr bool expressible = compute_runtime<Runtime>;

    template <compute_runtime Runtime>
    static report measure(const run_options& options) {
        const auto compute_workers =
            static_cast<unsigned>(options.optional_param("compute_workers").value_or(options.workers));
        bench::open_loop loop(options);  // outlives the runtime, as does the load
        compute_load compute(2U * compute_workers, static_cast<std::int64_t>(options.param("compute_us")) * 1000);
        Runtime runtime(options.workers, compute_workers);
        const auto again = [r = &runtime](auto next) { r->post_compute(next); };
        for (unsigned k = 0; k < 2 * compute_workers; ++k) again([c = &compute, again] { c->run(again); });

        sleep_until_ns(now_ns() + settle_ns);
        const moment first = at(compute);
        sleep_until_ns(first.ns + options.plan.back() / 4);
        const moment middle = at(compute);
        loop.run([&](std::size_t i) { runtime.post([l = &loop, i] { l->finish(i); }); });
        const moment last = at(compute);
        compute.call_end();
        compute.wait();

        report result = loop.result(runtime);
        row& r = result.measured;
        r.wall_ns = static_cast<std::uint64_t>(last.ns - middle.ns);
        r.add_flag("compute_tasks=" + std::to_string(last.done - middle.done));
        const unsigned processors = std::min(compute_workers, usable_processors());
        if (const auto lost = lost_ppm(first, middle, last, processors, loop.injector_ns()))
            r.add_flag("compute_lost_ppm=" + std::to_string(*lost));
        return result;
    }

    struct moment {
        std::int64_t ns;
        std::uint64_t done;
    };

    // The loss against the throughput alone, in millionths; negative if there was more. The injector's own processor
    // time does not count as lost. Empty if one task is more than a hundredth of the work done alone.
    [[nodiscard]] static std::optional<std::int64_t> lost_ppm(moment first, moment middle, moment last,
                                                              unsigned processors, std::int64_t injector_ns) {
        const std::uint64_t alone = middle.done - first.done, beside = last.done - middle.done;
        const double alone_ns = static_cast<double>(middle.ns - first.ns) * processors;
        const double beside_ns =
            static_cast<double>(last.ns - middle.ns) * processors - static_cast<double>(injector_ns);
        if (alone < 100 || beside_ns <= 0) return std::nullopt;
        const double kept = static_cast<double>(beside) / beside_ns / (static_cast<double>(alone) / alone_ns);
        return std::llround((1 - kept) * 1e6);
    }

private:
    static constexpr std::int64_t settle_ns = 20'000'000;  // for threads that start when there is work for them

    static moment at(const compute_load& compute) { return {.ns = now_ns(), .done = compute.done()}; }
};

}  // namespace apiary::bench
