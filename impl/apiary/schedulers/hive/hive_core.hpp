// hive_core: the two crews of a hive, the ways in, and how it stops.
//
// When to use it. Through hive.hpp, which only adds threads; or alone, where a check or a test
// brings its own. It is a template over Sync, the driver that IO workers block in, the storage of
// tasks and the parts, so that the model checks run the shipped scheduler itself.
//
// Threads.  Everything: any thread, after the constructor has returned.
// Progress. The posts: lock-free. Attach, detach and request_stop take a mutex.
//
// Who must wake whom: workers/crew.hpp; and request_stop wakes every worker. Attach, detach and
// stop exclude each other by a mutex, so that a stop wakes every worker there is: one that is
// attached later sees the stop. Posting never takes it.
//
// Checked by model_check/schedulers/hive. The protocol: README.md beside this file.
#pragma once

#include <cstdint>
#include <utility>

#include <apiary/contract/scheduler.hpp>
#include <apiary/schedulers/hive/io_sources.hpp>
#include <apiary/schedulers/hive/parameters.hpp>
#include <apiary/schedulers/hive/parts.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/no_ready_work.hpp>
#include <apiary/workers/no_sources.hpp>
#include <apiary/workers/ready_work.hpp>

namespace apiary {

// Tasks that post each other, wait for events and deadlines, and may name their worker.
template <class Sync, class Driver, class Storage, class Parts>
struct hive_io_kind {
    using sync = Sync;
    using driver = Driver;
    using task_type = task<Sync>;
    using parts = Parts;
    using ready = ready_work<Sync, typename Parts::template local<task<Sync>>>;
    template <class Crew, class Worker>
    using sources = io_sources<Crew, Worker, Storage>;
    static constexpr worker_kind counted_as = worker_kind::io;
};

// Long tasks, one at a time, so that none waits behind another while a worker sleeps (seed 002 section 8).
template <class Sync, class Parts>
struct hive_compute_kind {
    using sync = Sync;
    using driver = typename Parts::compute_driver;
    using task_type = task<Sync>;
    using parts = Parts;
    using ready = no_ready_work<Sync>;
    template <class Crew, class Worker>
    using sources = no_sources<Crew, Worker>;
    static constexpr worker_kind counted_as = worker_kind::compute;

    static constexpr worker_parameters with(worker_parameters p) {
        p.pool_visits = 1;
        p.looks_before_sleep = 0;  // a task of a millisecond does not mind the wake
        p.naps = 0;
        p.search_ns = worker_parameters::for_ever;
        return p;
    }
};

template <class Sync, class Driver, class Storage, class Parts = hive_parts<Sync>>
class hive_core {
public:
    using task_type = task<Sync>;
    using list = fifo_list<task_type>;
    using io_crew_type = crew<hive_core, hive_io_kind<Sync, Driver, Storage, Parts>>;
    using compute_crew_type = crew<hive_core, hive_compute_kind<Sync, Parts>>;
    using io_worker_type = typename io_crew_type::worker_type;
    using compute_worker_type = typename compute_crew_type::worker_type;

    // Precondition: 1 <= io_workers <= io_crew_type::max_workers, compute_workers <= the same.
    hive_core(unsigned io_workers, unsigned compute_workers, const hive_parameters& parameters,
              exception_handler on_exception = {})
        : on_exception_(std::move(on_exception)),
          io_(*this, parameters),
          compute_(*this, hive_compute_kind<Sync, Parts>::with(parameters)) {
        stop_.store(running, std::memory_order_relaxed);
        for (unsigned n = 0; n < io_workers; ++n) io_.table().attach(io_);
        for (unsigned n = 0; n < compute_workers; ++n) compute_.table().attach(compute_);
    }

    // Precondition: no worker runs. Drops what a stop before run() has left.
    ~hive_core() {
        // What a dropped callable's destructor posts is refused.
        request_stop(stop_mode::discard);
        io_.drop_all();
        compute_.drop_all();
    }

    // The ways in. False: the hive has been stopped (or has no compute worker), and the task is still
    // the caller's.
    [[nodiscard]] bool post(task_type* t) { return io_.post(t); }
    // All or none.
    [[nodiscard]] bool post_list(list& tasks) { return io_.post_list(tasks); }
    // Also false when no worker of that id is in service.
    [[nodiscard]] bool post_to(unsigned id, task_type* t) { return io_.post_to(id, t); }
    [[nodiscard]] bool post_compute(task_type* t) { return compute_.table().size() != 0 && compute_.post(t); }
    // All or none.
    [[nodiscard]] bool post_compute_list(list& tasks) {
        return compute_.table().size() != 0 && compute_.post_list(tasks);
    }

    // The first call decides how. Refuses all later posts, and wakes every worker to see it.
    void request_stop(stop_mode how) noexcept {
        // The pools close before the flag is up: a worker that sees the flag (acquire) may end as soon
        // as the pool is empty, because nothing can come in any more.
        io_.close();
        compute_.close();
        std::uint8_t expected = running;
        if (!stop_.compare_exchange_strong(expected, static_cast<std::uint8_t>(how), std::memory_order_release,
                                           std::memory_order_relaxed))
            return;
        const typename Sync::lock held(mutex_);
        io_.wake_all();
        compute_.wake_all();
    }

    // A worker to be run by a new thread; crew.hpp has the rules. The main worker stays.
    [[nodiscard]] io_worker_type* attach_io() { return io_.attach(); }
    [[nodiscard]] compute_worker_type* attach_compute() { return compute_.attach(); }
    detach_result detach_io(unsigned id) { return id == 0 ? detach_result::main_worker : io_.detach(id); }
    detach_result detach_compute(unsigned id) { return compute_.detach(id); }

    // How many of each kind are in service.
    unsigned serving_io() { return io_.serving(); }
    unsigned serving_compute() { return compute_.serving(); }

    bool stopping() const { return stop_.load(std::memory_order_acquire) != running; }
    bool discarding() const {
        return stop_.load(std::memory_order_relaxed) == static_cast<std::uint8_t>(stop_mode::discard);
    }

    // For the crews.
    typename Parts::clock& clock() { return clock_; }
    std::int64_t now_ns() const { return clock_.now_ns(); }
    const exception_handler& on_exception() const { return on_exception_; }
    typename Sync::mutex& mutex() { return mutex_; }

    io_crew_type& io_crew() { return io_; }
    const io_crew_type& io_crew() const { return io_; }
    compute_crew_type& compute_crew() { return compute_; }
    const auto& io() const { return io_.table(); }
    const auto& compute() const { return compute_.table(); }

private:
    static constexpr std::uint8_t running = 0;

    const exception_handler on_exception_;
    [[no_unique_address]] typename Parts::clock clock_;
    typename Sync::template atomic<std::uint8_t> stop_;
    typename Sync::mutex mutex_;  // held while a worker comes or goes, and by the stop
    io_crew_type io_;
    compute_crew_type compute_;
};

}  // namespace apiary
