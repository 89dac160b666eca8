// mixed_load: posts arrive while long compute tasks keep every processor busy.
//
// A poor tail means: posts wait behind compute tasks of milliseconds, or only the system's scheduler stands between the
// two. Compute throughput lost (from compute_tasks in flags) says what that was bought with.
// Twin: tokio_baseline/src/scenarios/mixed_load.rs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <apiary/bench/open_loop.hpp>

namespace apiary::bench {

class mixed_load {
public:
    static constexpr std::string_view name = "mixed_load";
    static constexpr bool open_loop = true;
    static constexpr std::array parameters{
        rate_parameter,
        parameter{.name = "compute_us", .standard = 2000, .most = 1'000'000},
        parameter{.name = "compute_workers", .standard = {}, .most = 1024},
    };
    template <class Runtime>
    static constexpr bool expressible = compute_runtime<Runtime>;

    template <compute_runtime Runtime>
    static report measure(const run_options& options) {
        const auto compute_workers =
            static_cast<unsigned>(options.optional_param("compute_workers").value_or(options.workers));
        bench::open_loop loop(options);  // outlives the runtime, as does the load
        load compute(2U * compute_workers, static_cast<std::int64_t>(options.param("compute_us")) * 1000);
        Runtime runtime(options.workers, compute_workers);

        const std::int64_t start = now_ns();
        for (unsigned k = 0; k < 2 * compute_workers; ++k)
            runtime.post_compute([c = &compute, r = &runtime] { c->run(*r); });
        loop.run([&](std::size_t i) { runtime.post([l = &loop, i] { l->finish(i); }); });
        const std::uint64_t done = compute.call_end();
        const std::int64_t end = now_ns();
        compute.wait();

        report result = loop.result(runtime);
        row& r = result.measured;
        r.wall_ns = static_cast<std::uint64_t>(end - start);
        r.add_flag("compute_tasks=" + std::to_string(done));
        return result;
    }

private:
    // Long tasks, each of which hands in the next. leaving (release) pairs with the load in wait (acquire).
    class load {
    public:
        load(std::uint64_t tasks, std::int64_t work_ns) : work_ns_(work_ns), live_(tasks) {}

        template <class Runtime>
        void run(Runtime& runtime) {
            const std::int64_t end = thread_cpu_ns() + work_ns_;
            while (thread_cpu_ns() < end) {
            }
            done_.fetch_add(1, std::memory_order_relaxed);
            if (on_.load(std::memory_order_relaxed)) return runtime.post_compute([this, r = &runtime] { run(*r); });
            live_.fetch_sub(1, std::memory_order_release);
            live_.notify_one();
        }

        std::uint64_t call_end() noexcept {
            on_.store(false, std::memory_order_relaxed);
            return done_.load(std::memory_order_relaxed);
        }

        void wait() const noexcept {
            for (std::uint64_t left; (left = live_.load(std::memory_order_acquire)) != 0;)
                live_.wait(left, std::memory_order_acquire);
        }

    private:
        const std::int64_t work_ns_;
        std::atomic<bool> on_{true};
        std::atomic<std::uint64_t> done_{0}, live_;
    };
};

}  // namespace apiary::bench
