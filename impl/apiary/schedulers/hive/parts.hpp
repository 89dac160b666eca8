// parts: the parts of a hive that a test or a tool may replace: those of every front end (workers/front_end.hpp), the
// queues, and the compute workers' driver. The IO workers' driver and the storage of tasks are template parameters of
// their own.
//
//     struct my_parts : apiary::hive_parts<apiary::real_sync> {
//         using clock = apiary::manual_clock<>;
//     };
//     apiary::basic_hive<apiary::real_sync, my_driver, apiary::pooled_storage<>, my_parts> h({});
#pragma once

#include <cstddef>
#include <type_traits>

#include <apiary/parking/time_slice.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/queues/steal_half_queue.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/trace.hpp>

namespace apiary {

// The limits are small under a checker, which then meets growth and overflow within a few tasks.
template <class Sync>
struct hive_deque_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = Sync::checked ? 1 : 256;
    static constexpr std::size_t max_capacity = Sync::checked ? 2 : 4096;  // further tasks go to the global pool
};

template <class Sync>
struct hive_half_limits {
    static constexpr unsigned index_bits = 16;
    static constexpr unsigned version_bits = 32;
    static constexpr std::size_t capacity = Sync::checked ? 4 : 256;  // if full, the older half goes to the global pool
};

template <class Sync>
struct hive_parts : default_parts<Sync> {
    using compute_driver = typename default_parts<Sync>::driver;  // a compute worker blocks in it
    // Asks the system for a thread's time slice (hive_config::io_slice_ns).
    using slices = std::conditional_t<on_system_threads<Sync>, linux_slices, no_slices>;
    // The queue from which other workers steal; workers/local_queue.hpp lists those that fit.
    template <class Node>
    using local = chase_lev_deque<Node*, Sync, hive_deque_limits<Sync>>;
    template <class Node>
    using inbox = mpsc_inbox<Node, Sync>;
};

// The parts of a hive in which each theft takes half of the waiting tasks. If one task is enough, use hive_parts.
template <class Sync>
struct half_stealing_hive_parts : hive_parts<Sync> {
    template <class Node>
    using local = steal_half_queue<Node*, Sync, hive_half_limits<Sync>>;
};

template <class Sync>
struct traced_hive_parts : hive_parts<Sync> {
    using trace = event_trace;
};

}  // namespace apiary
