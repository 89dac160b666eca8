// The frame of every scenario made of blocks: iterations on one account, the audit of each block, the row.
//
// Threads. The main thread only; it sleeps while tasks run.
#pragma once

#include <cstdint>
#include <string>

#include <apiary/bench/scenario.hpp>

namespace apiary::bench {

// Adds up a block from its iterations, each from its start to the stamp of its last task.
template <class Host = real_host>
class block_meter {
public:
    // Just before the work of an iteration. The first call opens the counts of processor time and allocations.
    void start() {
        if (!begun_) {
            begun_ = true;
            used_.start();
        }
        start_ns_ = Host::now_ns();
    }

    // For work that prepares itself on the thread that runs it: its time begins at `ns`, after start().
    void began(std::int64_t ns) noexcept { start_ns_ = ns; }

    void stop(std::int64_t end_ns, std::uint64_t sum) {
        used_.stop();
        wall_ns_ += end_ns - start_ns_;
        sum_ += sum;
    }

    [[nodiscard]] block finished(std::uint64_t ops, const basic_ledger<Host>& account) const {
        block b = finished(ops);
        b.on_poster = account.ran_on_a_poster();
        return b;
    }

    [[nodiscard]] block finished(std::uint64_t ops) const {
        return {.ops = ops, .wall_ns = wall_ns_, .cpu_ns = used_.cpu_ns(), .sum = sum_, .allocs = used_.allocs()};
    }

private:
    bool begun_ = false;
    typename Host::counters used_;
    std::int64_t start_ns_ = 0, wall_ns_ = 0;
    std::uint64_t sum_ = 0;
};

// Runs a block of iterations of `tasks` tasks each. begin(first) starts the tasks with the numbers first … first +
// tasks - 1.
template <class Host, class Begin>
[[nodiscard]] block run_iterations(basic_ledger<Host>& account, std::uint64_t ops, std::uint64_t tasks, Begin begin) {
    block_meter<Host> meter;
    for (std::uint64_t first = 0; first < ops; first += tasks) {
        account.open(tasks);
        meter.start();
        begin(first);
        const std::int64_t end = account.wait();
        meter.stop(end, account.sum());
    }
    return meter.finished(ops, account);
}

// Runs the blocks, audits each, and fills the row. run_block(ops) runs one block.
template <class Runtime, class RunBlock>
[[nodiscard]] report measure_blocks(const block_settings& settings, Runtime& runtime, RunBlock run_block) {
    report result;
    std::uint64_t expected = 0, expected_of = 0;
    unsigned number = 0;
    bool on_poster = false;
    const block_outcome outcome = run_blocks(settings, [&](std::uint64_t ops) {
        const block b = run_block(ops);
        if (ops != expected_of) expected = expected_sum(expected_of = ops);
        result.audit("block " + std::to_string(++number), b.sum, expected);
        on_poster |= b.on_poster;
        return b;
    });
    if (on_poster) result.wrong(std::string(ran_on_a_poster));

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

// The block settings of a scenario with this floor; --param ops=N fixes the count if it was given.
[[nodiscard]] inline block_settings settings_of(const run_options& options, std::uint64_t floor_ops) {
    block_settings settings = options.blocks;
    settings.fixed_ops = options.optional_param("ops");
    settings.floor_ops = floor_ops;
    return settings;
}

// The same for iterations of T tasks, where ops must be a multiple of T.
[[nodiscard]] inline block_settings settings_of_iterations(const run_options& options) {
    const std::uint64_t tasks = options.param("tasks");
    block_settings settings = settings_of(options, tasks);
    if (settings.fixed_ops && *settings.fixed_ops % tasks != 0)
        throw bad_arguments("--param ops=" + std::to_string(*settings.fixed_ops) + " is not a multiple of tasks=" +
                            std::to_string(tasks) + ", the size of an iteration; give a multiple of it");
    return settings;
}

inline constexpr parameter calibrated_ops{.name = "ops", .standard = {}, .most = ledger::most_tasks};

// Throws unless there are at least `targets` workers to aim at.
inline void check_targets(const run_options& options) {
    if (options.param("targets") > options.workers)
        throw bad_arguments("--param targets=" + std::to_string(options.param("targets")) + " is more than --workers " +
                            std::to_string(options.workers));
}

}  // namespace apiary::bench
