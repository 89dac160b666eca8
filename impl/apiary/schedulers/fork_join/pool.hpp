// fork_join_pool: workers that fork and join, and the way in from other threads.
//
// When to use it. Once for a program, or once for each part of it that must not wait for another. `run` brings a call
// onto a worker; inside the call fork_join, parallel_for and parallel_reduce divide the work. When not: for work that
// waits (coro_pool, processes).
//
// Threads. run, counters, workers, current: any. On a worker of this pool run is a plain call. From outside it blocks
//          its caller: a caller that finds a free seat (fork_join_config::callers) runs the call itself, and helps;
//          other callers sleep until a worker has run their calls. Construction and destruction: while no thread is in
//          run.
// Idle.    A worker that has found nothing for linger_ns sleeps, and then costs nothing.
// Errors.  Construction: std::invalid_argument if a number is out of range, std::system_error if a thread cannot be
//          started; no thread is left then. run: throws the exception of the call.
// Memory.  Roots lie on their callers' stacks, jobs on the workers' stacks. After construction the pool allocates only
//          one array: of pointers to the waiting roots, as long as their longest line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <apiary/schedulers/fork_join/core.hpp>
#include <apiary/sync/processors.hpp>
#include <apiary/workers/in_range.hpp>

namespace apiary {

struct fork_join_config {
    // How many threads: 1 … 280, together with the callers. 0: default_workers() (sync/processors.hpp) less the
    // callers, and at least 1.
    unsigned workers = 0;
    unsigned callers = 0;                // seats, 0 … 64: so many threads at a time run their own calls, as workers
    std::int64_t linger_ns = 100'000;    // how long a worker looks for work before it sleeps; 0: it sleeps at once
    // The share of one processor, 0 to 1, that all workers together may spend on looking for work after linger_ns
    // (workers/idle_spin.hpp).
    double idle_cpu = 0;
    std::size_t stack_reserve = 65'536;  // bytes: a fork that finds fewer left on its stack throws fork_too_deep
};

template <class Sync = real_sync, class Parts = fork_join_parts<Sync>>
class basic_fork_join_pool : public fork_core<Sync, Parts> {
    using core = fork_core<Sync, Parts>;
    struct nothing {};

public:
    explicit basic_fork_join_pool(const fork_join_config& config = {})
        : core(number_of(config), parameters(config), checked(config).linger_ns, config.callers, config.stack_reserve) {
        start_all(
            threads_, core::workers(), [this](unsigned i) { threads_.start([this, i] { core::run_worker(i); }); },
            [this] { request_stop(); });
    }
    // For `fork_join_pool p({})`, which would otherwise be ambiguous: {} could also be a pool to copy.
    explicit basic_fork_join_pool(std::initializer_list<nothing>) : basic_fork_join_pool() {}
    ~basic_fork_join_pool() {
        for (const auto* here = core::current(); here != nullptr; here = here->outer())
            if (&here->pool() == this)
                Sync::fail(
                    "fork_join: a pool was destroyed by what it runs, which it would wait for; keep an owner outside");
        stop();
    }

private:
    static const fork_join_config& checked(const fork_join_config& c) {
        if (c.linger_ns < 0 || c.linger_ns > 10'000'000)
            throw std::invalid_argument("fork_join: linger_ns is " + std::to_string(c.linger_ns) +
                                        "; it can be 0 to 10000000");
        return c;
    }
    static unsigned number_of(const fork_join_config& c) {
        if (c.callers > core::max_callers)
            throw std::invalid_argument("fork_join: callers is " + std::to_string(c.callers) + "; it can be 0 to " +
                                        std::to_string(core::max_callers));
        const unsigned most = core::max_workers - c.callers;
        if (c.workers > most)
            throw std::invalid_argument("fork_join: workers is " + std::to_string(c.workers) + "; it can be 1 to " +
                                        std::to_string(most) + ", or 0 for the number of processors");
        if (c.workers != 0) return c.workers;
        const unsigned there = default_workers();
        return there <= c.callers ? 1 : std::min(there - c.callers, most);
    }
    // The contexts linger themselves, and a worker offers one job at a time: the engine need not look a second time.
    static worker_parameters parameters(const fork_join_config& c) {
        return {
            .global_batch = 1, .looks_before_sleep = 0, .naps = 0, .idle_cpu = valid_idle_cpu("fork_join", c.idle_cpu)};
    }
    void stop() {
        request_stop();
        threads_.join();
    }

    using core::request_stop;
    typename Parts::threads threads_;
};

using fork_join_pool = basic_fork_join_pool<>;

// Throws std::logic_error if the calling thread is no worker of a fork_join_pool.
template <class F, class G, class... More>
    requires(!std::is_base_of_v<fork_join_pool::context, std::remove_cvref_t<F>>)
auto fork_join(F&& f, G&& g, More&&... more) {
    fork_join_pool::context* here = fork_join_pool::current();
    if (here == nullptr)
        throw std::logic_error("fork_join: this thread is no worker of a fork_join_pool; call it inside pool.run(…)");
    return fork_join(*here, std::forward<F>(f), std::forward<G>(g), std::forward<More>(more)...);
}

}  // namespace apiary
