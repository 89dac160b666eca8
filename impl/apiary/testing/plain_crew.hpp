// plain_crew: a crew of jobs with a deque and no sources, and the least that an owner is. For tests of
// the engine; on threads of its own, or stepped by the test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <apiary/events/parker_driver.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/no_sources.hpp>
#include <apiary/workers/ready_work.hpp>
#include <apiary/workers/trace.hpp>

namespace apiary {

struct plain_kind {
    using sync = real_sync;
    using driver = parker_driver<real_sync>;
    using task_type = job<real_sync>;
    struct parts {
        using random = real_sync::random_source;
        using trace = no_trace;
        using clock = steady_clock<>;
        static int processor() { return real_sync::processor(); }
    };
    struct small_deque {
        static constexpr unsigned index_bits = 64;
        static constexpr std::size_t initial_capacity = 2, max_capacity = 8;
    };
    using ready = ready_work<real_sync, chase_lev_deque<task_type*, real_sync, small_deque>, task_type>;
    template <class Crew, class Worker>
    using sources = no_sources<Crew, Worker>;
    static constexpr worker_kind counted_as = worker_kind::compute;
};

class plain_crew {
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
        threads_.emplace_back([w = &worker(i)] { w->run(); });
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
    void ask_to_stop(stop_mode how) {
        crew_.close();
        int running = 0;
        if (!how_.compare_exchange_strong(running, static_cast<int>(how))) return;
        const real_sync::lock held(mutex_);
        crew_.wake_all();
    }
    void stop(stop_mode how) {
        ask_to_stop(how);
        for (std::thread& t : threads_) t.join();
        threads_.clear();
    }

    // For the crew.
    bool stopping() const { return how_ != 0; }
    bool discarding() const { return how_ == static_cast<int>(stop_mode::discard); }
    steady_clock<>& clock() { return clock_; }
    std::int64_t now_ns() const { return clock_.now_ns(); }
    const exception_handler& on_exception() const { return on_exception_; }
    real_sync::mutex& mutex() { return mutex_; }

private:
    steady_clock<> clock_;
    exception_handler on_exception_;
    real_sync::mutex mutex_;
    std::atomic<int> how_ = 0;
    std::vector<std::thread> threads_;
    crew_type crew_;
};

}  // namespace apiary
