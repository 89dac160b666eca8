// virtual_graph: a plan on task_graph itself, in virtual time: the scheduler that ships runs on the virtual machine
// (bench/virtual), and each task takes the time that the plan gives it. Deterministic: the same plan, workers and prices
// give the same report, whatever the machine.
//
// When to use it. To ask what more workers, another policy, a smaller window or dearer cache lines would bring. When
// not: for kernels whose time depends on where they run; a task costs the same on each worker.
//
// What the scheduler does costs the prices of a profile. Its plain instructions cost nothing there, so they may be given
// for each submit and for each task; task_graph_predict takes what it measured. Outputs that a task of another type
// reads go over that type's link, one after another, and the worker waits for them.
//
// Threads. One, for each run; one run at a time in a process. The program must have the machine's operator new
//          (apiary_virtual_replaced).
// Errors.  std::invalid_argument: a negative cost or time, times that add up to ten virtual days, a plan whose producers
//          do not come first, whatever task_graph refuses; std::length_error as submit; what machine::run throws.
// Tested by virtual_graph_test.cpp.
// Not modelled: what bench/virtual/README.md says; caches of the kernels; queue lengths are not reported.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <apiary/schedulers/task_graph/task_graph.hpp>
#include <apiary/virtual/virtual_team.hpp>
#include <graphs/graph_plan.hpp>
#include <graphs/graph_trace.hpp>

namespace apiary {

struct virtual_graph_config {
    task_graph_config graph{};
    virt::prices priced{};
    std::int64_t submit_ns = 0, task_ns = 0;  // plain instructions of a submit; of a task, before it begins
    std::int64_t transfer_ns_per_kb = 0;      // of an output that a task of another type reads; 0: they share memory
};

struct virtual_graph_type {
    unsigned workers = 0;              // the submitter too, where it helps
    std::int64_t busy_ns = 0;          // of all its workers
    std::size_t ran = 0;
    std::uint64_t received_bytes = 0;  // transfers from other types
    double utilisation = 0;            // busy over workers times makespan
};

struct virtual_graph_report : plan_run {
    std::int64_t critical_path_ns = 0, work_ns = 0;
    std::vector<virtual_graph_type> types;
    virt::machine::counts counts;
};

namespace detail {

using virtual_task_graph = basic_task_graph<virt::virtual_sync>;

inline void spend_ns(std::int64_t ns) {
    if (ns != 0) virt::machine::current()->spend(ns * 1000);
}

// The graph as its submitter sees it: submits and tasks cost what the machine does not see, and outputs travel.
class graph_with_costs {
public:
    graph_with_costs(virtual_task_graph& g, const graph_plan& plan, const virtual_graph_config& config)
        : g_(g), plan_(plan), config_(config), links_(config.graph.workers.size()) {}

    template <class F>
    std::uint64_t submit(const std::vector<std::uint64_t>& after, F f, task_options options) {
        spend_ns(config_.submit_ns);
        return g_.submit(
            after,
            [this, f, place = next_++](auto& context) mutable {
                spend_ns(config_.task_ns);
                receive(place);
                f(context);
            },
            options);
    }
    void wait() { g_.wait(); }
    std::int64_t now_ns() const { return g_.now_ns(); }
    std::uint64_t received(std::size_t type) const { return links_[type].bytes; }

private:
    // Each type has one link, which its workers use in turn.
    struct link {
        virt::virtual_sync::mutex turn;
        std::uint64_t bytes = 0;
    };

    void receive(std::size_t place) {
        if (config_.transfer_ns_per_kb == 0) return;
        const planned_task& reader = plan_[place];
        for (const std::uint64_t p : reader.after) {
            if (plan_[p].type == reader.type || plan_[p].bytes == 0) continue;
            link& l = links_[reader.type];
            const virt::virtual_sync::lock held(l.turn);
            spend_ns(static_cast<std::int64_t>(plan_[p].bytes) * config_.transfer_ns_per_kb / 1024);
            l.bytes += plan_[p].bytes;
        }
    }

    virtual_task_graph& g_;
    const graph_plan& plan_;
    const virtual_graph_config& config_;
    std::vector<link> links_;
    std::size_t next_ = 0;
};

// Ten virtual days at most: picoseconds hold a hundred.
inline void must_end_in_time(const graph_plan& plan, const virtual_graph_config& c) {
    constexpr double most_ns = 864e12;
    if (c.submit_ns < 0 || c.task_ns < 0 || c.transfer_ns_per_kb < 0)
        throw std::invalid_argument("virtual graph: submit_ns, task_ns or transfer_ns_per_kb is negative");
    double all = 0;
    for (std::size_t i = 0; i != plan.size(); ++i) {
        const planned_task& t = plan[i];
        if (t.cost_ns < 0) throw std::invalid_argument("virtual graph: task '" + t.name + "' has a negative cost");
        all += static_cast<double>(t.cost_ns) + static_cast<double>(c.submit_ns) + static_cast<double>(c.task_ns);
        for (const std::uint64_t p : t.after)
            if (p < i) all += static_cast<double>(plan[p].bytes) * static_cast<double>(c.transfer_ns_per_kb) / 1024;
    }
    if (!(all < most_ns))
        throw std::invalid_argument("virtual graph: costs, submits and transfers are " + std::to_string(all) +
                                    " ns in all; it must be less than ten days");
}

}  // namespace detail

inline virtual_graph_report run_in_virtual_time(const graph_plan& plan, const virtual_graph_config& config) {
    detail::must_end_in_time(plan, config);
    virtual_graph_report r;
    for (std::size_t i = 0; const std::int64_t way : ways_to_the_end(plan)) {
        r.work_ns += plan[i++].cost_ns;
        r.critical_path_ns = std::max(r.critical_path_ns, way);
    }
    std::uint64_t threads = 1;  // the submitter's
    for (const unsigned workers : config.graph.workers) threads += workers;
    if (threads > virt::machine::max_processors)
        throw std::invalid_argument("virtual graph: " + std::to_string(threads) + " threads; the virtual machine has " +
                                    std::to_string(virt::machine::max_processors) + " processors");
    virt::machine m(config.priced, static_cast<unsigned>(threads), virt::machine::never);
    m.start("submitter", [&] {
        detail::virtual_task_graph g(config.graph);
        detail::graph_with_costs with_costs(g, plan, config);
        m.clear_counts();
        const plan_run run = run_plan(with_costs, plan, [&](std::size_t i) { detail::spend_ns(plan[i].cost_ns); });
        r.counts = m.counted();
        (void)g.close();
        const virt::host_section outlives_the_machine;
        r.makespan_ns = run.makespan_ns;
        r.submitted_ns = run.submitted_ns;
        r.trace.assign(run.trace.begin(), run.trace.end());
        for (std::size_t type = 0; type != config.graph.workers.size(); ++type) {
            const bool helped = type == 0 && config.graph.submitter_helps;
            r.types.push_back({.workers = config.graph.workers[type] + (helped ? 1 : 0),
                               .received_bytes = with_costs.received(type)});
        }
    });
    m.run();
    for (const traced_task& t : r.trace) {
        r.types[t.type].busy_ns += t.end_ns - t.begin_ns;
        ++r.types[t.type].ran;
    }
    for (virtual_graph_type& t : r.types)
        if (r.makespan_ns > 0 && t.workers != 0)
            t.utilisation = static_cast<double>(t.busy_ns) / (static_cast<double>(r.makespan_ns) * t.workers);
    return r;
}

}  // namespace apiary
