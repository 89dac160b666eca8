// targeted_throughput: threads outside post to the private queues of chosen workers as fast as they can.
//
// A poor result means: a push into a worker's inbox is expensive, or each post wakes its worker although it is awake.
// Twin: tokio_baseline/src/scenarios/targeted_throughput.rs.
#pragma once

#include <array>
#include <cstdint>

#include <apiary/bench/producers.hpp>

namespace apiary::bench {

class targeted_throughput {
public:
    static constexpr std::string_view name = "targeted_throughput";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "producers", .standard = 1, .most = 256},
        parameter{.name = "targets", .standard = 1, .most = 1024},
        calibrated_ops,
    };
    template <class Runtime>
    static constexpr bool expressible = targeted_poster<Runtime>;

    template <targeted_poster Runtime>
    static report measure(const run_options& options) {
        check_targets(options);
        const std::uint64_t producers = options.param("producers"), targets = options.param("targets");
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime
        Runtime runtime(options.workers);
        return measure_blocks(settings_of(options, 16'384), runtime, [&](std::uint64_t ops) {
            return run_producers(account, ops, ops, producers, [&](std::uint64_t p, std::uint64_t, auto line_up) {
                line_up();
                for (std::uint64_t i = p; i < ops; i += producers) {
                    account.slow_down();
                    runtime.post_to_worker(static_cast<unsigned>(i % targets), [a = &account, i] { a->complete(i); });
                }
            });
        });
    }
};

}  // namespace apiary::bench
