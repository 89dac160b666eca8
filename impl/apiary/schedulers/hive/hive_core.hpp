// hive_core: the two crews of a hive, the ways in, and how it stops.
//
// When to use it. Through hive.hpp, which adds threads; or alone, in a check or a test that brings its own threads.
// It is a template over Sync, the driver in which IO workers block, the storage of tasks and the parts, so that the
// model checks run the shipped scheduler itself.
//
// Threads.  All functions: any thread, after the constructor has returned.
// Progress. The posts: lock-free. Attach, detach and request_stop take a mutex.
//
// workers/crew.hpp says who must wake whom, and workers/front_end.hpp how a stop excludes attach and detach.
//
// Checked by model_check/schedulers/hive. README.md beside this file has the protocol.
#pragma once

#include <utility>

#include <apiary/contract/scheduler.hpp>
#include <apiary/schedulers/hive/io_sources.hpp>
#include <apiary/schedulers/hive/parameters.hpp>
#include <apiary/schedulers/hive/parts.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/ready_work.hpp>

namespace apiary {

// IO workers run tasks that post each other, wait for events and deadlines, and may be posted to a worker by its id.
template <class Sync, class Driver, class Storage, class Parts>
struct hive_io_kind : default_kind<Sync, Parts, task<Sync>> {
    using driver = Driver;
    using ready = ready_work<Sync, typename Parts::template local<task<Sync>>>;
    template <class Crew, class Worker>
    using sources = io_sources<Crew, Worker, Storage>;
    static constexpr worker_kind counted_as = worker_kind::io;
    static constexpr bool marks_pushes = true;  // posts come from outside, and many tasks post no others
};

// Compute workers take long tasks one at a time, so that no task waits in the batch of a busy worker while another
// worker sleeps.
template <class Sync, class Parts>
struct hive_compute_kind : default_kind<Sync, Parts, task<Sync>> {
    using driver = typename Parts::compute_driver;

    static constexpr worker_parameters with(worker_parameters p) {
        p.pool_visits = 1;
        p.looks_before_sleep = 0;  // a wake costs little beside a task of a millisecond
        p.naps = 0;
        p.idle_cpu = 0;  // likewise; the IO workers have it all
        p.search_ns = worker_parameters::for_ever;
        return p;
    }
};

template <class Sync, class Driver, class Storage, class Parts = hive_parts<Sync>>
class hive_core : public front_end<Sync, Parts> {
    using base = front_end<Sync, Parts>;

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
        : base(std::move(on_exception)),
          io_(*this, parameters),
          compute_(*this, hive_compute_kind<Sync, Parts>::with(parameters)) {
        for (unsigned n = 0; n < io_workers; ++n) io_.table().attach(io_);
        for (unsigned n = 0; n < compute_workers; ++n) compute_.table().attach(compute_);
    }

    // Precondition: no worker runs. Drops the tasks that a stop before run() has left.
    ~hive_core() {
        // The destructor of a dropped callable may post; its posts are refused.
        request_stop(stop_mode::discard);
        io_.drop_all();
        compute_.drop_all();
    }

    // The posts. False: the hive has been stopped (or has no compute worker), and the task still belongs to the caller.
    [[nodiscard]] bool post(task_type* t) { return io_.post(t); }
    // Posts all tasks or none.
    [[nodiscard]] bool post_list(list& tasks) { return io_.post_list(tasks); }
    // Also false if no worker of that id is in service.
    [[nodiscard]] bool post_to(unsigned id, task_type* t) { return io_.post_to(id, t); }
    [[nodiscard]] bool post_compute(task_type* t) { return compute_.table().size() != 0 && compute_.post(t); }
    // Posts all tasks or none.
    [[nodiscard]] bool post_compute_list(list& tasks) {
        return compute_.table().size() != 0 && compute_.post_list(tasks);
    }

    // Refuses all later posts, and wakes every worker, which then ends. The first call decides how they end.
    void request_stop(stop_mode how) noexcept { this->stop_crews(how, io_, compute_); }

    // Attaching makes a worker, which the caller runs on a new thread. Detaching asks a worker to leave; the main
    // worker stays. crew.hpp has the rules.
    [[nodiscard]] io_worker_type* attach_io() { return io_.attach(); }
    [[nodiscard]] compute_worker_type* attach_compute() { return compute_.attach(); }
    detach_result detach_io(unsigned id) { return id == 0 ? detach_result::main_worker : io_.detach(id); }
    detach_result detach_compute(unsigned id) { return compute_.detach(id); }

    // How many workers of each kind are in service.
    unsigned serving_io() { return io_.serving(); }
    unsigned serving_compute() { return compute_.serving(); }

    io_crew_type& io_crew() { return io_; }
    const io_crew_type& io_crew() const { return io_; }
    compute_crew_type& compute_crew() { return compute_; }
    worker_counters counters() const {
        worker_counters all = io_.counters();
        all.add(compute_.counters());
        return all;
    }
    const auto& io() const { return io_.table(); }
    const auto& compute() const { return compute_.table(); }

private:
    // Each crew begins on a cache line of its own, and shares none with the other crew or with the front end.
    static_assert(alignof(io_crew_type) % cache_line == 0 && alignof(compute_crew_type) % cache_line == 0);
    io_crew_type io_;
    compute_crew_type compute_;
};

}  // namespace apiary
