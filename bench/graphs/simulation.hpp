// simulation: what a plan would do on other workers than there are: the window and the dependencies that
// ship, in virtual time, in one thread. Deterministic: the same plan, workers and seed give the same
// report, whatever the machine.
//
// When to use it. To ask what more workers, another policy or a smaller window would bring. When not: for
// kernels of about a microsecond and less; what a hand-over costs here is one number.
//
// The submitter has a virtual clock, too: a task costs it submit_ns, and it waits when the window, the
// dependencies or the output heap is full, as the real one. It helps nobody. A worker's task takes its
// cost, drawn from the model by seed and place alone, plus hand_over_ns before it begins, and behind the
// transfers of what tasks of other types have put out for it: each type has one link, which takes them one
// after the other, and the worker waits for them.
//
// The policies are those of the real workers. By fifo, min_clock and critical_path so is the code that decides
// (ready_board.hpp). By locality the successors are ordered by the same rule (successor_rule.hpp), and the first
// runs at once, as often as there is one: at_once has no part here; and all others lie on the board of fifo, in
// that order, where real workers have deques and steal.
//
// Threads. One, for each simulation; the plan must stay as it is meanwhile.
// Errors. std::invalid_argument: a type without workers, a negative cost, a plan whose producers do not come
//         first, a time of the config that is negative, a spread that is not 0 to 1, times that add up to 2^62 ns;
//         std::length_error as submit; std::logic_error: run the second time. Tested by simulation_test.cpp.
// Not modelled: caches, transfers between workers of one type, the time of a theft or a wake, at_once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <apiary/schedulers/task_graph/ready_board.hpp>
#include <apiary/schedulers/task_graph/successor_rule.hpp>
#include <apiary/schedulers/task_graph/task_window.hpp>
#include <apiary/sync/real_sync.hpp>
#include <graphs/graph_plan.hpp>
#include <graphs/graph_trace.hpp>

namespace apiary {

enum class cost_model {
    fixed,        // the plan's; those of a trace, where it has them (graph_trace.hpp)
    uniform,      // between the plan's less and plus `spread` of it
    exponential,  // with the plan's as its mean
};

struct simulation_config {
    std::vector<unsigned> workers = {1};  // of each type; any number
    ready_policy policy = ready_policy::locality;
    cost_model costs = cost_model::fixed;
    double spread = 0.2;  // 0 to 1
    std::uint64_t seed = 1;
    std::int64_t submit_ns = 0, hand_over_ns = 0;
    std::int64_t transfer_ns_per_kb = 0;  // of an output that a task of another type reads; 0: they share memory
    window_sizes window{};
};

struct simulated_type {
    unsigned workers = 0;
    std::int64_t busy_ns = 0;  // of all its workers
    std::size_t ran = 0, longest_queue = 0;
    std::uint64_t received_bytes = 0;  // transfers from other types
    double mean_queue = 0;             // tasks that were ready and waited, over the time
    double utilisation = 0;            // busy over workers times makespan
};

struct simulation_report {
    std::int64_t makespan_ns = 0, critical_path_ns = 0, work_ns = 0;
    std::int64_t submitted_ns = 0;  // when the last one was
    std::uint64_t submitted = 0, consumed = 0, waits = 0;
    std::vector<simulated_type> types;
    graph_trace trace;  // by their ends
};

class simulation {
public:
    simulation(const graph_plan& plan, const simulation_config& config)
        : plan_(plan), config_(config), window_(config.window) {
        if (config.submit_ns < 0 || config.hand_over_ns < 0 || config.transfer_ns_per_kb < 0)
            throw std::invalid_argument("simulation: submit_ns, hand_over_ns or transfer_ns_per_kb is negative");
        if (!(config.spread >= 0 && config.spread <= 1))  // beyond, a task could end before it begins
            throw std::invalid_argument("simulation: spread is " + std::to_string(config.spread) +
                                        "; it can be 0 to 1");
        for (const unsigned workers : config.workers) {
            type_state& t = types_.emplace_back(config.policy);
            t.busy_of.resize(workers);
            for (unsigned w = 0; w != workers; ++w) t.board.idle(w, 0);
        }
        costs_.reserve(plan.size());
        for (std::size_t i = 0; i != plan.size(); ++i) costs_.push_back(cost(i));
        must_end_in_time();
        if (config.policy == ready_policy::critical_path) ways_ = ways_to_the_end(plan);
    }

