// fairness: after how many of its own tasks a worker turns to what waits elsewhere.
//
// When to use it. Once for each worker. It decides and does nothing itself, as idle_policy. Own
// tasks are those in the worker's slot and deque. They could post each other for ever, and what
// waits in the pool, at the deque's old end or for this worker alone would wait as long.
//
// The rules.
//   an interval    of global_probe_interval own tasks, less while so many take longer than
//                  probe_ns: then tasks are `long`, and an interval may be a single one.
//   the old end    of the deque has its turn at the end of an interval, seldom when the deque is
//                  long: each time begins another branch of a tree of tasks, and the deque would
//                  grow by them.
//
// Threads. The worker's own. Progress: constant time. The clock is asked once for each interval, by
// the worker.
// Tested by fairness_test.cpp and, as the hive's bounds, by hive_fairness_test.cpp. Decisions: D31,
// D43.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <apiary/workers/parameters.hpp>

namespace apiary {

class fairness {
public:
    explicit fairness(const worker_parameters& p) : p_(p) {}

    // Of this interval, how many own tasks may still run.
    std::size_t left() const { return left_; }
    // The others have their turn within the interval, since something has come for this worker alone.
    void pause(std::size_t left) { left_ = left; }
    // No own task is left to wait for a turn.
    void ran_dry() { begin(p_.global_probe_interval, unknown); }
    // All of it have run.
    void end_interval(std::int64_t now_ns) {
        std::size_t tasks = interval_;
        if (began_ns_ != unknown) {
            const auto took = static_cast<double>(std::max<std::int64_t>(now_ns - began_ns_, 1));
            const double fit = static_cast<double>(interval_) * static_cast<double>(p_.probe_ns) / took;
            tasks = fit < static_cast<double>(p_.global_probe_interval)
                        ? std::max<std::size_t>(static_cast<std::size_t>(fit), 1)
                        : p_.global_probe_interval;
        }
        begin(tasks, now_ns);
    }

    bool tasks_are_long() const { return interval_ < p_.global_probe_interval; }
    // Long ones, and each is an interval: the deque is then run like a queue.
    bool oldest_first() const { return tasks_are_long() && interval_ == 1; }

    // The old end's turn has come: does it pass, with so many in the deque?
    [[nodiscard]] bool passes_over_the_old_end(std::size_t deque_size) {
        return deque_size > p_.short_deque && ++passed_ % p_.long_deque_probes != 0;
    }

private:
    void begin(std::size_t tasks, std::int64_t now_ns) {
        interval_ = left_ = tasks;
        began_ns_ = now_ns;
    }

    static constexpr std::int64_t unknown = INT64_MIN;
    const worker_parameters& p_;
    std::size_t interval_ = p_.global_probe_interval;  // own tasks between two turns of the others
    std::size_t left_ = interval_;
    std::int64_t began_ns_ = unknown;
    std::size_t passed_ = 0;
};

}  // namespace apiary
