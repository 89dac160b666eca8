// post_latency: an open loop; one injector posts tasks at the plan's times, each stamps when it started.
//
// A poor median means: waking an idle worker is slow. A poor tail with a good median means: a worker was busy, or
// asleep and not told. lateness_p99_ns gives the injector's own lateness. With `respawners` the same workers compute
// all the time, in tasks that spawn their successors: starved_ppm says how many posts had to wait for the end. Twin:
// tokio_baseline/src/scenarios/post_latency.rs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <apiary/bench/open_loop.hpp>

#include "scenarios/background.hpp"

namespace apiary::bench {

class post_latency {
public:
    static constexpr std::string_view name = "post_latency";
    static constexpr bool open_loop = true;
    static constexpr std::array parameters{
        rate_parameter,
        parameter{.name = "respawners", .standard = 0, .least = 0, .most = 4096},
        parameter{.name = "task_us", .standard = 1000, .most = 1'000'000},
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t respawners = options.param("respawners");
        bench::open_loop loop(options);  // outlives the runtime, as does the load
        compute_load load(respawners, static_cast<std::int64_t>(options.param("task_us")) * 1000);
        Runtime runtime(options.workers);
        const auto release = [&](std::size_t i) { runtime.post([l = &loop, i] { l->finish(i); }); };
        if (respawners == 0) {
            loop.run(release);
            return loop.result(runtime);
        }
        const auto post = [r = &runtime](auto first) { r->post(first); };
        const auto again = [r = &runtime](auto next) { bench::spawn(*r, next); };
        for (std::uint64_t k = 0; k < respawners; ++k) load.start(post, again);
        std::int64_t ended = 0;
        loop.run(release, [&] {
            sleep_until_ns(now_ns() + patience_ns);
            ended = now_ns();
            load.call_end();
        });
        load.wait();
        report result = loop.result(runtime);
        if (!load.ran_each_once()) result.wrong(std::string(load.complaint));
        result.measured.add_flag("starved_ppm=" + std::to_string(loop.later_than_ppm(ended)));
        return result;
    }

private:
    static constexpr std::int64_t patience_ns = 100'000'000;  // after the last post; posts that run later are starved
};

}  // namespace apiary::bench