    simulation_report run() {
        if (window_.submitted() != 0) throw std::logic_error("simulation: it has run before");
        for (std::size_t i = 0; i != plan_.size(); ++i) {
            const planned_task& t = plan_[i];
            if (t.type >= types_.size() || config_.workers[t.type] == 0)
                throw std::invalid_argument("simulation: task '" + t.name + "' is of type " + std::to_string(t.type) +
                                            ", which has no workers");
            run_until(now_ += config_.submit_ns);
            const auto [task, ready] = window_.submit(
                t.after, t.bytes, [&](slot& s) { s.place = i, s.of = &t, s.way = ways_.empty() ? 0 : ways_[i]; },
                [this](slot& s) { wait_for(s); });
            if (ready) make_ready(*task);
        }
        report_.submitted_ns = now_;
        window_.wait_for_all([this](slot& s) { wait_for(s); });
        return finished();
    }

private:
    struct body {
        std::size_t place = 0;
        const planned_task* of = nullptr;
        std::int64_t way = 0;
        std::int8_t priority() const { return of->priority; }
        std::int64_t ahead() const { return way; }
    };
    static constexpr double too_long = 0x1p62;
    using window_type = task_window<real_sync, task_graph_limits, body>;
    using slot = window_type::slot;
    // Less is sooner; the number makes it one order.
    struct ending {
        std::int64_t at;
        std::uint64_t number;
        slot* task;
        unsigned worker;
        std::int64_t began;
        bool operator>(const ending& o) const { return std::tie(at, number) > std::tie(o.at, o.number); }
    };
    struct type_state {
        explicit type_state(ready_policy policy) : board(policy) {}
        ready_board<slot> board;
        std::vector<std::int64_t> busy_of;  // of each worker
        std::int64_t queue_since = 0, link_free_at = 0;
        double queue_integral = 0;
        simulated_type told;
    };

    std::int64_t cost(std::size_t place) const {
        const std::int64_t planned = plan_[place].cost_ns;
        if (planned < 0)
            throw std::invalid_argument("simulation: task '" + plan_[place].name + "' has a negative cost");
        if (config_.costs == cost_model::fixed) return planned;
        std::uint64_t x = (config_.seed + place) * 0x9E3779B97F4A7C15U;
        x ^= x >> 30, x *= 0xBF58476D1CE4E5B9U, x ^= x >> 27, x *= 0x94D049BB133111EBU, x ^= x >> 31;
        const double drawn = (static_cast<double>(x >> 11) + 0.5) / 9007199254740992.0;  // within 0 and 1
        const double factor =
            config_.costs == cost_model::uniform ? 1 + config_.spread * (2 * drawn - 1) : -std::log(drawn);
        const double ns = static_cast<double>(planned) * factor;
        return ns < too_long ? std::llround(ns) : INT64_MAX;
    }
    // One thing behind the other: no sum of a run is more.
    void must_end_in_time() const {
        double all = 0;
        for (std::size_t i = 0; i != plan_.size(); ++i) {
            all += static_cast<double>(costs_[i]) + static_cast<double>(config_.submit_ns) +
                   static_cast<double>(config_.hand_over_ns);
            for (const std::uint64_t p : plan_[i].after)
                if (p < i) all += static_cast<double>(plan_[p].bytes) * static_cast<double>(config_.transfer_ns_per_kb);
        }
        if (!(all < too_long))
            throw std::invalid_argument("simulation: costs, submits, hand-overs and 1024 times the transfers are " +
                                        std::to_string(all) + " ns in all; it must be less than 2^62");
    }

