// timers: many timeouts are pending, and each operation ends the oldest one and arms it again.
//
// A poor result means: the timers lie in a tree or under a lock, an end leaves its timer behind, or each timer is an
// allocation.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include <apiary/bench/closed_loop.hpp>

namespace apiary::bench {

class timers {
public:
    static constexpr std::string_view name = "timers";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{parameter{.name = "pending", .standard = 4000, .most = 4'000'000},
                                           calibrated_ops};
    template <class Runtime>
    static constexpr bool expressible = timeout_keeper<Runtime>;

    template <timeout_keeper Runtime>
    static report measure(const run_options& options) {
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);
        Runtime runtime(options.workers);
        all<Runtime> of(runtime, account, options.param("pending"));
        account.open(1);
        runtime.post([a = &of] { a->arm_all(); });
        account.wait();
        report result = measure_blocks(settings_of(options, 4096), runtime, [&](std::uint64_t ops) {
            of.end = ops;
            return run_iterations(account, ops, ops, [&](std::uint64_t) { runtime.post([a = &of] { a->some(0); }); });
        });
        account.open(1);
        runtime.post([a = &of] { a->disarm_all(); });
        account.wait();
        if (of.fired != 0) result.wrong("a timeout fired that was to be cancelled a minute before");
        if (of.missed != 0) result.wrong("the runtime said that a pending timeout was not pending");
        return result;
    }

private:
    template <class Runtime>
    struct all {
        Runtime& runtime;
        ledger_of<Runtime>& account;
        std::vector<typename Runtime::timeout> pending;
        std::uint64_t end = 0, oldest = 0, armed = 0;
        std::atomic<std::uint64_t> fired{0}, missed{0};

        all(Runtime& r, ledger_of<Runtime>& a, std::uint64_t n) : runtime(r), account(a), pending(n) {}

        // Tasks of so many operations each, so that the runtime sees to what an end leaves to it.
        static constexpr std::uint64_t at_once = 64;
        void some(std::uint64_t i) {
            const std::uint64_t until = std::min(i + at_once, end);
            if (until == end) return last(i);
            for (; i != until; ++i) {
                rearm();
                account.complete(i);
            }
            bench::hand_on(runtime, [this, until] { some(until); });
        }
        void last(std::uint64_t i) {
            for (; i + 1 != end; ++i) {
                rearm();
                account.complete(i);
            }
            rearm();
            account.complete(i);  // the block may be over
        }
        void rearm() {
            if (!arm(pending[oldest])) missed.fetch_add(1, std::memory_order_relaxed);
            if (++oldest == pending.size()) oldest = 0;
        }
        bool arm(typename Runtime::timeout& t) {
            constexpr std::uint64_t minute = 60'000'000'000;
            const std::chrono::nanoseconds delay(minute + mix(armed++) % minute);
            return runtime.rearm(t, delay, [f = &fired] { f->fetch_add(1, std::memory_order_relaxed); });
        }
        void arm_all() {
            for (auto& t : pending) (void)arm(t);
            account.complete(0);
        }
        void disarm_all() {
            for (auto& t : pending) runtime.disarm(t);
            account.complete(0);
        }
    };
};

}  // namespace apiary::bench
