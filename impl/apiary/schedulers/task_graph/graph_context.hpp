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
    // The number of the worker that runs the task, among those of its type. Of type 0 the first is the submitter's.
    unsigned worker() const { return worker_->index(); }
    // The block of this task, aligned to 16 bytes, with undefined content.
    std::span<std::byte> output() const { return graph().bytes_of(*slot_); }
    template <class T>
    T* output() const {
        return reinterpret_cast<T*>(output().data());
    }
    // How many producers the submit named.
    std::size_t inputs() const { return slot_->edges.read(); }
    // The output of the i-th of them. Empty if it has none, was consumed before this task was submitted, or if there
    // is no such producer.
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
