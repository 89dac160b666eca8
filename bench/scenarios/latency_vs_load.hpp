// latency_vs_load: an open loop whose posts have service times, fixed, exponential or bimodal.
//
// Raced at several rates it gives the curve of p99 against offered load. A poor tail far below capacity
// means: short tasks wait behind long ones although a worker is free, or a wake is missed under load.
// At several values of idle_cpu it gives the frontier: latency against the processor time of a post. With bimodal
// service and latency_of=short it shows what short tasks wait behind long ones; slice_us lets the long ones offer their
// slice.
// Twin: tokio_baseline/src/scenarios/latency_vs_load.rs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <apiary/bench/open_loop.hpp>
#include <apiary/bench/service_time.hpp>

namespace apiary::bench {

class latency_vs_load {
    static constexpr std::array<std::string_view, 2> measured_words{"all", "short"};

public:
    static constexpr std::string_view name = "latency_vs_load";
    static constexpr bool open_loop = true;
    static constexpr std::array parameters{
        rate_parameter,
        parameter{.name = "service", .standard = 0, .words = service_words},
        parameter{.name = "scale", .standard = 1, .most = 1000},
        parameter{.name = "idle_cpu", .standard = 0, .least = 0, .most = 100},
        parameter{.name = "slice_us", .standard = 0, .least = 0, .most = 1'000'000},
        parameter{.name = "latency_of", .standard = 0, .words = measured_words},
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    // What the runtime may spend on looking for work, in hundredths of a processor: an adapter with that knob has
    // `may_spend`; `looks_always` is the adapter of a runtime that can do so all the time, and in no other way.
    template <poster Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t hundredths = options.param("idle_cpu");
        if (hundredths == 0) return measure_on<Runtime>(options);  // as it is, by its own numbers
        if constexpr (requires { Runtime::may_spend(hundredths); }) {
            Runtime::may_spend(hundredths);
            return measure_on<Runtime>(options);
        } else if constexpr (requires { typename Runtime::looks_always; }) {
            if (hundredths == 100) return measure_on<typename Runtime::looks_always>(options);
            throw unsupported_here("it looks for work all the time (idle_cpu=100) or not at all (0)");
        } else {
            throw unsupported_here("it has no number for what looking for work may cost; idle_cpu=0 takes it as it is");
        }
    }

private:
    template <poster Runtime>
    static report measure_on(const run_options& options) {
        const auto kind = static_cast<service>(options.param("service"));
        const auto scale = static_cast<std::int64_t>(options.param("scale"));
        const auto slice_ns = static_cast<std::int64_t>(options.param("slice_us")) * 1000;
        const bool short_ones = options.param("latency_of") != 0;
        if (short_ones && kind != service::bimodal)
            throw bad_arguments("--param latency_of=short: of the services bimodal alone has short ones");
        if (slice_ns != 0 && !slicer<Runtime>)
            throw unsupported_here(
                "it has no call by which a task lets those go first that wait; slice_us=0 does without");
        // Computed beforehand: a logarithm is no part of the service.
        std::vector<std::int64_t> services(options.plan.size());
        for (std::size_t i = 0; i < services.size(); ++i) services[i] = scale * service_ns(kind, options.seed, i);
        busy_wait_ns(1);  // calibrates its loop, for the first task should not

        bench::open_loop loop(options);  // outlives the runtime
        Runtime runtime(options.workers);
        if (slice_ns == 0) {
            loop.run([&](std::size_t i) {
                runtime.post([l = &loop, i, ns = services[i]] {
                    busy_wait_ns(ns);
                    l->finish(i);
                });
            });
        } else if constexpr (slicer<Runtime>) {
            loop.run([&](std::size_t i) { runtime.post(sliced<Runtime>{&loop, &runtime, i, services[i], slice_ns}); });
        }
        return loop.result(runtime,
                           [&](std::size_t i) { return !short_ones || services[i] == scale * short_service_ns; });
    }

    // What is left of a service; after each slice its task asks whether others wait.
    template <slicer Runtime>
    struct sliced {
        bench::open_loop* loop;
        Runtime* runtime;
        std::size_t number;
        std::int64_t left_ns, slice_ns;

        void operator()() const {
            std::int64_t left = left_ns;
            while (left > slice_ns) {
                busy_wait_ns(slice_ns);
                left -= slice_ns;
                if (bench::work_waits(*runtime))
                    return runtime->repost(sliced{loop, runtime, number, left, slice_ns});
            }
            busy_wait_ns(left);
            loop->finish(number);
        }
    };
};

}  // namespace apiary::bench
