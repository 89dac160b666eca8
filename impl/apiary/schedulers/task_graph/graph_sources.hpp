// graph_sources: the sources of a task_graph's worker: the desk of its type, through which a policy hands it tasks.
// With the policy locality there is no desk, and the sources are those of no_sources.
//
// Threads. The worker's own, but enter, open, leave and id: with the owner's mutex held.
// The concept that this meets: worker_sources (workers/concepts.hpp).
#pragma once

#include <apiary/workers/no_sources.hpp>

namespace apiary {

template <class Crew, class Worker>
class graph_sources : public no_sources<Crew, Worker> {
    using base = no_sources<Crew, Worker>;
    using base::self;

public:
    using task_type = typename Crew::task_type;

    bool run_some() {
        task_type* const t = take();
        if (t == nullptr) return false;
        self().run_task(t);
        return true;
    }
    bool visible() const {
        const auto* const desk = self().ready_.desk;
        return desk != nullptr && desk->visible(self().index());
    }
    task_type* take() {
        if (task_type* const t = base::take()) [[unlikely]]
            return t;
        auto& ready = self().ready_;
        return ready.desk == nullptr ? nullptr : ready.desk->take(self().index(), ready.worked_ns);
    }
};

}  // namespace apiary
