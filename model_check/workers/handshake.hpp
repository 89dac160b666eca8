// What every check of one handshake of workers needs, whatever their scheduler: a driver that says when it blocks. The parameters
// that leave few behaviours come with <apiary/model_check/modelled_threads.hpp>.
#pragma once

#include <cstdint>

#include <apiary/events/parker_driver.hpp>
#include <apiary/model_check/modelled_threads.hpp>
#include <apiary/workers/front_end.hpp>

namespace apiary::model {

// Says when it blocks for the first time, so that others can begin after that.
template <class Sync>
class announcing_driver : public parker_driver<Sync, typename Sync::parker> {
    using base = parker_driver<Sync, typename Sync::parker>;

public:
    announcing_driver() { asleep_.store(0, std::memory_order_relaxed); }
    void sleeps_first() { tells_ = true; }
    void await_sleep() {
        Sync::spin_until(asleep_, [](unsigned v) { return v == 1; });
    }
    void wait(std::int64_t deadline_ns) {
        if (tells_) asleep_.store(1, std::memory_order_release);
        tells_ = false;
        base::wait(deadline_ns);
    }

private:
    bool tells_ = false;  // the owner's, after before()
    typename Sync::template atomic<unsigned> asleep_;
};

// The same policy, under which a worker leaves the looking to any other that searches: NAME_leaves is the check NAME there.
template <class Sync>
struct on_leaves : Sync {};
template <class Sync>
constexpr worker_parameters usual_parameters = handshake_parameters;
template <class Sync>
constexpr worker_parameters usual_parameters<on_leaves<Sync>> = [] {
    worker_parameters p = handshake_parameters;
    p.few_awake = 0;
    p.workers_per_searcher = 100;
    return p;
}();
// The same, and a worker that has seen work before its sleep counts as searching: NAME_counts is the check NAME there.
template <class Sync>
struct on_counts : Sync {};
template <class Sync>
constexpr worker_parameters usual_parameters<on_counts<Sync>> = [] {
    worker_parameters p = usual_parameters<on_leaves<Sync>>;
    p.lookers_count = true;
    return p;
}();

// What the workers of a crew are made of.
template <class Sync>
struct crew_parts : default_parts<Sync> {
    using driver = announcing_driver<Sync>;
    using random = first_choice;
};

}  // namespace apiary::model
