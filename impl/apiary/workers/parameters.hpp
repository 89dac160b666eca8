// worker_parameters: every number of a crew's workers that one might tune, in one place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apiary {

struct worker_parameters {
    static constexpr std::int64_t for_ever = INT64_MAX;
    static constexpr std::size_t max_batch = 64;  // the largest global_batch

    // Each number is at least 1, except that workers_per_searcher, few_awake, looks_before_sleep,
    // sleeps_after_long_yield, naps, timer_spin_ns and idle_cpu may be 0. yield_pays_ns, nap_ns and spin_ns are at most
    // a second, idle_cpu at most 1. A front end's constructor refuses others (in_range.hpp).
    std::size_t local_budget = 64;  // due timers, or tasks of the private queue, before the next source's turn
    std::size_t global_batch = 16;  // tasks taken from the global pool at once, at most
    std::size_t pool_visits = 16;   // batches from it before the next source's turn, when nothing else waits there
    std::size_t global_probe_interval = 47;  // own tasks after which the deque's old end and the global pool are probed
    std::int64_t probe_ns = 100'000;         // an interval has fewer tasks if that many take longer
    // the own tasks after which a worker that had none before looks at the clock; it looks again after as many more
    std::size_t first_looks = 4;
    unsigned steal_rounds = 2;    // passes over the victims before a worker gives up
    // where three threads run at once, a thief passes over a worker at which another thief is
    bool thieves_take_turns = true;
    // Where more than few_awake workers are awake, and each may have a processor, a worker without work leaves the
    // looking to others if one searches for each workers_per_searcher that run; 0: it always looks itself
    unsigned workers_per_searcher = 4;
    unsigned few_awake = 4;
    bool lookers_count = false;  // likewise a worker counts as searching that saw work before its sleep and stays awake
    unsigned looks_before_sleep = 1;  // further turns, each after a yield, of a worker that found nothing
    bool sleeps_after_one = true;     // no such turn for a worker that ran at most one task while all others sleep,
    bool lets_poster_go_on = true;    // except if it displaced the poster that woke it
    // A yield that takes longer than long_yield_ns, and longer than yield_pays_ns for each task that came meanwhile,
    // means that the processor is contended: the worker then skips its yields, for at most this many sleeps.
    std::int64_t long_yield_ns = 100'000;
    std::int64_t yield_pays_ns = 5'000;  // about what a wake costs
    unsigned sleeps_after_long_yield = 1000;
    // timed parks of a worker before its sleep, after a spurious wake, if another worker is awake
    unsigned naps = 16;
    // the length of a nap: a task alone in a slot waits no longer for a thief
    std::int64_t nap_ns = 50'000;
    std::int64_t search_ns = 50'000;  // how long posts rely on a worker that was woken to look
    // What spins before a sleep may cost (idle_spin.hpp): for all workers of the crew together this share of one
    // processor, and for each spin this time.
    double idle_cpu = 0;
    std::int64_t spin_ns = 2'000'000;
    std::int64_t timer_spin_ns = 0;   // this long before a timer is due a worker watches the clock and does not sleep
    std::size_t short_deque = 64;     // up to this length the deque's old end has its turn at every probe,
    std::size_t long_deque_probes = 16;  // in a longer deque at one probe of this many
};

}  // namespace apiary
