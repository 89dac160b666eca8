// targeted_latency: as post_latency, but each post goes to the private queue of a chosen worker.
//
// A poor median means: a post to a worker's own queue does not wake it directly. A poor tail under load
// means: private work waits behind shared work. Twin: tokio_baseline/src/scenarios/targeted_latency.rs.
#pragma once

#include <array>
#include <cstddef>

#include <apiary/bench/closed_loop.hpp>
#include <apiary/bench/open_loop.hpp>

namespace apiary::bench {

class targeted_latency {
public:
    static constexpr std::string_view name = "targeted_latency";
    static constexpr bool open_loop = true;
    static constexpr std::array parameters{
        rate_parameter,
        parameter{.name = "targets", .standard = 1, .most = 1024},
        parameter{.name = "service_ns", .standard = 0, .least = 0, .most = 1'000'000'000},
    };
    template <class Runtime>
    static constexpr bool expressible = targeted_poster<Runtime>;

    template <targeted_poster Runtime>
    static report measure(const run_options& options) {
        check_targets(options);
        busy_wait_ns(1);  // calibrates its loop, for the first task should not
        const auto targets = static_cast<unsigned>(options.param("targets"));
        bench::open_loop loop(options);  // outlives the runtime
        Runtime runtime(options.workers);
        if (const auto service = static_cast<std::int64_t>(options.param("service_ns")); service == 0)
            loop.run([&](std::size_t i) {
                runtime.post_to_worker(static_cast<unsigned>(i % targets), [l = &loop, i] { l->finish(i); });
            });
        else
            loop.run([&](std::size_t i) {
                runtime.post_to_worker(static_cast<unsigned>(i % targets), [l = &loop, i, service] {
                    busy_wait_ns(service);
                    l->finish(i);
                });
            });
        return loop.result(runtime);
    }
};

}  // namespace apiary::bench
