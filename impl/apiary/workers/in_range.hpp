// in_range, valid: how a front end's constructor checks numbers: it accepts them, or says which one is wrong and what
// it may be.
//
// Threads. Any. Errors. std::invalid_argument: "hive: nap_ns is 0; it can be 1 to 1000000000".
// Tested by workers_test and hive_logic_test.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <apiary/workers/parameters.hpp>

namespace apiary {

// `whose`: the name of the front end, for the message.
template <class Number>
Number in_range(const char* whose, Number n, Number least, Number most, const char* what) {
    if (n < least || n > most)
        throw std::invalid_argument(std::string(whose) + ": " + what + " is " + std::to_string(n) + "; it can be " +
                                    std::to_string(least) + " to " + std::to_string(most));
    return n;
}

// idle_cpu of a front end: a share of one processor, 0 to 1. NaN is refused, too.
inline double valid_idle_cpu(const char* whose, double share) {
    if (share >= 0 && share <= 1) return share;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", share);
    throw std::invalid_argument(std::string(whose) + ": idle_cpu is " + text.data() + "; it can be 0 to 1");
}

inline const worker_parameters& valid(const char* whose, const worker_parameters& p) {
    in_range<std::size_t>(whose, p.local_budget, 1, SIZE_MAX, "local_budget");
    in_range<std::size_t>(whose, p.global_batch, 1, worker_parameters::max_batch, "global_batch");
    in_range<std::size_t>(whose, p.pool_visits, 1, SIZE_MAX, "pool_visits");
    in_range<std::size_t>(whose, p.global_probe_interval, 1, SIZE_MAX, "global_probe_interval");
    in_range<std::int64_t>(whose, p.probe_ns, 1, INT64_MAX, "probe_ns");
    in_range<std::size_t>(whose, p.first_looks, 1, SIZE_MAX, "first_looks");
    in_range<unsigned>(whose, p.steal_rounds, 1, UINT_MAX, "steal_rounds");
    in_range<std::int64_t>(whose, p.long_yield_ns, 1, INT64_MAX, "long_yield_ns");
    in_range<std::int64_t>(whose, p.yield_pays_ns, 1, 1'000'000'000, "yield_pays_ns");
    in_range<std::int64_t>(whose, p.nap_ns, 1, 1'000'000'000, "nap_ns");
    in_range<std::size_t>(whose, p.short_deque, 1, SIZE_MAX, "short_deque");
    in_range<std::size_t>(whose, p.long_deque_probes, 1, SIZE_MAX, "long_deque_probes");
    in_range<std::int64_t>(whose, p.search_ns, 1, worker_parameters::for_ever, "search_ns");
    in_range<std::int64_t>(whose, p.spin_ns, 1, 1'000'000'000, "spin_ns");
    valid_idle_cpu(whose, p.idle_cpu);
    in_range<std::int64_t>(whose, p.timer_spin_ns, 0, INT64_MAX, "timer_spin_ns");
    return p;
}

}  // namespace apiary
