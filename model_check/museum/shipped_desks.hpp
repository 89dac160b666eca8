// The desks of task_graph as they ship, behind the calls of clocked_queues: the twin of what workers do wrong that yield.
#pragma once

#include <array>
#include <cstdint>

#include <apiary/schedulers/task_graph/ready_desk.hpp>

namespace apiary::museum {

// Two workers with clocks, each of a type, and the desk of each type.
template <class Sync>
class shipped_desks {
    static constexpr unsigned workers = 2, most = 2;
    struct place {
        typename Sync::template cell<place*> next;
        std::int64_t ahead() const { return 0; }
    };
    using desk = ready_desk<Sync, place, workers>;

public:
    explicit shipped_desks(std::array<unsigned, workers> types) : types_(types) {
        done_.store(0, std::memory_order_relaxed);
    }

    void push(unsigned type, unsigned n) {
        for (unsigned i = 0; i != n; ++i) {
            const auto handed = desks_[type].push(places_[i]);
            for (unsigned w = 0; w != workers; ++w)
                if ((handed >> w & 1U) != 0) parkers_[w].unpark();
        }
    }
    // Takes tasks until there are none left to come.
    void work(unsigned me, unsigned tasks_in_all) {
        std::int64_t clock = me;
        while (done_.load(std::memory_order_relaxed) != tasks_in_all) {
            if (desks_[types_[me]].take(me, clock) == nullptr) {
                parkers_[me].park();
                continue;
            }
            clock += 2;
            if (done_.fetch_add(1, std::memory_order_relaxed) + 1 == tasks_in_all) parkers_[1 - me].unpark();
        }
    }

private:
    const std::array<unsigned, workers> types_;
    std::array<desk, 2> desks_{desk(ready_policy::min_clock), desk(ready_policy::min_clock)};
    std::array<place, most> places_;
    std::array<typename Sync::parker, workers> parkers_;
    typename Sync::template atomic<unsigned> done_;
};

}  // namespace apiary::museum
