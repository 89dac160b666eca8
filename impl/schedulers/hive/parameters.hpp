// Every number of the hive that one might tune, in one place (seed 002 section 11).
#pragma once

#include <cstddef>

namespace apiary {

struct hive_parameters {
    // Each at least 1; global_batch at most 64. The hive's constructor refuses anything else.
    std::size_t local_budget = 64;  // tasks from private queue and deque before events and timers are looked at
    std::size_t global_batch = 16;  // tasks taken from the global pool at once, at most
    std::size_t global_probe_interval = 47;  // turns after which the global pool is probed all the same
    unsigned steal_rounds = 2;               // passes over the victims before a worker gives up
};

}  // namespace apiary
