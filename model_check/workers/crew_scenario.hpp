// A crew that no scheduler has: jobs, a deque, no sources, and the least that an owner is. What the engine offers to front ends
// beside what the hive uses is checked on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <apiary/contract/scheduler.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/no_sources.hpp>
#include <apiary/workers/ready_work.hpp>
#include <apiary/workers/trace.hpp>

#include "handshake.hpp"

namespace apiary::model {

template <class Sync>
struct crew_kind {
    using sync = Sync;
    using driver = announcing_driver<Sync>;
    using task_type = job<Sync>;
    using parts = crew_parts<Sync>;
    struct limits {
        static constexpr unsigned index_bits = 64;
        static constexpr std::size_t initial_capacity = 1, max_capacity = 2;
    };
    using ready = ready_work<Sync, chase_lev_deque<task_type*, Sync, limits>, task_type>;
    template <class Crew, class Worker>
    using sources = no_sources<Crew, Worker>;
    static constexpr worker_kind counted_as = worker_kind::compute;
};

template <class Sync, unsigned Workers = 2>
class crew_owner {
public:
    using crew_type = apiary::crew<crew_owner, crew_kind<Sync>>;
    using worker_type = typename crew_type::worker_type;

    crew_owner() : crew_(*this, handshake_parameters) {
        how_.store(0, std::memory_order_relaxed);
        for (unsigned i = 0; i != Workers; ++i) crew_.table().attach(crew_);
    }
    ~crew_owner() { crew_.close(); }
    crew_type& crew() { return crew_; }
    worker_type& worker(unsigned i) { return *crew_.table()[i]; }

    // As a hive stops: the pool, the flag, the wakes.
    void stop(stop_mode how) {
        crew_.close();
        unsigned running = 0;
        if (!how_.compare_exchange_strong(running, static_cast<unsigned>(how), std::memory_order_release,
                                          std::memory_order_relaxed))
            return;
        const typename Sync::lock held(mutex_);
        crew_.wake_all();
    }

    // For the crew.
    bool stopping() const { return how_.load(std::memory_order_acquire) != 0; }
    bool discarding() const {
        return how_.load(std::memory_order_relaxed) == static_cast<unsigned>(stop_mode::discard);
    }
    steady_clock<Sync>& clock() { return clock_; }
    std::int64_t now_ns() const { return clock_.now_ns(); }
    const exception_handler& on_exception() const { return on_exception_; }
    typename Sync::mutex& mutex() { return mutex_; }

private:
    steady_clock<Sync> clock_;
    const exception_handler on_exception_;
    typename Sync::mutex mutex_;
    typename Sync::template atomic<unsigned> how_;
    crew_type crew_;
};

// A job with a body of the check's own.
template <class Sync, class Body>
struct body_job : job<Sync> {
    explicit body_job(Body b) : job<Sync>(&end_it), body(b) {}
    static bool end_it(job<Sync>& self, job_end how, any_worker* by) {
        auto& mine = static_cast<body_job&>(self);
        Body b = mine.body;
        Sync::destroy(&mine);
        b(how, static_cast<typename crew_owner<Sync>::worker_type*>(by));
        return true;
    }
    Body body;
};
template <class Sync, class Body>
job<Sync>* make_job(Body body) {
    return Sync::template create<body_job<Sync, Body>>(body);
}

// Two workers, and what ends them where there is no stop.
template <class Sync>
struct crew_scenario {
    using worker_type = typename crew_owner<Sync>::worker_type;
    crew_owner<Sync> owner;
    typename Sync::template atomic<unsigned> over;

    crew_scenario() { over.store(0, std::memory_order_relaxed); }
    worker_type& worker(unsigned i) { return owner.worker(i); }
    void must(bool posted) { Sync::law(posted, "a post was refused although nobody had asked for a stop"); }
    // The helper of a worker that waits: until it is told that all is over.
    void work(worker_type& w) {
        while (over.load(std::memory_order_relaxed) == 0)
            if (!w.turn_once()) w.sleep_once();
    }
    void end() {
        over.store(1, std::memory_order_relaxed);
        for (unsigned i = 0; i != 2; ++i) worker(i).driver().wake();
    }
    void books_balance() {
        Sync::law(owner.crew().idle().snapshot().searching() == 0, "the books of the idle set do not balance");
    }
};

}  // namespace apiary::model
