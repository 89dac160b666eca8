// no_ready_work: the ready work of a worker whose tasks post only to pools. It holds nothing, and thieves find
// nothing in it.
//
// When to use it. For workers that take one task at a time from their crew's pool. When not: if tasks post to the
// worker that runs them; such workers have no post_local.
//
// Threads. As ready_work. Progress: constant time. Checked by model_check/schedulers/hive, as part of compute workers.
#pragma once

#include <cstddef>
#include <span>

#include <apiary/queues/steal_result.hpp>
#include <apiary/tasks/task.hpp>

namespace apiary {

// The interface of ready_work without put, push and slot_is_vacant: its worker has no post_local.
template <class Sync, class Task = task<Sync>>
class no_ready_work {
public:
    using task_type = Task;
    static constexpr bool shared = false, thefts_push = false;
    static constexpr std::size_t max_room = 1;

    std::size_t in_deque() const { return 0; }
    bool waits() const { return false; }
    [[nodiscard]] bool push_all(std::span<task_type* const>) { return false; }
    [[nodiscard]] task_type* take_slot() { return nullptr; }
    [[nodiscard]] bool pop(task_type*&) { return false; }
    [[nodiscard]] steal_result<task_type*> steal_oldest() { return {steal_status::empty, nullptr}; }
    [[nodiscard]] steal_half_result<task_type*> steal_from(no_ready_work&, bool) {
        return {steal_status::empty, nullptr, 0};
    }
    bool deque_looks_empty() { return true; }
    bool slot_looks_empty() const { return true; }
};

}  // namespace apiary
