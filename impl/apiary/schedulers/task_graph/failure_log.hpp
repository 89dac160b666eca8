// failure_log: which tasks threw, and which were cancelled because of them. It outlives the slots, so that a consumer
// is cancelled however late it is submitted.
//
// When to use it. In a task_graph. It costs nothing while no task fails.
//
// Threads.   Any.
// Memory.    One entry for each task that threw or was cancelled, kept until the graph ends. If there is no memory for
//            an entry, the program ends: the task's callable is already destroyed, and a later consumer would run
//            without its input.
// Invariants
//   I1  A task is in the log before its fan_out is closed. So a submitter that finds the fan_out closed or gone finds
//       the task here.
//
// Synchronisation
//   The entries are guarded by the mutex. any() is relaxed: the submitter asks after fan_out S2 or S3, and the entry
//   was made before the step that those acquire (I1).
//
// Checked by model_check/schedulers/task_graph (poison against a late edge).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

using task_id = std::uint64_t;

struct task_failure {
    task_id task;
    task_id cause;              // the task that threw: this one, or one that it depended on
    std::exception_ptr thrown;  // the exception of `cause`; null for a task that was cancelled
};

template <class Sync = real_sync>
class failure_log {
public:
    failure_log() { any_.store(false, std::memory_order_relaxed); }

    void add(task_failure f) {
        const typename Sync::lock held(mutex_);
        const task_id task = f.task;
        try {
            entries_.emplace(task, std::move(f));
        } catch (const std::bad_alloc&) {
            Sync::fail("task_graph: no memory for a failure, so its consumers could not be cancelled");
        }
        any_.store(true, std::memory_order_relaxed);
    }
    bool any() const { return any_.load(std::memory_order_relaxed); }

    // True if the task failed or was cancelled; `cause` is then the task that threw.
    [[nodiscard]] bool find(task_id task, task_id& cause) {
        if (!any()) return false;
        const typename Sync::lock held(mutex_);
        const auto found = entries_.find(task);
        if (found == entries_.end()) return false;
        cause = found->second.cause;
        return true;
    }

    // All entries, in no order.
    std::vector<task_failure> entries() {
        const typename Sync::lock held(mutex_);
        std::vector<task_failure> all;
        for (const auto& [id, f] : entries_) all.push_back(f);
        return all;
    }

private:
    typename Sync::mutex mutex_;
    std::unordered_map<task_id, task_failure> entries_;
    typename Sync::template atomic<bool> any_;
};

}  // namespace apiary
