// ready_board: the scheduling policies: which ready task is next, and which idle worker gets it. Pure data, without
// thread or clock; workers use it through a desk (ready_desk.hpp).
//
// When to use it. For the workers of one type: the clocks of another type cannot be compared with theirs (exhibit A35).
//
// Policies
//   fifo           ready tasks in the order in which they became ready; the idle worker with the lowest number
//   min_clock      the same tasks; the idle worker that has worked least
//   critical_path  the task with the longest way to the end first, by estimated costs (Task::ahead)
//   locality       as fifo here; one successor runs at once on its producer's worker (successor_rule.hpp)
//
// Threads. One at a time.
// Memory.  Grows with the number of waiting tasks, so it is never full and drops nothing (A29, B33). After
//          reserve(tasks, workers) that many may wait without an allocation.
// Errors.  ready, idle and reserve: std::bad_alloc, beyond what was reserved.
// Invariant. After a next() that returned nothing, no task waits while a worker is idle. So no worker needs to yield to
//            another: the task goes to the worker that should have it (A32).
// Tested by ready_board_test.cpp; checked, in the desk, by model_check/schedulers/task_graph.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace apiary {

enum class ready_policy { fifo, min_clock, critical_path, locality };
inline constexpr std::array<const char*, 4> policy_names{"fifo", "min_clock", "critical_path", "locality"};

inline const char* name_of(ready_policy p) { return policy_names[static_cast<std::size_t>(p)]; }
inline ready_policy policy_of(std::string_view name) {
    for (std::size_t i = 0; i != policy_names.size(); ++i)
        if (name == policy_names[i]) return static_cast<ready_policy>(i);
    throw std::invalid_argument("no policy '" + std::string(name) +
                                "'; there are fifo, min_clock, critical_path and locality");
}

// An estimate as the policies compare it: 48 bits of nanoseconds, for which a slot has room. All estimates above 39
// hours count as equal.
inline std::int64_t clamped_ahead(std::int64_t ns) {
    constexpr std::int64_t most = (std::int64_t{1} << 47) - 1;
    return std::clamp(ns, -most, most);
}

template <class Task>
class ready_board {
public:
    struct match {
        Task* task;
        unsigned worker;
    };

    explicit ready_board(ready_policy policy) : policy_(policy) {}

    void reserve(std::size_t tasks, std::size_t workers) {
        tasks_.reserve(tasks);
        idle_.reserve(workers);
    }
    void ready(Task& t) {
        tasks_.push_back({policy_ == ready_policy::critical_path ? -clamped_ahead(t.ahead()) : 0, number_++, &t});
        std::push_heap(tasks_.begin(), tasks_.end(), std::greater<>());
    }
    // Precondition: the worker is not idle yet. `worked`: its clock.
    void idle(unsigned worker, std::int64_t worked) {
        idle_.emplace_back(policy_ == ready_policy::min_clock ? worked : 0, worker);
        std::push_heap(idle_.begin(), idle_.end(), std::greater<>());
    }
    // False: the worker was not idle, or has been matched with a task.
    bool withdraw(unsigned worker) {
        const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const auto& i) { return i.second == worker; });
        if (found == idle_.end()) return false;
        idle_.erase(found);
        std::make_heap(idle_.begin(), idle_.end(), std::greater<>());
        return true;
    }
    // Takes the next task and its worker off the board; empty if there is no pair.
    std::optional<match> next() {
        if (tasks_.empty() || idle_.empty()) return std::nullopt;
        std::pop_heap(tasks_.begin(), tasks_.end(), std::greater<>());
        std::pop_heap(idle_.begin(), idle_.end(), std::greater<>());
        const match m{std::get<2>(tasks_.back()), idle_.back().second};
        tasks_.pop_back();
        idle_.pop_back();
        return m;
    }
    std::size_t waiting() const { return tasks_.size(); }

private:
    const ready_policy policy_;
    std::uint64_t number_ = 0;
    std::vector<std::tuple<std::int64_t, std::uint64_t, Task*>> tasks_;  // a heap: the policy's key, when, the task
    std::vector<std::pair<std::int64_t, unsigned>> idle_;                // a heap: the policy's key, the worker
};

}  // namespace apiary
