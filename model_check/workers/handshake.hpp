// What every check of one handshake of workers needs, whatever their scheduler: numbers that leave few behaviours, and a driver
// that says when it blocks.
#pragma once

#include <cstdint>

#include <apiary/events/parker_driver.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/parameters.hpp>

namespace apiary::model {

constexpr worker_parameters handshake_parameters{.local_budget = 1,
                                                 .global_batch = 2,
                                                 .pool_visits = 1,
                                                 .global_probe_interval = 3,
                                                 .steal_rounds = 1,
                                                 .looks_before_sleep = 0,
                                                 .naps = 0,
                                                 .search_ns = worker_parameters::for_ever};

// Says when it blocks for the first time, so that others can begin behind that.
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

// Beside a single peer it does not matter where a thief begins, and each choice would double the graphs.
struct first_choice {
    explicit first_choice(std::uint64_t) {}
    static unsigned below(unsigned) { return 0; }
};

// What the workers of a crew are made of.
template <class Sync>
struct crew_parts : default_parts<Sync> {
    using driver = announcing_driver<Sync>;
    using random = first_choice;
};

}  // namespace apiary::model
