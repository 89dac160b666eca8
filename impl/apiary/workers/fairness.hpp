// fairness: after how many of its own tasks a worker turns to work that waits elsewhere.
//
// When to use it. One for each worker. Like idle_policy it only decides. A worker's own tasks are those in its slot and
// deque. They could post each other for ever, while work waits in the pool, at the deque's old end or for this worker
// alone.
//
// The rules.
//   an interval    of global_probe_interval own tasks, or of fewer while that many take longer than probe_ns. The tasks
//                  are then `long`, and an interval may shrink to one task.
//   first looks    a worker that had no own task does not know how long the next ones are. It looks at the clock after
//                  first_looks of them, and once more after as many: if these took longer than probe_ns, the interval
//                  ends there. A batch from the pool does not count: the pool has just had its turn.
//   the pool       has pool_visits tasks at the end of an interval of long tasks, and goes on until it has had
//                  probe_ns: short tasks that come while one long one runs may be more than the visits.
//   the old end    of the deque has its turn at the end of an interval, but seldom when the deque is long: each turn
//                  begins another branch of a tree of tasks, and the deque would grow by them.
//
// Threads. The worker's own. Progress: constant time. The worker reads the clock once for each interval, twice for one
// of long tasks, and twice more in the first one.
// Tested by fairness_test.cpp and, as the hive's bounds, by hive_fairness_test.cpp. Decisions: impl/DECISIONS.md D31,
// D43, D114.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <apiary/workers/parameters.hpp>

namespace apiary {

class fairness {
public:
    explicit fairness(const worker_parameters& p) : p_(p) {}

    // The number of own tasks that may run before the worker asks whether it may go on.
    std::size_t left() const { return left_; }
    // Work has come for this worker alone, which is served now; the interval goes on afterwards with `left` tasks.
    void pause(std::size_t left) { left_ = left; }
    // No own task is left that could wait for a turn.
    void ran_dry() {
        interval_ = p_.global_probe_interval;
        left_ = first_, rest_ = behind_first_;
        began_ns_ = unknown;
    }
    // n tasks of the pool have become own tasks.
    void took_a_batch(std::size_t n) {
        if (began_ns_ != unknown) return;
        const std::size_t more = std::min(n, rest_);
        left_ += more, rest_ -= more;
    }
    // Own tasks are long, and the next begins: if it is the first of the interval, the interval's time begins now. The
    // time of the pool's turn would otherwise be theirs, and shrink the interval to one task.
    void begin_interval(std::int64_t now_ns) {
        if (left_ == interval_) began_ns_ = now_ns;
    }
    // All that were left have run: true if the interval is over.
    bool is_over() const { return rest_ == 0; }
    // If it is not over: takes a look at the clock, and returns how many more may run; 0: it is over now.
    [[nodiscard]] std::size_t go_on(std::int64_t now_ns) {
        if (began_ns_ == unknown) {
            began_ns_ = now_ns;
            left_ = timed_ = std::min(p_.first_looks, rest_);
            rest_ -= left_;
        } else {
            if (now_ns - began_ns_ > p_.probe_ns) return 0;
            timed_ += rest_;
            left_ = std::exchange(rest_, 0);
        }
        return left_;
    }
    // The others have had their turn.
    void end_interval(std::int64_t now_ns) {
        std::size_t tasks = interval_;
        if (began_ns_ != unknown) {
            const auto took = static_cast<double>(std::max<std::int64_t>(now_ns - began_ns_, 1));
            const double fit = static_cast<double>(timed_) * static_cast<double>(p_.probe_ns) / took;
            tasks = fit < static_cast<double>(p_.global_probe_interval)
                        ? std::max<std::size_t>(static_cast<std::size_t>(fit), 1)
                        : p_.global_probe_interval;
        }
        interval_ = left_ = timed_ = tasks;
        rest_ = 0;
        began_ns_ = now_ns;
    }

    bool tasks_are_long() const { return interval_ < p_.global_probe_interval; }
    // The pool has had its visits: true if own tasks are long, and it has had less time since the last of them than
    // an interval may take.
    [[nodiscard]] bool pool_goes_on(std::int64_t now_ns) const {
        return tasks_are_long() && now_ns - began_ns_ < p_.probe_ns;
    }
    // Tasks are long, and each is an interval: the deque then works like a queue.
    bool oldest_first() const { return tasks_are_long() && interval_ == 1; }

    // The old end's turn has come: true if it passes, with this many tasks in the deque.
    [[nodiscard]] bool passes_over_the_old_end(std::size_t deque_size) {
        return deque_size > p_.short_deque && ++passed_ % p_.long_deque_probes != 0;
    }

private:
    static constexpr std::int64_t unknown = INT64_MIN;
    const worker_parameters& p_;
    const std::size_t first_ = std::min(p_.first_looks, p_.global_probe_interval);
    const std::size_t behind_first_ = p_.global_probe_interval - first_;
    std::size_t interval_ = p_.global_probe_interval;  // own tasks between two turns of the others
    std::size_t left_ = first_;                        // of the interval, before the next look at the clock,
    std::size_t rest_ = behind_first_;                 // and after it
    std::size_t timed_ = 0;                            // own tasks from began_ns_ to the end of left_
    std::int64_t began_ns_ = unknown;
    std::size_t passed_ = 0;
};

}  // namespace apiary
