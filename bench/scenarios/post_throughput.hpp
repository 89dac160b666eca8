// post_throughput: threads outside the runtime post tasks as fast as they can; each adds its mark atomically.
//
// A poor result means: a post is expensive (allocation, lock, a wake per task), or the workers contend for the queue
// that they take from. ns_per_op counts wall time; cpu_ns shows whether spinning paid for it. Twin:
// tokio_baseline/src/scenarios/post_throughput.rs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <apiary/bench/closed_loop.hpp>
#include <apiary/bench/producers.hpp>

namespace apiary::bench {

class post_throughput {
public:
    static constexpr std::string_view name = "post_throughput";
    static constexpr bool open_loop = false;
    static constexpr std::array parameters{
        parameter{.name = "producers", .standard = 1, .most = 256},
        parameter{.name = "batch", .standard = 1, .most = 65'536},
        calibrated_ops,
    };
    template <class Runtime>
    static constexpr bool expressible = poster<Runtime>;

    template <poster Runtime>
    static report measure(const run_options& options) {
        ledger_of<Runtime> account(options.slowdown_ns, options.workers);  // outlives the runtime
        Runtime runtime(options.workers);
        const std::uint64_t producers = options.param("producers"), batch = options.param("batch");
        return measure_blocks(settings_of(options, 16'384), runtime, [&](std::uint64_t ops) {
            return run_producers(account, ops, ops, producers, [&](std::uint64_t p, std::uint64_t, auto line_up) {
                produce(runtime, account, {p, producers, ops, batch}, line_up);
            });
        });
    }

private:
    // Producer `first` of `step` owns the numbers first, first + step, … below ops.
    struct share {
        std::uint64_t first, step, ops, batch;
    };

    template <class Runtime, class LineUp>
    static void produce(Runtime& runtime, ledger_of<Runtime>& account, share mine, LineUp line_up) {
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
};

}  // namespace apiary::bench
