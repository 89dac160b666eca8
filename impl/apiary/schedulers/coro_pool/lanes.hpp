// co_lanes: where coroutines of high and of background priority wait for a worker.
//
// When to use it. Through co_options::priority. When not: for normal priority; the slots, the deques and the crew's
// pool have those.
//
// A lane is a queue, first in first out, from which any worker takes.
//   high        taken before all else, at most high_share in a row; then other work has a turn
//   background  taken when nothing else waits, and once after every background_every other jobs
// So no job waits for ever while jobs end. README.md has the bounds, and says what a job is.
//
// Threads. All: any. Progress: as global_pool.
// Synchronisation. A push and a worker that falls asleep: as global_pool and idle_set S1. Workers look at the lanes
// when they look at the others' deques (co_context::deque_looks_empty).
// Checked by model_check/schedulers/coro_pool. Tested by tests/coro_priority_test.cpp.
#pragma once

#include <cstdint>

#include <apiary/queues/global_pool.hpp>
#include <apiary/tasks/job.hpp>

namespace apiary {

// The priority of a root, and of all that it awaits and forks.
enum class co_priority : std::uint8_t { high, normal, background };

template <class Sync>
class co_lanes {
public:
    using queue = global_pool<job<Sync>, Sync>;

    static constexpr unsigned high_share = Sync::checked ? 1 : 16;  // small under a checker
    static constexpr std::uint64_t background_every = 64;

    explicit co_lanes(bool on) : on_(on) {}

    // False: priorities are switched off, and every coroutine is normal.
    bool on() const { return on_; }
    queue& of(co_priority p) { return p == co_priority::high ? high_ : background_; }
    bool high_waits() const { return on_ && !high_.looks_empty(); }
    bool background_waits() const { return on_ && !background_.looks_empty(); }
    bool look_empty() const { return !high_waits() && !background_waits(); }

private:
    const bool on_;
    queue high_, background_;
};

}  // namespace apiary
