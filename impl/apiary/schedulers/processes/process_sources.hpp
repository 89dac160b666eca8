// process_sources: what a worker of processes has beside its ready work: timers of the processes that sleep, free places, and the
// commands of the step that runs.
//
// When to use it. In the kind of process_core. Its crew has no post_to, and its workers stay until its end.
// Threads.  enter, open, leave, id: the worker table, with the owner's mutex held. pending: any. The rest: the thread that
//           runs the worker.
// Progress. run_some fires at most local_budget timers.
// The concept that this meets: workers/worker.hpp. Tested by the processes' tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/schedulers/processes/process.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/timers/timer_heap.hpp>

namespace apiary {

template <class Crew, class Worker>
class process_sources {
    using sync = typename Crew::sync;

public:
    using task_type = typename Crew::task_type;
    static constexpr bool takes_inside_run_some = false;

    struct sleeping {
        std::int64_t deadline_ns;
        pid id;
        std::uint64_t tag;
    };

    process_sources() { running_.store(0, std::memory_order_relaxed); }
    process_sources(const process_sources&) = delete;
    process_sources& operator=(const process_sources&) = delete;

    // For steps on this worker.
    void sleep(std::int64_t deadline_ns, pid id, std::uint64_t tag) {
        auto* const s = sync::template create<sleeping>(sleeping{deadline_ns, id, tag});
        try {
            timers_.add(s);
        } catch (...) {
            sync::destroy(s);
            throw;
        }
    }
    fifo_list<job<sync>>& spare_places() { return spare_; }
    std::vector<basic_command<sync>>& commands() { return commands_; }

    // Whose step runs. Relaxed: a hint for another thread that looks twice.
    void in_step(pid id) { running_.store(id.value, std::memory_order_relaxed); }
    pid running() const { return {running_.load(std::memory_order_relaxed)}; }

    // For the worker.
    void enter(unsigned id) { id_ = id; }
    void open() {}
    void leave() {}
    unsigned id() const { return id_; }
    unsigned incarnation() const { return id_; }

    void collect() noexcept {}
    bool run_some() {
        bool worked = fire();
        const std::size_t there = kept_.size();
        for (std::size_t left = there; left > 0; --left) self().run_task(kept_.pop_front());
        return worked || there > 0;
    }
    bool call() const { return !timers_.empty() && timers_.next_deadline() <= self().owner().now_ns(); }
    std::int64_t next_deadline() const { return timers_.next_deadline(); }
    bool visible() const { return false; }
    void keep(task_type* t) { kept_.push_front(t); }
    std::size_t pending() const { return timers_.size(); }

    bool hand_over_timed() { return true; }
    bool hand_over_kept() { return kept_.empty() || self().crew().post_list(kept_); }
    // Nothing lives any more: whose timers are left have ended before them.
    void close() {
        while (sleeping* s = timers_.pop()) sync::destroy(s);
    }
    task_type* take() { return kept_.pop_front(); }
    void drop_all() {
        close();
        while (task_type* t = kept_.pop_front()) self().drop(t);
    }

private:
    bool fire() {
        if (timers_.empty()) return false;
        const std::int64_t now = self().owner().now_ns();
        std::size_t left = self().crew().parameters().local_budget;
        const std::size_t most = left;
        for (; left > 0; --left) {
            sleeping* const s = timers_.pop_due(now);
            if (s == nullptr) break;
            self().tallies().fired(now - s->deadline_ns);
            const pid id = s->id;
            const std::uint64_t tag = s->tag;
            sync::destroy(s);
            self().owner().timer_fired(self(), id, tag);
        }
        return left != most;
    }
    Worker& self() { return static_cast<Worker&>(*this); }
    const Worker& self() const { return static_cast<const Worker&>(*this); }

    typename sync::template atomic<std::uint64_t> running_;
    unsigned id_ = 0;
    fifo_list<task_type> kept_;  // there was no room to share them
    timer_heap<sleeping, sync> timers_;
    fifo_list<job<sync>> spare_;                 // free places of the table
    std::vector<basic_command<sync>> commands_;  // of the step that runs
};

}  // namespace apiary
