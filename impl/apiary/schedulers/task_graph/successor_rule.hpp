// successor_rule: the order in which a worker runs the tasks of its type that became ready by one end.
#pragma once

#include <cstddef>
#include <utility>

#include <apiary/queues/fifo_list.hpp>

namespace apiary {

// Of tasks with equal priority the older runs first, so a sort by this order must be stable.
template <class Task>
bool runs_before(const Task& a, const Task& b) {
    return a.priority() > b.priority();
}

// Sorts tasks that stand oldest first: the one to run first comes to the front. A stable merge sort, which needs no
// memory.
template <class Task>
void sort_by_priority(fifo_list<Task>& tasks) {
    if (tasks.size() < 2) return;
    fifo_list<Task> older, newer = std::move(tasks), all;
    for (std::size_t n = newer.size() / 2; n != 0; --n) older.push_back(newer.pop_front());
    sort_by_priority(older);
    sort_by_priority(newer);
    while (!older.empty() && !newer.empty())
        all.push_back((runs_before(*newer.front(), *older.front()) ? newer : older).pop_front());
    all.splice_back(std::move(older));
    all.splice_back(std::move(newer));
    tasks = std::move(all);
}

}  // namespace apiary
