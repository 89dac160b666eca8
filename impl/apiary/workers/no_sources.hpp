// no_sources: the sources of a worker that has none: its work comes from ready work and the crew's pool.
//
// When to use it. For workers without inbox and timers; and as the base of other sources, which hide the functions that
// they implement otherwise. A crew of such workers has no post_to.
//
// Threads. The worker's own, except enter, open, leave and id: with the owner's mutex held. It satisfies worker_sources
// (concepts.hpp). Checked by model_check/schedulers/hive, as part of compute workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <apiary/queues/fifo_list.hpp>

namespace apiary {

template <class Crew, class Worker>
class no_sources {
public:
    using task_type = typename Crew::task_type;
    static constexpr bool takes_inside_run_some = true;

    no_sources() = default;
    no_sources(const no_sources&) = delete;
    no_sources& operator=(const no_sources&) = delete;

    void enter(unsigned id) { id_ = id; }
    void open() {}
    void leave() {}
    unsigned id() const { return id_; }
    unsigned incarnation() const { return id_; }

    void collect() noexcept {}
    bool run_some() { return run_kept(); }
    bool urgent() const { return false; }
    std::int64_t next_deadline() const { return Crew::driver::forever; }
    bool visible() const { return false; }
    void keep(task_type* t) { kept_.push_front(t); }
    std::size_t pending() const { return 0; }

    bool hand_over_timed() { return true; }
    bool hand_over_kept() { return kept_.empty() || self().crew().post_list(kept_); }
    void close() {}
    task_type* take() { return kept_.pop_front(); }
    void drop_all() {
        while (task_type* t = kept_.pop_front()) self().drop(t);
    }

protected:
    Worker& self() { return static_cast<Worker&>(*this); }
    const Worker& self() const { return static_cast<const Worker&>(*this); }

    bool run_kept() {
        const std::size_t there = kept_.size();
        for (std::size_t left = there; left > 0 && !self().owner().stopping(); --left) {
            task_type* t = kept_.pop_front();
            if (t == nullptr) break;  // the task before it has helped, and has run this one meanwhile
            self().run_task(t);
        }
        return there > 0;
    }

    fifo_list<task_type> kept_;  // kept if there was no memory to share them, or the worker is leaving

private:
    unsigned id_ = 0;
};

}  // namespace apiary
