// graph_sources: what a worker of a task_graph has beside its deque: the desk of its type, where a policy
// hands it tasks. Without a desk it has none, as no_sources.
//
// Threads. The worker's own, but enter, open, leave and id: with the owner's mutex held.
// The concept that this meets: workers/worker.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <apiary/queues/fifo_list.hpp>

namespace apiary {

template <class Crew, class Worker>
class graph_sources {
public:
    using task_type = typename Crew::task_type;
    static constexpr bool takes_inside_run_some = true;

    graph_sources() = default;
    graph_sources(const graph_sources&) = delete;
    graph_sources& operator=(const graph_sources&) = delete;

    void enter(unsigned id) { id_ = id; }
    void open() {}
    void leave() {}
    unsigned id() const { return id_; }
    unsigned incarnation() const { return id_; }

    void collect() noexcept {}
    bool run_some() {
        task_type* const t = take();
        if (t == nullptr) return false;
        self().run_task(t);
        return true;
    }
    bool call() const { return false; }
    std::int64_t next_deadline() const { return Crew::driver::forever; }
    bool visible() const {
        const auto* const desk = self().ready_.desk;
        return desk != nullptr && desk->visible(self().index());
    }
    void keep(task_type* t) { kept_.push_front(t); }
    std::size_t pending() const { return 0; }

    bool hand_over_timed() { return true; }
    bool hand_over_kept() { return kept_.empty() || self().crew().post_list(kept_); }
    void close() {}
    task_type* take() {
        if (task_type* const t = kept_.pop_front()) [[unlikely]]
            return t;
        auto& ready = self().ready_;
        return ready.desk == nullptr ? nullptr : ready.desk->take(self().index(), ready.worked_ns);
    }
    void drop_all() {
        while (task_type* t = kept_.pop_front()) self().drop(t);
    }

private:
    Worker& self() { return static_cast<Worker&>(*this); }
    const Worker& self() const { return static_cast<const Worker&>(*this); }

    unsigned id_ = 0;
    fifo_list<task_type> kept_;  // there was no memory to share them
};

}  // namespace apiary
