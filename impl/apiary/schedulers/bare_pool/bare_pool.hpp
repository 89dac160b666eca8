// bare_pool: the smallest scheduler over the engine: post, stop, report. The file to copy for one of your own.
//
//     apiary::bare_pool pool(4);
//     (void)pool.post([] { … });      // false: it was stopped before
//     pool.stop();                    // runs what was accepted, and waits for that
//
// When to use it. To begin a scheduler (TUTORIAL.md beside this file). When not: for timers, events, work that waits,
// or tasks that name their worker (hive).
//
// Threads. post, request_stop, counters, workers: any, and tasks. stop, report: not a task of this pool.
//          Destruction: as stop, while no other thread is in a call.
// Order.   None.
// Errors.  Construction: std::invalid_argument when `workers` is out of range, std::system_error when a thread cannot
//          be started. post: std::bad_alloc, and what copying the callable throws; nothing is posted then. An exception
//          that leaves a task is counted, and told to `on_exception`.
// Memory.  No heap call per task in the steady state, for callables of up to 40 bytes.
//
// Synchronisation: that of its parts. front_end.hpp has the stop, crew.hpp the wakes, ready_work.hpp the thefts.
// Checked by model_check/schedulers/bare_pool, from its constructor to its destructor.
// Stressed by stress/schedulers/bare_pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/sync/processors.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/in_range.hpp>
#include <apiary/workers/ready_work.hpp>

namespace apiary {

// A worker runs tasks from a deque, from which the other workers steal. All else is the default.
template <class Sync, class Parts>
struct bare_kind : default_kind<Sync, Parts, task<Sync>> {
    struct limits {
        static constexpr unsigned index_bits = 64;
        static constexpr std::size_t initial_capacity = Sync::checked ? 1 : 256;
        static constexpr std::size_t max_capacity = Sync::checked ? 2 : 4096;  // beyond, tasks go to the crew's pool
    };
    using ready = ready_work<Sync, chase_lev_deque<task<Sync>*, Sync, limits>>;
};

template <class Sync = real_sync, class Storage = pooled_storage<Sync>, class Parts = default_parts<Sync>>
class basic_bare_pool : public front_end<Sync, Parts> {
    using crew_type = crew<basic_bare_pool, bare_kind<Sync, Parts>>;
    using worker_type = typename crew_type::worker_type;

public:
    static constexpr unsigned max_workers = crew_type::max_workers;

    // `workers` is 1 … 280; 0 means default_workers() (sync/processors.hpp).
    explicit basic_bare_pool(unsigned workers = 0, exception_handler on_exception = {}, const worker_parameters& p = {})
        : front_end<Sync, Parts>(std::move(on_exception)), crew_(*this, valid("bare_pool", p)) {
        const unsigned n = in_range("bare_pool", workers, 0U, max_workers, "workers");
        const unsigned so_many = n != 0 ? n : std::min(default_workers(), max_workers);
        for (unsigned i = 0; i != so_many; ++i) crew_.table().attach(crew_);
        start_all(
            threads_, so_many, [this](unsigned i) { threads_.start([this, i] { run_worker(i); }); },
            [this] { request_stop(stop_mode::discard); });
    }
    // Runs what was accepted, unless a stop that discards came before.
    ~basic_bare_pool() {
        if (own_worker() != nullptr)
            Sync::fail("bare_pool: a pool was destroyed by its own task, for which it would wait; keep an owner outside");
        request_stop(stop_mode::drain);
        threads_.join();
    }

    // False: the pool has been stopped, and the callable is destroyed without having run.
    template <class F>
    [[nodiscard]] bool post(F&& callable) {
        task<Sync>* const t = Storage::make(std::forward<F>(callable));
        worker_type* const here = own_worker();
        if (here != nullptr ? here->post_local(t) : crew_.post(t)) return true;
        t->drop();
        refused_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }

    // Returns at once. The first call decides whether the tasks that have not begun are run or dropped.
    void request_stop(stop_mode how) noexcept { this->stop_crews(how, crew_); }
    // Returns when every worker has ended. Throws std::logic_error in a task of this pool, which would wait for itself.
    void stop(stop_mode how = stop_mode::drain) {
        if (own_worker() != nullptr) throw std::logic_error("bare_pool: stop in a task of this pool; request_stop does not wait");
        request_stop(how);
        threads_.join();
    }

    // Precondition: stop has returned.
    stop_report report() const {
        const worker_counters all = crew_.counters();
        stop_report r;
        r.run = all.run;
        r.discarded = all.discarded;
        r.exceptions = all.exceptions;
        r.refused = refused_.load(std::memory_order_relaxed);
        return r;
    }
    // The sum of the workers' counters. May be called while they run.
    worker_counters counters() const { return crew_.counters(); }
    unsigned workers() const { return crew_.table().size(); }

private:
    void run_worker(unsigned i) noexcept {
        Sync::set_current(crew_.table()[i]);
        crew_.table()[i]->run();
        Sync::template set_current<worker_type>(nullptr);
    }
    // The worker that runs on the calling thread, or null if that thread runs no worker of this pool.
    worker_type* own_worker() const {
        worker_type* const here = Sync::template current<worker_type>();
        return here != nullptr && &here->owner() == this ? here : nullptr;
    }

    typename Sync::template atomic<std::uint64_t> refused_{0};
    typename Parts::threads threads_;
    crew_type crew_;
};

using bare_pool = basic_bare_pool<>;

}  // namespace apiary
