// counters: what a worker has done so far. Its thread writes them, and any thread may read them at any time; the
// numbers of one snapshot need not be of one moment.
#pragma once

#include <algorithm>
#include <cstdint>

#include <apiary/contract/stats.hpp>

namespace apiary {

enum class worker_kind : std::uint8_t { io, compute };

struct worker_counters {
    worker_kind kind = worker_kind::io;
    unsigned slot = 0;  // counters belong to a slot, through all lives of its worker; each kind has its own slots
    std::uint64_t run = 0, exceptions = 0, discarded = 0, cancelled = 0;
    std::uint64_t parked = 0;    // sleeps announced, naps included
    std::uint64_t woken = 0;     // of these, those that a poster's claim ended
    std::uint64_t spurious = 0;  // of these, those that found nothing and ended in sleep again
    // A kind without ready work, or without timers, leaves these at 0; none uses all.
    std::uint64_t stolen = 0;     // tasks taken from other workers' deques
    std::uint64_t batches = 0;    // visits to the crew's pool that brought tasks
    std::uint64_t overflows = 0;  // posts that found the worker's own deque full
    std::uint64_t timers_fired = 0, timer_lateness_ns = 0, timer_lateness_max_ns = 0;  // lateness: the sum
    std::uint64_t timers_pending = 0;

    // Adds the counts of another worker. The larger of the two largest latenesses stays; kind and slot do not change.
    void add(const worker_counters& c) {
        run += c.run, exceptions += c.exceptions, discarded += c.discarded, cancelled += c.cancelled;
        parked += c.parked, woken += c.woken, spurious += c.spurious;
        stolen += c.stolen, batches += c.batches, overflows += c.overflows;
        timers_fired += c.timers_fired, timer_lateness_ns += c.timer_lateness_ns;
        timer_lateness_max_ns = std::max(timer_lateness_max_ns, c.timer_lateness_max_ns);
        timers_pending += c.timers_pending;
    }
};

// One worker's own counters; the runner keeps those of the tasks.
template <class Sync>
struct worker_tallies {
    tally<Sync> parked, woken, spurious, stolen, batches, overflows, timers_fired, timer_lateness_ns,
        timer_lateness_max_ns;

    void fired(std::int64_t lateness_ns) {
        const auto late = static_cast<std::uint64_t>(lateness_ns);
        timers_fired.add();
        timer_lateness_ns.add(late);
        if (late > timer_lateness_max_ns.get()) timer_lateness_max_ns.add(late - timer_lateness_max_ns.get());
    }
};

}  // namespace apiary
