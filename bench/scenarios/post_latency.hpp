// post_latency: an open loop; one injector posts tasks at the plan's times, each stamps when it started.
//
// A poor median means: waking an idle worker is slow. A poor tail with a good median means: a worker
// was busy, or asleep and not told. lateness_p99_ns says what the injector itself was late by.
// Twin: tokio_baseline/src/scenarios/post_latency.rs.
#pragma once

#include <array>
#include <cstddef>

#include <apiary/bench/open_loop.hpp>

namespace apiary::bench {

class post_latency {
public:
    static constexpr std::string_view name = "post_latency";
    static constexpr bool open_loop = true;
    static constexpr std::array parameters{rate_parameter};
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        bench::open_loop loop(options);  // outlives the runtime
        Runtime runtime(options.workers);
        loop.run([&](std::size_t i) { runtime.post([l = &loop, i] { l->finish(i); }); });
        return loop.result(runtime);
    }
};

}  // namespace apiary::bench