    // The submitter waits: time goes on until the slot is spent.
    void wait_for(slot& s) {
        ++report_.waits;
        notified_ = s.out.watch();
        while (!notified_) run_next();
    }
    void run_until(std::int64_t time) {
        while (!endings_.empty() && endings_.top().at <= time) run_next();
        now_ = time;
    }
    void run_next() {
        const ending e = endings_.top();
        endings_.pop();
        now_ = e.at;
        const unsigned type = e.task->of->type;
        type_state& t = types_[type];
        report_.trace.push_back({e.task->place, type, e.worker, e.began, e.at});
        t.told.busy_ns += e.at - e.began;
        t.busy_of[e.worker] += e.at - e.began;
        ++t.told.ran;
        std::vector<slot*> ready, others;  // of this type, by locality, and the others; the newest first
        window_.complete(
            *e.task, window_type::no_cause,
            [&](slot& c) {
                (config_.policy == ready_policy::locality && c.of->type == type ? ready : others).push_back(&c);
            },
            [this] { notified_ = true; });
        std::reverse(ready.begin(), ready.end());
        std::stable_sort(ready.begin(), ready.end(), [](const slot* a, const slot* b) { return runs_before(*a, *b); });
        if (!ready.empty())
            begin(*ready.front(), e.worker);
        else
            t.board.idle(e.worker, t.busy_of[e.worker]);
        for (std::size_t i = 1; i < ready.size(); ++i) queue(*ready[i]);
        for (std::size_t i = others.size(); i-- != 0;) queue(*others[i]);
        for (unsigned each = 0; each != types_.size(); ++each) dispatch(each);
    }
    void make_ready(slot& s) {
        queue(s);
        dispatch(s.of->type);
    }
    void queue(slot& s) {
        type_state& t = types_[s.of->type];
        count_queue(t);
        t.board.ready(s);
    }
    void dispatch(unsigned type) {
        type_state& t = types_[type];
        count_queue(t);
        while (const auto m = t.board.next()) begin(*m->task, m->worker);
        t.told.longest_queue = std::max(t.told.longest_queue, t.board.waiting());
    }
    void begin(slot& s, unsigned worker) {
        s.in.start();
        const std::int64_t from = std::max(now_ + config_.hand_over_ns, inputs_are_here(*s.of));
        endings_.push({from + costs_[s.place], number_++, &s, worker, from});
    }
    std::int64_t inputs_are_here(const planned_task& task) {
        if (config_.transfer_ns_per_kb == 0) return now_;
        type_state& t = types_[task.type];
        std::int64_t here = now_;
        for (const std::uint64_t p : task.after) {
            if (plan_[p].type == task.type || plan_[p].bytes == 0) continue;
            t.told.received_bytes += plan_[p].bytes;
            t.link_free_at = std::max(t.link_free_at, now_) + plan_[p].bytes * config_.transfer_ns_per_kb / 1024;
            here = t.link_free_at;
        }
        return here;
    }
    void count_queue(type_state& t) const {
        t.queue_integral += static_cast<double>(t.board.waiting()) * static_cast<double>(now_ - t.queue_since);
        t.queue_since = now_;
    }

    simulation_report finished() {
        report_.makespan_ns = report_.trace.empty() ? 0 : report_.trace.back().end_ns;
        std::vector<std::int64_t> ends(plan_.size());
        for (std::size_t i = 0; i != plan_.size(); ++i) {
            for (const std::uint64_t p : plan_[i].after) ends[i] = std::max(ends[i], ends[p]);
            ends[i] += costs_[i];
            report_.work_ns += costs_[i];
            report_.critical_path_ns = std::max(report_.critical_path_ns, ends[i]);
        }
        report_.submitted = window_.submitted();
        report_.consumed = window_.reclaimed();
        const auto whole = static_cast<double>(report_.makespan_ns);
        for (std::size_t i = 0; i != types_.size(); ++i) {
            simulated_type& t = types_[i].told;
            t.workers = config_.workers[i];
            if (whole > 0) {
                t.mean_queue = types_[i].queue_integral / whole;
                t.utilisation = t.workers == 0 ? 0 : static_cast<double>(t.busy_ns) / (whole * t.workers);
            }
            report_.types.push_back(t);
        }
        return std::move(report_);
    }

    const graph_plan& plan_;
    const simulation_config config_;
    window_type window_;
    std::vector<type_state> types_;
    std::vector<std::int64_t> costs_, ways_;
    std::priority_queue<ending, std::vector<ending>, std::greater<>> endings_;
    std::int64_t now_ = 0;
    std::uint64_t number_ = 0;
    bool notified_ = false;
    simulation_report report_;
};

}  // namespace apiary
