// A crew that no scheduler has: jobs, a deque, no sources, in a front end that adds nothing. What the engine offers to front ends
// beside what the hive uses is checked on it.
#pragma once

#include <cstddef>

#include <apiary/contract/scheduler.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/ready_work.hpp>

#include "handshake.hpp"

namespace apiary::model {

template <class Sync>
struct checked_kind : default_kind<Sync, crew_parts<Sync>> {
    struct limits {
        static constexpr unsigned index_bits = 64;
        static constexpr std::size_t initial_capacity = 1, max_capacity = 2;
    };
    using ready = ready_work<Sync, chase_lev_deque<job<Sync>*, Sync, limits>, job<Sync>>;
};

template <class Sync, unsigned Workers = 2>
class checked_owner : public front_end<Sync, crew_parts<Sync>> {
public:
    using crew_type = apiary::crew<checked_owner, checked_kind<Sync>>;
    using worker_type = typename crew_type::worker_type;

    checked_owner() : crew_(*this, usual_parameters<Sync>) {
        for (unsigned i = 0; i != Workers; ++i) crew_.table().attach(crew_);
    }
    ~checked_owner() { crew_.close(); }
    crew_type& crew() { return crew_; }
    worker_type& worker(unsigned i) { return *crew_.table()[i]; }
    bool stop(stop_mode how) { return this->stop_crews(how, crew_); }

private:
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
        b(how, static_cast<typename checked_owner<Sync>::worker_type*>(by));
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
    using worker_type = typename checked_owner<Sync>::worker_type;
    checked_owner<Sync> owner;
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
