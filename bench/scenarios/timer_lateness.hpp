// timer_lateness: timers are kept pending, each arms the next one when it fires; how late do they fire?
//
// A poor result means: the runtime rounds delays up, sleeps in a call of coarse resolution, or pays
// for each pending timer. A timer that fires early is a wrong answer, not a good one.
// Twin: tokio_baseline/src/scenarios/timer_lateness.rs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <apiary/bench/injector.hpp>
#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

class timer_lateness {
public:
    static constexpr std::string_view name = "timer_lateness";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "delay_us", .standard = 1000, .most = 60'000'000},
        parameter{.name = "pending", .standard = 1, .most = 1'000'000},
        parameter{.name = "ops", .standard = 200, .most = 100'000'000},
    };
    template <class Runtime>
    static constexpr bool expressible = delayed_poster<Runtime>;

    template <delayed_poster Runtime>
    static report measure(const run_options& options) {
        const std::uint64_t ops = options.param("ops"), pending = options.param("pending");
        if (pending > ops)
            throw bad_arguments(
                "--param pending=" + std::to_string(pending) + " is more than ops=" + std::to_string(ops) +
                ", the number of timers in all; give --param ops=N with N >= " + std::to_string(pending));
        ledger account(options.slowdown_ns);
        std::vector<std::int64_t> lateness(ops);
        std::atomic<std::uint64_t> next{0};
        Runtime runtime(options.workers);
        timers<Runtime> all{runtime, account, next, lateness, std::chrono::microseconds(options.param("delay_us"))};

        account.open(ops);
        const std::int64_t cpu_start = process_cpu_ns();
        const std::int64_t wall_start = now_ns();
        for (std::uint64_t i = 0; i < pending; ++i) all.arm_next();
        const std::int64_t wall_end = account.wait();
        const std::int64_t cpu_ns = process_cpu_ns() - cpu_start;

        report result;
        for (std::size_t i = discarded(ops); i < ops; ++i)
            result.latency.record(static_cast<std::uint64_t>(std::max<std::int64_t>(lateness[i], 0)));
        row& r = result.measured;
        r.warmup_blocks = 0;
        r.blocks = 1;
        r.ops = ops;
        r.wall_ns = static_cast<std::uint64_t>(wall_end - wall_start);
        r.cpu_ns = static_cast<std::uint64_t>(cpu_ns);
        r.set_latency(result.latency);
        r.check = account.sum();
        result.audit("the run", account.sum(), expected_sum(ops));
        const std::int64_t earliest = *std::min_element(lateness.begin(), lateness.end());
        if (earliest < 0) result.wrong("a timer fired " + std::to_string(-earliest) + " ns before it was due");
        fill_counters(r, runtime);
        return result;
    }

private:
    template <class Runtime>
    struct timers {
        Runtime& runtime;
        ledger& account;
        std::atomic<std::uint64_t>& next;     // may run past the last one by those that found nothing left
        std::vector<std::int64_t>& lateness;  // started - due by number, each written once by its own task
        std::chrono::nanoseconds delay;

        void arm_next() {
            const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
            if (number >= lateness.size()) return;
            const std::int64_t due = now_ns() + delay.count();
            runtime.post_delayed(delay, [this, number, due] {
                lateness[number] = now_ns() - due;
                arm_next();
                account.complete(number);
            });
        }
    };
};

}  // namespace apiary::bench
