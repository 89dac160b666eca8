// graph_scope: keeps the outputs of the tasks that are submitted while it is open.
//
// Threads. The submitter.
// Errors.  The constructor throws std::logic_error when a task of the graph calls it, after close, and in a graph that
//          several may submit to; end() when a task of the graph calls it, the second time, after close, and while a
//          scope inside it is open. The destructor ends the scope; where end() would throw, the program ends.
#pragma once

#include <cstddef>
#include <stdexcept>

namespace apiary {

template <class Graph>
class graph_scope {
public:
    explicit graph_scope(Graph& g) : graph_(g) {
        g.must_be_no_task();
        if (g.config_.several_submitters)  // before closed_ is read, which another submitter may write
            throw std::logic_error("task_graph: a scope is one submitter's, and this graph has several");
        g.must_be_open();
        g.window_.begin_scope();
        depth_ = g.window_.open_scopes();
    }
    ~graph_scope() {
        if (depth_ != 0 && !graph_.closed_) end();
    }
    graph_scope(const graph_scope&) = delete;
    graph_scope& operator=(const graph_scope&) = delete;

    void end() {
        graph_.must_be_no_task();
        if (depth_ == 0 || graph_.closed_) throw std::logic_error("task_graph: a scope has ended before");
        if (depth_ != graph_.window_.open_scopes())
            throw std::logic_error("task_graph: a scope ends before one that is inside it");
        graph_.window_.end_scope();
        depth_ = 0;
    }

private:
    Graph& graph_;
    std::size_t depth_ = 0;
};

}  // namespace apiary
