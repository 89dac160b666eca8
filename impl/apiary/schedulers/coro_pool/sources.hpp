// co_sources: what a worker of a coroutine pool has beside its ready work: the patience with which it
// looks for that of others.
//
// When to use it. As the sources of a crew whose ready work is co_context. When not: elsewhere.
//
// A worker that has run something of late looks on for linger_ns, and asks the others for a branch: the next fork
// is near, and a sleeper would come too late for it. Before it sleeps it asks once more, behind the
// announcement: the first fork of the others then offers a branch, and wakes it.
//
// Threads. The worker's own, but enter, open, leave and id: with the owner's mutex held.
// The concept that this meets: worker.hpp. Not modelled: the lingering.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

#include <apiary/queues/fifo_list.hpp>

namespace apiary {

template <class Crew, class Worker>
class co_sources {
public:
    using task_type = typename Crew::task_type;

    co_sources() = default;
    co_sources(const co_sources&) = delete;
    co_sources& operator=(const co_sources&) = delete;

    void enter(unsigned id) { id_ = id; }
    void open() {}
    void leave() {}
    unsigned id() const { return id_; }
    unsigned incarnation() const { return id_; }

    void collect() noexcept {}
    bool run_some() {
        const std::size_t there = kept_.size();
        for (std::size_t left = there; left > 0 && !self().owner().stopping(); --left)
            self().run_task(kept_.pop_front());
        if (there == 0 && self().owner().linger_ns() != 0) linger();
        return there > 0;
    }
    bool call() const { return false; }
    std::int64_t next_deadline() const { return Crew::driver::forever; }
    // What others offer is among what any worker may take, where the worker itself looks.
    bool visible() const {
        ask_all();
        return false;
    }
    void keep(task_type* t) { kept_.push_front(t); }
    std::size_t pending() const { return 0; }

    bool hand_over_timed() { return true; }
    bool hand_over_kept() { return kept_.empty() || self().crew().post_list(kept_); }
    void close() {}
    task_type* take() { return kept_.pop_front(); }
    void drop_all() {
        while (task_type* t = kept_.pop_front()) self().drop(t);
    }

private:
    Worker& self() { return static_cast<Worker&>(*this); }
    const Worker& self() const { return static_cast<const Worker&>(*this); }

    bool ask_all() const {
        bool there = false;
        const auto& peers = self().crew_.table();
        for (unsigned i = 0; i < peers.size(); ++i) {
            if (i == self().index()) continue;
            peers[i]->ready().ask();
            there |= !peers[i]->ready().deque_looks_empty();
        }
        return there;
    }
    void linger() {
        if (const std::uint64_t run = self().runner_.tasks_run(); run != run_ || self().sleeper_.claimed()) {
            run_ = run;
            until_ns_ = 0;
            spent_ = false;
        }
        unsigned looks = 0;
        while (!spent_ && !self().ready_.waits() && self().crew_.pool().looks_empty() && !self().owner().stopping() &&
               !self().leaving() && !ask_all()) {
            if (++looks % 32 != 0) {
                Crew::sync::relax();
                continue;
            }
            const std::int64_t now = self().owner().now_ns();
            if (until_ns_ == 0) until_ns_ = now + self().owner().linger_ns();
            spent_ = now >= until_ns_;
            if (!spent_) std::this_thread::yield();
        }
    }

    std::uint64_t run_ = 0;
    std::int64_t until_ns_ = 0;  // 0: its patience has not begun
    bool spent_ = false;
    unsigned id_ = 0;
    fifo_list<task_type> kept_;  // there was no memory to share them
};

}  // namespace apiary
