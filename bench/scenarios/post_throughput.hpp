// post_throughput: threads outside the runtime post tasks as fast as they can; each adds its mark atomically.
//
// A poor result means: a post is dear (allocation, lock, a wake per task), or the workers fight over
// what they take from. ns_per_op counts wall time; cpu_ns shows whether it was bought with spinning.
// Twin: tokio_baseline/src/scenarios/post_throughput.rs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <apiary/bench/allocation_count.hpp>
#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

class post_throughput {
public:
    static constexpr std::string_view name = "post_throughput";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "producers", .standard = 1, .most = 256},
        parameter{.name = "batch", .standard = 1, .most = 65'536},
        parameter{.name = "ops", .standard = {}, .most = std::uint64_t{1} << 40},
    };
    template <class Runtime>
    static constexpr bool expressible = runtime_adapter<Runtime>;

    template <runtime_adapter Runtime>
    static report measure(const run_options& options) {
        block_settings settings = options.blocks;
        settings.fixed_ops = options.optional_param("ops");
        settings.floor_ops = 16'384;

        report result;
        ledger account(options.slowdown_ns);  // outlives the runtime
        Runtime runtime(options.workers);
        sum_cache expected;
        unsigned number = 0;
        const block_outcome outcome = run_blocks(settings, [&](std::uint64_t ops) {
            const block b = run_block(runtime, account, options, ops);
            result.audit("block " + std::to_string(++number), b.sum, expected.of(ops));
            return b;
        });

        const block& b = outcome.median;
        row& r = result.measured;
        r.warmup_blocks = outcome.warmup_blocks;
        r.steady = outcome.steady;
        r.blocks = settings.blocks;
        r.ops = b.ops;
        r.wall_ns = static_cast<std::uint64_t>(b.wall_ns);
        r.cpu_ns = static_cast<std::uint64_t>(b.cpu_ns);
        r.ns_per_op = b.ns_per_op();
        r.ops_per_s = 1e9 / b.ns_per_op();
        r.allocs = b.allocs;
        r.check = b.sum;
        fill_counters(r, runtime);
        return result;
    }

private:
    // Every block of a run has the same count, but for those of the calibration.
    class sum_cache {
    public:
        std::uint64_t of(std::uint64_t n) {
            if (n != n_) sum_ = expected_sum(n_ = n);
            return sum_;
        }

    private:
        std::uint64_t n_ = 0, sum_ = 0;
    };

    // The producers line up, the start flag releases them, the last task ends the block.
    template <class Runtime>
    static block run_block(Runtime& runtime, ledger& account, const run_options& options, std::uint64_t ops) {
        const std::uint64_t producers = options.param("producers"), batch = options.param("batch");
        account.open(ops);
        std::atomic<std::uint64_t> ready{0};
        std::atomic<bool> start{false};
        std::vector<std::jthread> threads;
        for (std::uint64_t producer = 0; producer < producers; ++producer)
            threads.emplace_back([&, producer] {
                produce(runtime, account, {producer, producers, ops, batch}, [&] {
                    ready.fetch_add(1, std::memory_order_release);
                    yield_until([&] { return start.load(std::memory_order_acquire); });
                });
            });

        yield_until([&] { return ready.load(std::memory_order_acquire) == producers; });
        const auto allocs_before = allocation_count();
        const std::int64_t cpu_start = process_cpu_ns();
        const std::int64_t wall_start = now_ns();
        start.store(true, std::memory_order_release);
        const std::int64_t wall_end = account.wait();
        block b;
        b.ops = ops;
        b.cpu_ns = process_cpu_ns() - cpu_start;
        b.wall_ns = wall_end - wall_start;
        b.sum = account.sum();
        if (allocs_before) b.allocs = *allocation_count() - *allocs_before;
        return b;
    }

    // Producer `first` of `step` owns the numbers first, first + step, … below ops.
    struct share {
        std::uint64_t first, step, ops, batch;
    };

    template <class Runtime, class LineUp>
    static void produce(Runtime& runtime, ledger& account, share mine, LineUp line_up) {
        const auto task = [&account](std::uint64_t i) {
            account.slow_down();
            return [a = &account, i] { a->complete(i); };
        };
        if constexpr (batch_poster<Runtime>) {
            if (mine.batch > 1) {
                using task_type = decltype(task(0));
                std::vector<task_type> tasks;
                tasks.reserve(mine.batch);
                line_up();
                for (std::uint64_t i = mine.first; i < mine.ops;) {
                    tasks.clear();
                    for (; i < mine.ops && tasks.size() < mine.batch; i += mine.step) tasks.push_back(task(i));
                    runtime.post_batch(std::span<task_type>(tasks));
                }
                return;
            }
        }
        line_up();
        for (std::uint64_t i = mine.first; i < mine.ops; i += mine.step) runtime.post(task(i));
    }

    // Only around the start flag; a sleeping start would be late by a wake.
    template <class Condition>
    static void yield_until(Condition condition) {
        while (!condition()) std::this_thread::yield();
    }
};

}  // namespace apiary::bench
