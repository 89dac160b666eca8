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
        timers all(options);
        Runtime runtime(options.workers);
        chains<Runtime> armed{runtime, all};
        all.run([&] {
            for (std::uint64_t i = 0; i < all.pending; ++i) armed.arm_next();
        });
        report result = all.result();
        fill_counters(result.measured, runtime);
        return result;
    }

    // The delays that were asked for, and the lateness of each timer.
    struct timers {
        const std::uint64_t ops, pending;
        const std::chrono::nanoseconds delay;

        explicit timers(const run_options& options)
            : ops(options.param("ops")),
              pending(options.param("pending")),
              delay(std::chrono::microseconds(options.param("delay_us"))),
              account_(options.slowdown_ns),
              lateness_(ops) {
            if (pending > ops)
                throw bad_arguments(
                    "--param pending=" + std::to_string(pending) + " is more than ops=" + std::to_string(ops) +
                    ", the number of timers in all; give --param ops=N with N >= " + std::to_string(pending));
        }

        // The due time of a timer that is armed now.
        [[nodiscard]] std::int64_t due() const noexcept { return now_ns() + delay.count(); }

        // First act of a timer: records its lateness. Its own task calls this, once per number.
        void fired(std::uint64_t number, std::int64_t due) noexcept { lateness_[number] = now_ns() - due; }

        // Last act of a timer.
        void complete(std::uint64_t number) noexcept { account_.complete(number); }

        // begin() arms the first `pending`. Sleeps until all have fired.
        template <class Begin>
        void run(Begin begin) {
            account_.open(ops);
            const std::int64_t cpu_start = process_cpu_ns();
            const std::int64_t wall_start = now_ns();
            begin();
            wall_ns_ = account_.wait() - wall_start;
            cpu_ns_ = process_cpu_ns() - cpu_start;
        }

        [[nodiscard]] report result() const {
            report result;
            for (std::size_t i = discarded(ops); i < ops; ++i)
                result.latency.record(static_cast<std::uint64_t>(std::max<std::int64_t>(lateness_[i], 0)));
            row& r = result.measured;
            r.warmup_blocks = 0;
            r.blocks = 1;
            r.ops = ops;
            r.wall_ns = static_cast<std::uint64_t>(wall_ns_);
            r.cpu_ns = static_cast<std::uint64_t>(cpu_ns_);
            r.set_latency(result.latency);
            r.check = account_.sum();
            result.audit("the run", account_.sum(), expected_sum(ops));
            const std::int64_t earliest = *std::min_element(lateness_.begin(), lateness_.end());
            if (earliest < 0) result.wrong("a timer fired " + std::to_string(-earliest) + " ns before it was due");
            return result;
        }

    private:
        ledger account_;
        std::vector<std::int64_t> lateness_;  // started - due by number
        std::int64_t wall_ns_ = 0, cpu_ns_ = 0;
    };

private:
    // Each timer arms the next one when it fires.
    template <class Runtime>
    struct chains {
        Runtime& runtime;
        timers& all;
        std::atomic<std::uint64_t> next{0};  // may run past the last one by those that found nothing left

        void arm_next() {
            const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
            if (number >= all.ops) return;
            const std::int64_t due = all.due();
            runtime.post_delayed(all.delay, [this, number, due] {
                all.fired(number, due);
                arm_next();
                all.complete(number);
            });
        }
    };
};

}  // namespace apiary::bench
