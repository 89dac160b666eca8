// graph_context: the argument of a callable that takes one: the task's id, its inputs, and the place of its output.
//
// Threads. The worker that runs the task, while it runs.
#pragma once

#include <cstddef>
#include <span>

#include <apiary/schedulers/task_graph/failure_log.hpp>

namespace apiary {

template <class Graph, class Worker, class Slot>
class graph_context {
public:
    task_id id() const { return slot_->id.read(); }
    // The number of the worker that runs the task, within its type. In type 0, number 0 is the submitter.
    unsigned worker() const { return worker_->index(); }
    // This task's output block, aligned to 16 bytes. Its content is undefined at first.
    std::span<std::byte> output() const { return graph().bytes_of(*slot_); }
    template <class T>
    T* output() const {
        return reinterpret_cast<T*>(output().data());
    }
    // The number of producers that the submit named.
    std::size_t inputs() const { return slot_->edges.read(); }
    // The output of the i-th producer. Empty if it has none, if it was consumed before this task was submitted, or if i
    // is too large.
    std::span<const std::byte> input(std::size_t i) const {
        if (i >= inputs()) return {};  // beyond lie the edges of other tasks
        const Slot* const producer = graph().window_.input(*slot_, i);
        return producer == nullptr ? std::span<const std::byte>() : graph().bytes_of(*producer);
    }
    template <class T>
    const T* input(std::size_t i) const {
        return reinterpret_cast<const T*>(input(i).data());
    }

private:
    friend Graph;
    graph_context(Worker& w, Slot& s) : worker_(&w), slot_(&s) {}
    Graph& graph() const { return worker_->owner(); }

    Worker* worker_;
    Slot* slot_;
};

}  // namespace apiary
