// latency_vs_load: an open loop whose posts have service times, fixed, exponential or bimodal.
//
// Raced at several rates it gives the curve of p99 against offered load. A poor tail far below capacity
// means: short tasks wait behind long ones although a worker is free, or a wake is missed under load.
// Twin: tokio_baseline/src/scenarios/latency_vs_load.rs.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <apiary/bench/open_loop.hpp>
#include <apiary/bench/service_time.hpp>

namespace apiary::bench {

class latency_vs_load {
public:
    static constexpr std::string_view name = "latency_vs_load";
    static constexpr bool open_loop = true;
    static constexpr std::array parameters{
        rate_parameter,
        parameter{.name = "service", .standard = 0, .words = service_words},
        parameter{.name = "scale", .standard = 1, .most = 1000},
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const auto kind = static_cast<service>(options.param("service"));
        const auto scale = static_cast<std::int64_t>(options.param("scale"));
        // Computed beforehand: a logarithm is no part of the service.
        std::vector<std::int64_t> services(options.plan.size());
        for (std::size_t i = 0; i < services.size(); ++i) services[i] = scale * service_ns(kind, options.seed, i);
        busy_wait_ns(1);  // calibrates its loop, for the first task should not

        bench::open_loop loop(options);  // outlives the runtime
        Runtime runtime(options.workers);
        loop.run([&](std::size_t i) {
            runtime.post([l = &loop, i, ns = services[i]] {
                busy_wait_ns(ns);
                l->finish(i);
            });
        });
        return loop.result(runtime);
    }
};

}  // namespace apiary::bench
