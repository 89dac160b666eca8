// Subject `hive`: this project's own scheduler with N IO workers; compute workers only where a scenario wants them.
// Subject `hive_half`: the same on steal-half queues in place of deques (APIARY_HIVE_HALF).
//
// A post from a task goes to the slot and deque of its own worker, so it is also the call for a spawn. A task that
// yields posts itself to the private queue of a worker, first in first out. Its tasks must not wait for children:
// fork-join by continuation.
#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <apiary/schedulers/hive/hive.hpp>

#include "scenarios/list.hpp"

namespace {

#if defined(APIARY_HIVE_HALF)
using scheduler = apiary::half_stealing_hive;
constexpr std::string_view subject_name = "hive_half";
#else
using scheduler = apiary::hive;
constexpr std::string_view subject_name = "hive";
#endif

class hive {
public:
    static constexpr std::string_view name = subject_name;
    static std::string version() { return APIARY_VERSION; }

    // impl/apiary/schedulers/hive/parameters.hpp, by name.
    static constexpr apiary::hive_parameters standard{};
    static constexpr std::array tunables{
        apiary::bench::parameter{.name = "local_budget", .standard = standard.local_budget},
        apiary::bench::parameter{.name = "global_batch", .standard = standard.global_batch, .most = 64},
        apiary::bench::parameter{.name = "pool_visits", .standard = standard.pool_visits},
        apiary::bench::parameter{.name = "probe_ns", .standard = standard.probe_ns},
        apiary::bench::parameter{.name = "global_probe_interval", .standard = standard.global_probe_interval},
        apiary::bench::parameter{.name = "first_looks", .standard = standard.first_looks},
        apiary::bench::parameter{.name = "short_deque", .standard = standard.short_deque},
        apiary::bench::parameter{.name = "long_deque_probes", .standard = standard.long_deque_probes},
        apiary::bench::parameter{.name = "steal_rounds", .standard = standard.steal_rounds, .most = 1000},
        apiary::bench::parameter{
            .name = "looks_before_sleep", .standard = standard.looks_before_sleep, .least = 0, .most = 1000},
        apiary::bench::parameter{.name = "sleeps_after_one", .standard = 1, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "lets_poster_go_on", .standard = 1, .least = 0, .most = 1},
        apiary::bench::parameter{.name = "sleeps_after_long_yield",
                                 .standard = standard.sleeps_after_long_yield,
                                 .least = 0,
                                 .most = 1'000'000},
        apiary::bench::parameter{.name = "yield_pays_ns", .standard = standard.yield_pays_ns, .most = 1'000'000'000},
        apiary::bench::parameter{.name = "io_slice_ns", .standard = apiary::hive_config::usual_io_slice_ns, .least = 0},
        apiary::bench::parameter{.name = "search_ns", .standard = standard.search_ns},
        apiary::bench::parameter{.name = "naps", .standard = standard.naps, .least = 0, .most = 1000},
        apiary::bench::parameter{
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
        if (which == "io_slice_ns") io_slice_ns_ = static_cast<std::int64_t>(value);
        if (which == "search_ns") parameters_.search_ns = static_cast<std::int64_t>(value);
        if (which == "yield_pays_ns") parameters_.yield_pays_ns = static_cast<std::int64_t>(value);
        if (which == "sleeps_after_one") parameters_.sleeps_after_one = value != 0;
        if (which == "lets_poster_go_on") parameters_.lets_poster_go_on = value != 0;
        if (which == "sleeps_after_long_yield") parameters_.sleeps_after_long_yield = static_cast<unsigned>(value);
        if (which == "naps") parameters_.naps = static_cast<unsigned>(value);
        if (which == "timer_spin_ns") parameters_.timer_spin_ns = static_cast<std::int64_t>(value);
        if (which == "looks_before_sleep") parameters_.looks_before_sleep = static_cast<unsigned>(value);
    }

    explicit hive(unsigned workers, unsigned compute_workers = 0)
        : workers_(workers),
          scheduler_({.io_workers = workers,
                      .compute_workers = compute_workers,
                      .parameters = parameters_,
                      .io_slice_ns = io_slice_ns_}),
          worker_zero_([this] { scheduler_.run(); }) {}

    ~hive() { scheduler_.request_stop(apiary::stop_mode::drain); }

    hive(const hive&) = delete;
    hive& operator=(const hive&) = delete;

    template <class F>
    void post(F&& task) {
        apiary::bench::must_accept(scheduler_.post_micro(std::forward<F>(task)));
    }

    template <class F>
    void post_batch(std::span<F> tasks) {
        apiary::bench::must_accept(scheduler_.post_micro_batch(tasks) == tasks.size());
    }

    template <class F>
    void post_delayed(std::chrono::nanoseconds delay, F&& task) {
        apiary::bench::must_accept(static_cast<bool>(scheduler_.post_delayed(std::forward<F>(task), delay)));
    }

    template <class F>
    void post_to_worker(unsigned worker, F&& task) {
        apiary::bench::must_accept(scheduler_.post_to_worker(worker, std::forward<F>(task)));
    }

    template <class F>
    void yield(std::uint64_t number, F&& task) {
        post_to_worker(static_cast<unsigned>(number % workers_), std::forward<F>(task));
    }

    template <class F>
    void post_compute(F&& task) {
        apiary::bench::must_accept(scheduler_.post_compute(std::forward<F>(task)));
    }

    apiary::bench::runtime_counters counters() const {
        return {.wakes = scheduler_.total(&apiary::worker_counters::woken),
                .parks = scheduler_.total(&apiary::worker_counters::parked),
                .steals = scheduler_.total(&apiary::worker_counters::stolen)};
    }

private:
    static inline apiary::hive_parameters parameters_{};
    static inline std::int64_t io_slice_ns_ = apiary::hive_config::usual_io_slice_ns;
    const unsigned workers_;
    scheduler scheduler_;
    std::jthread worker_zero_;  // run() blocks: the thread that calls it is IO worker 0. Joined first.
};

}  // namespace

int main(int argc, char** argv) { return apiary::bench::subject_main<hive>(argc, argv); }
