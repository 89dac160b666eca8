// process_sources: what a worker of processes has beside its ready work: the timers of sleeping processes, free places,
// the commands of the running step, and the turns of processes that let others run first.
//
// When to use it. In the kind of process_core. When not: elsewhere. Its crew has no post_to, and its workers stay
// until the end.
// Threads.  enter, open, leave, id: the worker table, with the owner's mutex held. pending, running: any. The rest: the
//           thread that runs the worker.
// Progress. run_some fires at most local_budget timers, and runs at most one process of those in front.
// The concept that this meets: worker_sources (workers/concepts.hpp). Tested by the processes' tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/schedulers/processes/process.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/timers/timer_heap.hpp>
#include <apiary/workers/no_sources.hpp>
#include <apiary/workers/two_doors.hpp>

namespace apiary {

template <class Crew, class Worker>
class process_sources : public no_sources<Crew, Worker> {
    using base = no_sources<Crew, Worker>;
    using base::self;
    using sync = typename Crew::sync;

public:
    using task_type = typename Crew::task_type;
    static constexpr bool takes_inside_run_some = false;

    struct sleeping {
        std::int64_t deadline_ns;
        pid id;
        event_node<sync>* told;  // made together with the timer, so that the end of a sleep needs no memory
    };

    process_sources() { running_.store(0, std::memory_order_relaxed); }

    // For steps on this worker. When the timer fires, `told` goes to the owner's timer_fired; at the end it is
    // released. Throws std::bad_alloc; `told` then still belongs to the caller.
    void sleep(std::int64_t deadline_ns, pid id, event_node<sync>* told) {
        auto* const s = sync::template create<sleeping>(sleeping{deadline_ns, id, told});
        try {
            timers_.add(s);
        } catch (...) {
            sync::destroy(s);
            throw;
        }
    }
    // Takes a process that lets others run first: as many as are in the queue here now. Each turn of the worker runs
    // the oldest of these, beside the usual work of a turn. Then the process goes to the crew's pool, or to a worker
    // that has nothing else. False: the queue is empty, and the process still belongs to the caller.
    [[nodiscard]] bool put_behind(task_type* p) {
        if (!self().ready().put_behind(p)) return false;
        self().crew().wake_one_soon();
        return true;
    }
    // How many processes entered on this worker, less those that ended here.
    typename two_doors<sync>::share& living() { return living_; }
    fifo_list<job<sync>>& spare_places() { return spare_; }
    std::vector<basic_command<sync>>& commands() { return commands_; }

    // Notes the process whose step runs. Relaxed: other threads use it as a hint, and look twice.
    void in_step(pid id) { running_.store(id.value, std::memory_order_relaxed); }
    pid running() const { return {running_.load(std::memory_order_relaxed)}; }

    // For the worker.
    bool run_some() {
        const bool fired = fire(), ran = run_in_front();
        return this->run_kept() || fired || ran;
    }
    bool urgent() const {
        return self().ready_.others_are_in_front() ||
               (!timers_.empty() && timers_.next_deadline() <= self().owner().now_ns());
    }
    std::int64_t next_deadline() const { return timers_.next_deadline(); }
    std::size_t pending() const { return timers_.size(); }

    // Precondition: nothing lives. Timers that are left belong to processes that ended before they fired.
    void close() {
        while (sleeping* s = timers_.pop()) {
            event_blocks<sync>::release(s->told);
            sync::destroy(s);
        }
    }
    void drop_all() {
        close();
        base::drop_all();
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
            event_node<sync>* const told = s->told;
            sync::destroy(s);
            self().owner().timer_fired(self(), id, told);
        }
        return left != most;
    }

    // Runs one process a turn, so that due timers and the pool have their turns between.
    bool run_in_front() {
        task_type* const next = self().ready().next_in_front();
        // The waiting processes are handed on before the last one in front runs, which may take long.
        if (auto behind = self().ready().take_behind(); !behind.empty()) {
            const bool posted = self().crew().post_list(behind);
            sync::law(posted, "processes: the crew has ended, and a process lives");
        }
        if (next != nullptr) self().run_task(next);
        return next != nullptr;
    }

    typename sync::template atomic<std::uint64_t> running_;
    typename two_doors<sync>::share living_;
    timer_heap<sleeping, sync> timers_;
    fifo_list<job<sync>> spare_;                 // free places of the table
    std::vector<basic_command<sync>> commands_;  // of the step that runs
};

}  // namespace apiary
