// concepts: what the engine asks of its users: a missing member is one line of error.
//
//   worker_sources   a worker's work beside its ready work and its crew's pool: an inbox, timers, offers.
//                    no_sources.hpp has none, and is the base of sources that have some.
//   crew_kind        the types that the workers of one crew are made of. front_end.hpp has a default_kind.
//   crew_owner       the scheduler to which the crew belongs. front_end.hpp is the base of those.
//
// When to use it. In crew.hpp and worker.hpp, which assert them. When not: as a list of the members that a scheduler
// must write itself: derive from the three defaults.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <apiary/sync/sync_policy.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/workers/counters.hpp>
#include <apiary/workers/task_runner.hpp>

namespace apiary {

// The worker's own thread makes all calls, except enter, open, leave and id, which any thread makes with the owner's
// mutex held. The sources are a base of the worker: they are constructed before its members and destroyed after them,
// and neither may use the worker. They reach the loop's members without another pointer on the way (impl/DECISIONS.md
// D71 has the cost).
template <class S>
concept worker_sources = requires(S& s, const S& c, typename S::task_type* t, unsigned id) {
    // In service from open() on, under that id. enter may throw; then nothing has changed. After leave() posts to the
    // worker are refused.
    { s.enter(id) } -> std::same_as<void>;
    { s.open() } -> std::same_as<void>;
    { s.leave() } -> std::same_as<void>;
    // The id in service; incarnation: the same for the worker's own thread, also while it leaves.
    { c.id() } -> std::same_as<unsigned>;
    { c.incarnation() } -> std::same_as<unsigned>;
    // Takes in what others have sent; runs nothing.
    { s.collect() } -> std::same_as<void>;
    // Runs some of the work for this worker alone. True: it ran something.
    { s.run_some() } -> std::same_as<bool>;
    // True if work has come that this worker alone runs: own tasks and the pool wait for it.
    { c.urgent() } -> std::same_as<bool>;
    // The time at which the worker must look again; the driver's `forever` if never.
    { c.next_deadline() } -> std::same_as<std::int64_t>;
    // The sources' part of a sleeper's last look.
    { c.visible() } -> std::same_as<bool>;
    // Keeps a task that this worker runs itself, before others that it keeps.
    { s.keep(t) } -> std::same_as<void>;
    // How many tasks wait for a time.
    { c.pending() } -> std::same_as<std::size_t>;
    // After a detach: refuses further posts and gives the timers to others; then gives them the kept tasks. False: a
    // stop has closed the places to give them to.
    { s.hand_over_timed() } -> std::same_as<bool>;
    { s.hand_over_kept() } -> std::same_as<bool>;
    // After the stop: refuses further posts, and drops what a drain need not run.
    { s.close() } -> std::same_as<void>;
    // After close: the next task, or null. Sources in which run_some may run a task that calls help_until also answer
    // it inside run_some, and say so by takes_inside_run_some (helping.hpp).
    { s.take() } -> std::same_as<typename S::task_type*>;
    // When no worker of the crew runs any more: drops everything they hold.
    { s.drop_all() } -> std::same_as<void>;
};

//   sync, driver           the Sync policy; what a worker blocks in
//   task_type              what its workers run: job<sync>, or a kind of job, if all are of that one
//   parts                  clock, random source, trace, threads and processor number (default_parts); `idle`, if its
//                          idle sets are others than idle_sets<sync>
//   ready                  its ready work, or no_ready_work
//   marks_pushes           true: a push_mark spares sleepers a fence. Then only the worker's own calls push into its
//                          ready work
//   counted_as             the kind in its counters
//   sources<Crew, Worker>  the rest: worker_sources
template <class K>
concept crew_kind = sync_policy<typename K::sync> && requires {
    typename K::driver;
    typename K::task_type;
    typename K::parts::clock;
    typename K::parts::random;
    typename K::parts::trace;
    { K::parts::processor() } -> std::same_as<int>;
    typename K::ready;
    { K::marks_pushes } -> std::convertible_to<bool>;
    { K::counted_as } -> std::convertible_to<worker_kind>;
};

// Workers come and go with the mutex held, and a stop raises its flag with it (front_end I2). Posting never takes it.
// Optional: pass_fence(), which workers call in place of Sync::fence_heavy() before a sleep and where a search ends,
// whether others may push or not (shared_fence).
template <class O>
concept crew_owner = requires(O& o, const O& c) {
    { c.stopping() } -> std::same_as<bool>;
    { c.discarding() } -> std::same_as<bool>;
    requires clock_source<std::remove_reference_t<decltype(o.clock())>>;
    { c.now_ns() } -> std::same_as<std::int64_t>;
    { c.on_exception() } -> std::same_as<const exception_handler&>;
    o.mutex().lock();
};

}  // namespace apiary
