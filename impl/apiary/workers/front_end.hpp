// front_end: the base of every owner of crews: a clock, an exception handler, a mutex, and one way to stop.
//
// When to use it. As the base of a scheduler whose workers are crews (crew.hpp), which adds its crews, its ways in and
// its books. When not: for a scheduler without crews (global_queue).
//
//     class my_pool : public front_end<Sync> {
//         using crew_type = crew<my_pool, default_kind<Sync>>;
//         crew_type crew_{*this, worker_parameters{}};
//         typename default_parts<Sync>::threads threads_;
//     public:
//         void stop() { this->stop_crews(stop_mode::drain, crew_); threads_.join(); }
//     };
//
// Threads.   Any, after the constructor has returned.
// Progress.  stopping, discarding, now_ns: wait-free. stop_crews takes the pools' mutexes and the owner's.
// Invariants
//   I1  The pools are closed before the flag is up. A worker that sees the flag may end as soon as its pool is empty:
//       every accepted post is inside, and none will follow.
//   I2  The flag goes up, and the workers are woken, with the mutex held. A worker's last call (crew::left) takes the
//       mutex after that, and so does an attach. So an attached worker either is woken or sees the flag. And when the
//       last worker has left, all that remains of stop_crews is the end of an unlock: an owner may then be destroyed
//       although another thread has not yet returned from stop_crews.
// Synchronisation
//   S1  stop_crews: store line_.stop (release) -> stopping: load (acquire). Together with I1: the worker sees the posts
//       before the close, so that its look at the pool finds them.
//   No fence stands between the flag and the wakes, nor between a worker's announcement and its last look at the flag:
//   the stop does not ask whether a worker sleeps. It leaves each worker a wake, which is a token: a worker that missed
//   the flag at its last look finds the token when it blocks, and the flag after that.
// Layout.    The words that workers read for each task have lines of their own: no member of a derived class is on them
//            (impl/DECISIONS.md D166).
//
// Checked by model_check/workers/stop_check.cpp, and by the checks of each scheduler.
#pragma once

#include <concepts>
#include <cstdint>
#include <ranges>
#include <utility>

#include <apiary/contract/scheduler.hpp>
#include <apiary/events/parker_driver.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/workers/counters.hpp>
#include <apiary/workers/no_ready_work.hpp>
#include <apiary/workers/no_sources.hpp>
#include <apiary/workers/task_runner.hpp>
#include <apiary/workers/thread_team.hpp>
#include <apiary/workers/trace.hpp>

namespace apiary {

// The parts that a test or a tool may replace. Derive, and name those that differ:
//
//     struct my_parts : default_parts<real_sync> {
//         using clock = manual_clock<>;
//     };
template <class Sync = real_sync>
struct default_parts {
    using driver = parker_driver<Sync>;           // what a worker blocks in
    using clock = steady_clock<Sync>;             // one for the scheduler, default-constructed
    using random = typename Sync::random_source;  // one for each worker, made from a random seed; below(n)
    using trace = no_trace;                       // one for each worker
    using threads = typename team_of<Sync>::type; // the scheduler's: gives each worker its thread
    // The processor of the calling thread; a hint, which the checked policies do not have.
    static int processor() {
        if constexpr (Sync::checked)
            return -1;
        else
            return Sync::processor();
    }
};

// A kind of workers (crew.hpp) that run jobs from their crew's pool, and have nothing of their own. Derive, and name
// the members that differ.
template <class Sync = real_sync, class Parts = default_parts<Sync>, class Task = job<Sync>>
struct default_kind {
    using sync = Sync;
    using parts = Parts;
    using driver = typename Parts::driver;
    using task_type = Task;
    using ready = no_ready_work<Sync, Task>;
    static constexpr bool marks_pushes = false;
    template <class Crew, class Worker>
    using sources = no_sources<Crew, Worker>;
    static constexpr worker_kind counted_as = worker_kind::compute;
};

template <class Sync = real_sync, class Parts = default_parts<Sync>>
class front_end {
public:
    front_end(const front_end&) = delete;
    front_end& operator=(const front_end&) = delete;

    bool stopping() const { return line_.stop.load(std::memory_order_acquire) != running; }  // S1
    // Precondition: stopping() was true before. Relaxed: the flag is written once.
    bool discarding() const {
        return line_.stop.load(std::memory_order_relaxed) == static_cast<std::uint8_t>(stop_mode::discard);
    }
    typename Parts::clock& clock() { return line_.clock; }
    std::int64_t now_ns() const { return line_.clock.now_ns(); }
    const exception_handler& on_exception() const { return line_.on_exception; }
    typename Sync::mutex& mutex() { return line_.mutex; }  // held while a worker comes or goes, and by the stop

protected:
    explicit front_end(exception_handler on_exception = {}) : line_(std::move(on_exception)) {}
    ~front_end() = default;

    // Closes the crews, and tells each of their workers to end. Returns at once. True: this call was the first, and its
    // mode counts. `crews`: all crews of the owner, each a crew, or another object with close() and wake_all(), or a
    // range of those.
    template <class... Crews>
    bool stop_crews(stop_mode how, Crews&... crews) noexcept {
        (each(crews, [](auto& c) { c.close(); }), ...);  // I1
        const typename Sync::lock held(line_.mutex);     // I2
        if (line_.stop.load(std::memory_order_relaxed) != running) return false;
        line_.stop.store(static_cast<std::uint8_t>(how), std::memory_order_release);  // S1
        (each(crews, [](auto& c) { c.wake_all(); }), ...);
        return true;
    }

private:
    static constexpr std::uint8_t running = 0;

    template <class Crews, class F>
    static void each(Crews& crews, F f) {
        if constexpr (std::ranges::range<Crews>) {
            for (auto& c : crews) f(c);
        } else {
            f(crews);
        }
    }

    // A struct, because a derived class would put its own members into the padding of a base.
    struct alignas(cache_line) line {
        explicit line(exception_handler h) : on_exception(std::move(h)) { stop.store(running, std::memory_order_relaxed); }
        const exception_handler on_exception;
        [[no_unique_address]] typename Parts::clock clock;
        typename Sync::template atomic<std::uint8_t> stop;
        typename Sync::mutex mutex;
    };
    line line_;
    static_assert(sizeof(line) % cache_line == 0 && alignof(line) == cache_line);
};

}  // namespace apiary
