// steal_pressure: one task on one worker spawns all the work, the other workers must come and get it.
//
// Ideal is work_ns · ops / workers, and some 10 ns a task for the fences of a wait below 2 us (busy_wait_ns). A poor
// result means: idle workers are woken late or one by one, or a steal takes too little. elsewhere_ppm near 0 means that
// no thief came; the latency column gives the time until the first theft. For a runtime without posts the root is a
// call, which halves its children or spawns them all in a scope, or a coroutine, which forks them all. Twin:
// tokio_baseline/src/scenarios/steal_pressure.rs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <apiary/bench/closed_loop.hpp>

namespace apiary::bench {

class steal_pressure {
public:
    static constexpr std::string_view name = "steal_pressure";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "work_ns", .standard = 1000, .least = 0, .most = 1'000'000'000},
        parameter{.name = "ops", .standard = 100'000, .most = 100'000'000},
    };
    template <class Runtime>
    static constexpr bool expressible =
        poster<Runtime> || forker_by_halves<Runtime> || coroutine_runtime<Runtime> || joiner<Runtime>;

    template <class Runtime>
    static report measure(const run_options& options) {
        family f(options);
        Runtime runtime(options.workers);
        return measure_family(f, runtime, options, [&](std::uint64_t ops) {
            if constexpr (coroutine_runtime<Runtime>) {
                runtime.run(root_coroutine<Runtime>(f, ops));
            } else if constexpr (forker_by_halves<Runtime>) {
                runtime.call([&f, ops](auto&... worker) {
                    f.root_begins();
                    by_halves<Runtime>(f, 0, ops, worker...);
                });
            } else if constexpr (!poster<Runtime>) {
                runtime.call([&f, ops] {
                    f.root_begins();
                    typename Runtime::scope children;
                    for (std::uint64_t i = 0; i < ops; ++i) children.run([family = &f, i] { family->child(i); });
                    children.wait();
                });
            } else {
                runtime.post([family = &f, r = &runtime, ops] { family->have_children(*r, ops); });
            }
        });
    }

    struct family;

private:
    template <class Runtime, class... Worker>
    static void by_halves(family& f, std::uint64_t first, std::uint64_t last, Worker&... worker) {
        if (last - first == 1) return f.child(first);
        const std::uint64_t half = first + (last - first) / 2;
        Runtime::fork_join(
            worker..., [&f, first, half](Worker&... w) { by_halves<Runtime>(f, first, half, w...); },
            [&f, half, last](Worker&... w) { by_halves<Runtime>(f, half, last, w...); });
    }

    template <class Runtime>
    static typename Runtime::template task<void> child_coroutine(family& f, std::uint64_t i) {
        f.child(i);
        co_return;
    }
    template <class Runtime>
    static typename Runtime::template task<void> root_coroutine(family& f, std::uint64_t ops) {
        typename Runtime::branches children(co_await Runtime::this_task());
        f.root_begins();
        for (std::uint64_t i = 0; i < ops; ++i) children.fork(child_coroutine<Runtime>(f, i));
        co_await children.join();
    }

public:
    // begin(ops) makes the runtime run the children of a block.
    template <class Runtime, class Begin>
    static report measure_family(family& f, Runtime& runtime, const run_options& options, Begin begin) {
        busy_wait_ns(1);                                         // calibrates its loop, for the first child should not
        std::vector<std::optional<std::uint64_t>> first_steals;  // of each block: when, after the root's begin
        std::map<std::int64_t, std::uint64_t> elsewhere;         // by the wall time of the block
        const std::uint64_t before = peak_resident_bytes();
        std::optional<std::uint64_t> bytes_each;  // of the first block, in which the most that wait are made
        report result = measure_blocks(settings_of(options, 1), runtime, [&](std::uint64_t ops) {
            f.reset();
            const block b = run_iterations(f.account, ops, ops, [&](std::uint64_t) { begin(ops); });
            if (!bytes_each) bytes_each = (peak_resident_bytes() - before) / ops;
            elsewhere[b.wall_ns] = f.elsewhere.load(std::memory_order_relaxed);
            const std::int64_t first = f.first_elsewhere_ns.load(std::memory_order_relaxed);
            first_steals.emplace_back();
            if (first != 0) first_steals.back() = static_cast<std::uint64_t>(first - f.root_ns);
            return b;
        });
        row& r = result.measured;
        const std::uint64_t away = elsewhere.at(static_cast<std::int64_t>(*r.wall_ns));
        r.flags = "elsewhere_ppm=" + std::to_string(away * 1'000'000 / *r.ops);
        r.add_flag("bytes_each=" + std::to_string(*bytes_each));
        histogram measured;
        std::uint64_t sum_ns = 0;  // a histogram has no mean
        // The warm-up's blocks came first.
        for (const std::optional<std::uint64_t> took : std::span(first_steals).last(options.blocks.blocks)) {
            if (!took) continue;
            measured.record(*took);
            sum_ns += *took;
        }
        if (const std::uint64_t n = measured.count(); n != 0) r.add_flag("lat_mean_ns=" + std::to_string(sum_ns / n));
        r.set_latency(measured);
        result.latency = measured;
        return result;
    }

    // One word per thread, whose address tells threads apart at the price of a register.
    static const void* this_thread() noexcept {
        static thread_local const char here = 0;
        return &here;
    }

    struct family {
        ledger account;
        const std::int64_t work_ns;
        const void* root_thread = nullptr;
        std::int64_t root_ns = 0;
        alignas(cache_line) std::atomic<std::uint64_t> elsewhere{0};
        std::atomic<std::int64_t> first_elsewhere_ns{0};

        explicit family(const run_options& options)
            : account(options.slowdown_ns), work_ns(static_cast<std::int64_t>(options.param("work_ns"))) {}

        void reset() {
            elsewhere.store(0, std::memory_order_relaxed);
            first_elsewhere_ns.store(0, std::memory_order_relaxed);
        }

        // On the root's thread, before the first child may run.
        void root_begins() noexcept {
            root_ns = now_ns();
            root_thread = this_thread();
        }

        template <class Runtime>
        void have_children(Runtime& runtime, std::uint64_t ops) {
            root_begins();
            for (std::uint64_t i = 0; i < ops; ++i) bench::spawn(runtime, [this, i] { child(i); });
        }

        void child(std::uint64_t i) noexcept {
            if (this_thread() != root_thread) {
                if (elsewhere.fetch_add(1, std::memory_order_relaxed) == 0)
                    first_elsewhere_ns.store(now_ns(), std::memory_order_relaxed);
            }
            if (work_ns != 0) busy_wait_ns(work_ns);
            account.complete(i);
        }
    };
};

}  // namespace apiary::bench
