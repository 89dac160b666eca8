// The adapter of hive: this project's own scheduler with N IO workers, on a host (apiary/bench/real_host.hpp); compute
// workers only where a scenario wants them.
//
// A post from a task goes to the slot and deque of its own worker, so it is also the call for a spawn. A task that
// yields posts itself to the private queue of a worker, first in first out; a long one that offers its slice asks
// whether others wait (work_waits) and posts its rest to the pool (post_to_pool). Its tasks must not wait for children:
// fork-join by continuation.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <apiary/bench/scenario.hpp>
#include <apiary/schedulers/hive/hive.hpp>

namespace apiary::bench {

template <class Host, class Scheduler>
class hive_adapter {
public:
    using host = Host;
    static constexpr std::string_view name = std::is_same_v<Scheduler, half_stealing_hive> ? "hive_half" : "hive";
    static std::string version() { return APIARY_VERSION; }
    static constexpr bool several = true;

    // impl/apiary/schedulers/hive/parameters.hpp, by name.
    static constexpr hive_parameters standard{};
    static constexpr std::array tunables{
        parameter{.name = "local_budget", .standard = standard.local_budget},
        parameter{.name = "global_batch", .standard = standard.global_batch, .most = 64},
        parameter{.name = "pool_visits", .standard = standard.pool_visits},
        parameter{.name = "probe_ns", .standard = standard.probe_ns},
        parameter{.name = "global_probe_interval", .standard = standard.global_probe_interval},
        parameter{.name = "first_looks", .standard = standard.first_looks},
        parameter{.name = "short_deque", .standard = standard.short_deque},
        parameter{.name = "long_deque_probes", .standard = standard.long_deque_probes},
        parameter{.name = "steal_rounds", .standard = standard.steal_rounds, .most = 1000},
        parameter{.name = "thieves_take_turns", .standard = 1, .least = 0, .most = 1},
        parameter{.name = "workers_per_searcher", .standard = standard.workers_per_searcher, .least = 0, .most = 1'000},
        parameter{.name = "few_awake", .standard = standard.few_awake, .least = 0, .most = 1'000},
        parameter{
            .name = "looks_before_sleep", .standard = standard.looks_before_sleep, .least = 0, .most = 1000},
        parameter{.name = "sleeps_after_one", .standard = 1, .least = 0, .most = 1},
        parameter{.name = "lets_poster_go_on", .standard = 1, .least = 0, .most = 1},
        parameter{.name = "sleeps_after_long_yield",
                                 .standard = standard.sleeps_after_long_yield,
                                 .least = 0,
                                 .most = 1'000'000},
        parameter{.name = "yield_pays_ns", .standard = standard.yield_pays_ns, .most = 1'000'000'000},
        parameter{.name = "io_slice_ns", .standard = hive_config::usual_io_slice_ns, .least = 0},
        parameter{.name = "search_ns", .standard = standard.search_ns},
        parameter{.name = "naps", .standard = standard.naps, .least = 0, .most = 1000},
        parameter{.name = "idle_cpu", .standard = 0, .least = 0, .most = 100},  // in hundredths of a processor
        parameter{.name = "spin_ns", .standard = standard.spin_ns, .most = 1'000'000'000},
        parameter{
            .name = "timer_spin_ns", .standard = standard.timer_spin_ns, .least = 0, .most = 10'000'000}};
    static void tune(std::string_view which, std::uint64_t value) {
        if (which == "local_budget") parameters_.local_budget = value;
        if (which == "global_batch") parameters_.global_batch = value;
        if (which == "pool_visits") parameters_.pool_visits = value;
        if (which == "probe_ns") parameters_.probe_ns = static_cast<std::int64_t>(value);
        if (which == "global_probe_interval") parameters_.global_probe_interval = value;
        if (which == "first_looks") parameters_.first_looks = value;
        if (which == "short_deque") parameters_.short_deque = value;
        if (which == "long_deque_probes") parameters_.long_deque_probes = value;
        if (which == "steal_rounds") parameters_.steal_rounds = static_cast<unsigned>(value);
        if (which == "thieves_take_turns") parameters_.thieves_take_turns = value != 0;
        if (which == "workers_per_searcher") parameters_.workers_per_searcher = static_cast<unsigned>(value);
        if (which == "few_awake") parameters_.few_awake = static_cast<unsigned>(value);
        if (which == "io_slice_ns") io_slice_ns_ = static_cast<std::int64_t>(value);
        if (which == "search_ns") parameters_.search_ns = static_cast<std::int64_t>(value);
        if (which == "yield_pays_ns") parameters_.yield_pays_ns = static_cast<std::int64_t>(value);
        if (which == "sleeps_after_one") parameters_.sleeps_after_one = value != 0;
        if (which == "lets_poster_go_on") parameters_.lets_poster_go_on = value != 0;
        if (which == "sleeps_after_long_yield") parameters_.sleeps_after_long_yield = static_cast<unsigned>(value);
        if (which == "naps") parameters_.naps = static_cast<unsigned>(value);
        if (which == "timer_spin_ns") parameters_.timer_spin_ns = static_cast<std::int64_t>(value);
        if (which == "idle_cpu") parameters_.idle_cpu = static_cast<double>(value) / 100;
        if (which == "spin_ns") parameters_.spin_ns = static_cast<std::int64_t>(value);
        if (which == "looks_before_sleep") parameters_.looks_before_sleep = static_cast<unsigned>(value);
    }

    static void may_spend(std::uint64_t hundredths) { tune("idle_cpu", hundredths); }

    explicit hive_adapter(unsigned workers, unsigned compute_workers = 0)
        : workers_(workers),
          scheduler_({.io_workers = workers,
                      .compute_workers = compute_workers,
                      .parameters = parameters_,
                      .io_slice_ns = io_slice_ns_}) {
        worker_zero_.start([this] { scheduler_.run(); });  // run() blocks: the thread that calls it is IO worker 0
    }
    ~hive_adapter() {
        scheduler_.request_stop(stop_mode::drain);
        worker_zero_.join();
    }
    hive_adapter(const hive_adapter&) = delete;
    hive_adapter& operator=(const hive_adapter&) = delete;

    template <class F>
    void post(F&& task) {
        must_accept(scheduler_.post_micro(std::forward<F>(task)));
    }

    bool work_waits() { return scheduler_.work_waits(); }
    template <class F>
    void repost(F&& task) {
        must_accept(scheduler_.post_to_pool(std::forward<F>(task)));
    }

    template <class F>
    void post_batch(std::span<F> tasks) {
        must_accept(scheduler_.post_micro_batch(tasks) == tasks.size());
    }

    using timeout = decltype(std::declval<Scheduler&>().post_delayed(static_cast<void (*)()>(nullptr),
                                                                     std::chrono::nanoseconds()));
    template <class F>
    bool rearm(timeout& t, std::chrono::nanoseconds delay, F&& task) {
        if (scheduler_.rearm(t, delay) == rearm_result::rearmed) return true;
        const bool was_pending = !t || t.cancel();
        t = scheduler_.post_delayed(std::forward<F>(task), delay);
        must_accept(static_cast<bool>(t));
        return was_pending;
    }
    void disarm(timeout& t) { (void)t.cancel(); }

    template <class F>
    void post_delayed(std::chrono::nanoseconds delay, F&& task) {
        must_accept(static_cast<bool>(scheduler_.post_delayed(std::forward<F>(task), delay)));
    }

    template <class F>
    void post_to_worker(unsigned worker, F&& task) {
        must_accept(scheduler_.post_to_worker(worker, std::forward<F>(task)));
    }

    template <class F>
    void yield(std::uint64_t number, F&& task) {
        post_to_worker(static_cast<unsigned>(number % workers_), std::forward<F>(task));
    }

    template <class F>
    void post_compute(F&& task) {
        must_accept(scheduler_.post_compute(std::forward<F>(task)));
    }

    Scheduler& under() { return scheduler_; }
    unsigned workers() const { return workers_; }

    runtime_counters counters() const {
        return {.wakes = scheduler_.total(&worker_counters::woken),
                .parks = scheduler_.total(&worker_counters::parked),
                .steals = scheduler_.total(&worker_counters::stolen)};
    }

private:
    static inline hive_parameters parameters_{};
    static inline std::int64_t io_slice_ns_ = hive_config::usual_io_slice_ns;
    const unsigned workers_;
    Scheduler scheduler_;
    typename Host::threads worker_zero_;
};

}  // namespace apiary::bench
