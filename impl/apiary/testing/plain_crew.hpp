// plain_crew: a crew of jobs with a deque and no sources, in a front end that adds nothing. For tests of the engine,
// either with threads or stepped by the test.
#pragma once

#include <cstddef>

#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/ready_work.hpp>

namespace apiary {

struct plain_kind : default_kind<> {
    struct small_deque {
        static constexpr unsigned index_bits = 64;
        static constexpr std::size_t initial_capacity = 2, max_capacity = 8;
    };
    using ready = ready_work<real_sync, chase_lev_deque<task_type*, real_sync, small_deque>, task_type>;
};

class plain_crew : public front_end<> {
public:
    using crew_type = apiary::crew<plain_crew, plain_kind>;
    using worker_type = crew_type::worker_type;
    using storage = heap_storage<real_sync>;

    explicit plain_crew(unsigned workers, const worker_parameters& p = {}) : crew_(*this, p) {
        for (unsigned i = 0; i != workers; ++i) crew_.table().attach(crew_);
    }
    ~plain_crew() { stop(stop_mode::discard); }

    crew_type& crew() { return crew_; }
    worker_type& worker(unsigned i) { return *crew_.table()[i]; }
    void start(unsigned i) {
        threads_.start([w = &worker(i)] { w->run(); });
    }
    template <class F>
    [[nodiscard]] bool post(F f) {
        job<real_sync>* t = storage::make(f);
        return crew_.post(t) || (t->drop(), false);
    }
    template <class F>
    [[nodiscard]] bool post_local(worker_type& w, F f) {
        job<real_sync>* t = storage::make(f);
        return w.post_local(t) || (t->drop(), false);
    }
    // Returns at once.
    void ask_to_stop(stop_mode how) { stop_crews(how, crew_); }
    void stop(stop_mode how) {
        ask_to_stop(how);
        threads_.join();
    }

private:
    thread_team threads_;
    crew_type crew_;
};

}  // namespace apiary
