// mixed_load: posts arrive while long compute tasks keep every processor busy.
//
// `beside` says by what means the tasks compute: the runtime's own for long tasks, the workers of the posts, a second
// runtime. A poor tail means: posts wait behind compute tasks of milliseconds, or only the system's scheduler stands
// between the two. compute_lost_ppm gives the price: compute throughput beside the posts against that of the same pool
// alone, just before. Twin: tokio_baseline/src/scenarios/mixed_load.rs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <apiary/bench/open_loop.hpp>

#include "scenarios/beside.hpp"

namespace apiary::bench {

class mixed_load {
public:
    static constexpr std::string_view name = "mixed_load";
    static constexpr bool open_loop = true;
    static constexpr std::array parameters{
        rate_parameter,
        beside::compute_us_parameter,
        beside::compute_workers_parameter,
        beside::means_parameter,
        parameter{.name = "slice_us", .standard = 0, .least = 0, .most = 1'000'000},
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        bench::open_loop loop(options);  // outlives the runtime, as do the tasks
        beside tasks(options, options.param("slice_us"));
        return tasks.run<Runtime>([&](Runtime& runtime, auto begin) {
            begin();
            return measure_beside(loop, tasks, runtime);
        });
    }

private:
    static constexpr std::int64_t patience_ns = 100'000'000;  // after the last post; posts that run later are starved

    // The tasks compute already.
    template <poster Runtime>
    static report measure_beside(bench::open_loop& loop, beside& tasks, Runtime& runtime) {
        const bool starves = tasks.in_the_workers();
        tasks.count_alone();
        beside::moment last{};
        std::int64_t ended = 0;
        loop.run([&](std::size_t i) { runtime.post([l = &loop, i] { l->finish(i); }); },
                 [&] {
                     if (!starves) return;
                     last = tasks.now();
                     sleep_until_ns(last.ns + patience_ns);
                     ended = now_ns();
                     tasks.compute().call_end();
                 });
        if (!starves) last = tasks.now();
        tasks.compute().call_end();
        tasks.compute().wait();

        report result = loop.result(runtime);
        result.measured.wall_ns = static_cast<std::uint64_t>(last.ns - tasks.middle().ns);
        if (starves) result.measured.add_flag("starved_ppm=" + std::to_string(loop.later_than_ppm(ended)));
        tasks.tell(result, last, loop.injector_ns());
        return result;
    }
};

}  // namespace apiary::bench
