// coro_pool: workers that run coroutines, and the ways in from other threads.
//
//     apiary::coro_pool pool({.workers = 4});
//     pool.start();
//     for (int i = 0; i != 100; ++i) (void)pool.spawn(work(i));        // co_task<>: detached, counted
//     auto n = apiary::sync_wait(pool, count());                       // co_task<T>: T, or what it throws
//     pool.stop();                                                     // drains
//
// When to use it. For computations that divide themselves, and for work that waits. When not: for plain
// callables that neither divide nor wait (hive).
//
// Threads.   spawn, sync_wait, resume_on, request_stop, report, counters, workers, stop_token, host: any.
//            start, stop, wait_for_end: one at a time, not a worker of this pool. Destruction: when no
//            thread is in a call; by a coroutine of the pool, too.
// Idle.      A worker that has found nothing for linger_ns sleeps, and then costs nothing. After a spurious wake beside
//            a worker that is awake, it naps first (workers/idle_policy.hpp).
// Errors.    Construction: std::invalid_argument if a number is out of range. start: std::system_error if a thread
//            cannot be started; the pool is stopped then. README.md has a table for bad input.
// A stop     waits until nothing lives, suspended coroutines included. It destroys no coroutine, because the thing that
//            would resume it holds its address. stop(co_stop::cancel) asks all coroutines to end, by their stop tokens.
//            wait_for_end gives up at a deadline; the report names the coroutines that live.
//
// The protocol: README.md beside this file.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <apiary/parking/parker.hpp>
#include <apiary/schedulers/coro_pool/core.hpp>
#include <apiary/schedulers/coro_pool/when_all.hpp>
#include <apiary/sync/processors.hpp>
#include <apiary/workers/in_range.hpp>

namespace apiary {

struct co_config {
    unsigned workers = 0;                      // 1 … 280; 0: default_workers() (sync/processors.hpp)
    std::int64_t linger_ns = usual_linger_ns;  // how long a worker looks for work before it sleeps; 0: not at all
    // The share of one processor, 0 to 1, that all workers together may spend on looking for work after linger_ns
    // (workers/idle_spin.hpp).
    double idle_cpu = 0;
    exception_handler on_exception = {};       // gets the exceptions of detached coroutines, on the worker
    // Optimisations; README.md says what each brings. linger_ns is another, and so is frame pooling (heap_frames).
    std::size_t batch = usual_batch;  // how many tasks a worker takes at once, for others to steal: 1 … 64
    bool stealing = true;
    bool priorities = true;  // off: co_options::priority is ignored
    bool pinned = false;     // worker k runs on the k-th of the processors that this process may use

    static constexpr std::int64_t usual_linger_ns = 100'000;
    static constexpr std::size_t usual_batch = 16;
};

template <class Sync = real_sync, class Parts = default_parts<Sync>>
class basic_coro_pool {
    using core = co_core<Sync, Parts>;
    struct nothing {};

public:
    template <class T = void>
    using task = co_task<T, Sync>;

    explicit basic_coro_pool(const co_config& config = {})
        : pinned_(config.pinned),
          core_(std::make_shared<core>(checked(config), parameters(config), config.linger_ns, config.on_exception,
                                       co_switches{.stealing = config.stealing, .priorities = config.priorities})) {}
    // For `coro_pool p({})`, which would otherwise be ambiguous: {} could also be a pool to copy.
    explicit basic_coro_pool(std::initializer_list<nothing>) : basic_coro_pool() {}
    // Stops with co_stop::cancel, and waits. On a worker of this pool (a coroutine is its last owner) it does not wait:
    // it asks all coroutines to end, and the last worker that ends destroys the core.
    ~basic_coro_pool() {
        if (on_a_worker()) {
            core_->request_stop(co_stop::cancel);
            threads_.detach();
        } else {
            stop(co_stop::cancel);
        }
    }
    basic_coro_pool(const basic_coro_pool&) = delete;
    basic_coro_pool& operator=(const basic_coro_pool&) = delete;

    // Starts the workers, once. False: the pool was started before, or stopped.
    bool start() {
        // Asked before the lock: a stop holds the lock until the coroutines have ended, and the caller may be one of
        // them.
        if (core_->refuses()) return false;
        const typename Sync::lock held(start_mutex_);
        if (started_.load(std::memory_order_relaxed)) return false;
        const unsigned workers = core_->the_crew().table().size();
        const auto processors = pinned_ ? processors_for(workers) : std::vector<int>();
        start_all(
            threads_, workers,
            [&](unsigned i) {
                threads_.start([its = core_, i] { its->run_worker(i); },
                               pinned_ ? processors[i] : any_processor);
            },
            [this] { core_->request_stop(co_stop::cancel); });
        started_.store(true, std::memory_order_release);
        return true;
    }

    // Starts the task, which nothing awaits. Returns false before start, and after a stop unless a coroutine of this
    // pool calls; the task then still belongs to the caller.
    [[nodiscard]] bool spawn(task<>&& t, co_options options = {}) {
        if (is_started()) return core_->spawn(std::move(t), std::move(options));
        core_->refuse();
        return false;
    }
    // Calls f to make the task and keeps f until the task ends. If false, f is destroyed.
    template <detail::makes_task<Sync> F>
    [[nodiscard]] bool spawn(F f, co_options options = {}) {
        return spawn(detail::calls<Sync>(std::move(f)), std::move(options));
    }
    // Blocks the calling thread; sync_wait below calls it.
    template <class T>
    T wait_for(task<T> t) {
        if (!is_started()) throw std::logic_error("sync_wait: the pool is stopped, or was not started");
        return core_->template wait_for<T>(std::move(t));
    }

    // Refuses spawns from outside from now on, and returns at once. Any thread, and any coroutine. A cancelling call
    // may follow a draining one.
    void request_stop(co_stop how = co_stop::drain) noexcept { core_->request_stop(how); }
    // Refuses spawns from outside, and returns when all coroutines have ended. Throws std::logic_error on a worker of
    // this pool, which would wait for itself.
    void stop(co_stop how = co_stop::drain) {
        if (on_a_worker())
            throw std::logic_error("coro_pool: stop on a worker of the same pool; request_stop does not wait");
        core_->request_stop(how);
        const typename Sync::lock held(start_mutex_);
        threads_.join();
    }
    // Waits up to `most` after request_stop. True if nothing is alive; otherwise see report().
    [[nodiscard]] bool wait_for_end(std::chrono::nanoseconds most) {
        const std::int64_t until = deadline_after(core_->now_ns(), most);  // saturates: a plain sum could overflow
        while (!core_->stopping()) {
            if (core_->now_ns() >= until) return false;
            Sync::sleep_ns(200'000);
        }
        return true;
    }

    coro_report report() { return core_->report(); }
    unsigned workers() const { return core_->the_crew().table().size(); }
    // A cancelling stop of the pool requests a stop at this token.
    std::stop_token stop_token() const { return core_->token(); }
    co_host<Sync>& host() { return *core_; }
    // True after start.
    bool is_started() const { return started_.load(std::memory_order_acquire); }
    // The sum of the workers' counters. May be called while they run.
    worker_counters counters() const { return core_->the_crew().counters(); }

private:
    static constexpr unsigned max_workers = core::crew_type::max_workers;

    bool on_a_worker() const {
        const co_context<Sync>* const here = co_context<Sync>::here();
        return here != nullptr && here->host() == core_.get();
    }
    static unsigned checked(const co_config& c) {
        if (c.linger_ns < 0 || c.linger_ns > 10'000'000)
            throw std::invalid_argument("coro_pool: linger_ns is " + std::to_string(c.linger_ns) +
                                        "; it can be 0 to 10000000");
        if (c.workers > max_workers)
            throw std::invalid_argument("coro_pool: workers is " + std::to_string(c.workers) + "; it can be 1 to " +
                                        std::to_string(max_workers) + ", or 0 for the number of processors");
        if (c.batch < 1 || c.batch > worker_parameters::max_batch)
            throw std::invalid_argument("coro_pool: batch is " + std::to_string(c.batch) + "; it can be 1 to " +
                                        std::to_string(worker_parameters::max_batch));
        if (c.pinned || c.workers == 0) return static_cast<unsigned>(processors_for(c.workers).size());
        return c.workers;
    }
    // The sources linger themselves, and a worker offers one branch at a time: the engine need not look a second time.
    static worker_parameters parameters(const co_config& c) {
        return {.global_batch = c.stealing ? c.batch : 1,  // without stealing no worker could take the rest of a batch
                .steal_rounds = c.stealing ? 2U : 0U,
                .looks_before_sleep = 0,
                .idle_cpu = valid_idle_cpu("coro_pool", c.idle_cpu)};
    }
    // The first `workers` processors that this thread may use; 0 counts as default_workers(). Throws
    // std::invalid_argument if it may use fewer.
    static std::vector<int> processors_for(unsigned workers) {
        std::vector<int> there = usable_processors();
        if (workers > there.size())
            throw std::invalid_argument("coro_pool: " + std::to_string(workers) +
                                        " pinned workers, but this process may use " + std::to_string(there.size()) +
                                        " processors; without pinned they may share them");
        there.resize(workers != 0 ? workers : std::min({std::size_t{default_workers()}, there.size(), std::size_t{max_workers}}));
        return there;
    }

    const bool pinned_;
    // Owned by this and by each worker's thread: the pool's last owner may be a coroutine.
    const std::shared_ptr<core> core_;
    typename Sync::mutex start_mutex_;
    typename Sync::template atomic<bool> started_{false};
    typename Parts::threads threads_;
};

using coro_pool = basic_coro_pool<>;

// Runs the task on the pool, and blocks this thread until it has ended. Returns its result or throws its exception.
// Throws std::logic_error on a worker of that pool, and if the pool was not started or is stopped.
template <class Sync, class Parts, class T>
T sync_wait(basic_coro_pool<Sync, Parts>& pool, co_task<T, Sync> t) {
    return pool.template wait_for<T>(std::move(t));
}

// Thrown by resume_on if that pool takes no guest; the coroutine stays where it is.
struct pool_stopped : std::runtime_error {
    pool_stopped() : std::runtime_error("resume_on: that pool is stopped, or was not started") {}
};

namespace detail {

template <class Sync>
class co_move {
public:
    using comes_home = void;
    explicit co_move(co_host<Sync>& to, bool is_started = true) : to_(to), refused_(!is_started) {}
    bool await_ready() const noexcept { return refused_; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> h) noexcept {
        return h.promise().move_to(to_, refused_);
    }
    void await_resume() const {
        if (refused_) throw pool_stopped();
    }

private:
    co_host<Sync>& to_;
    bool refused_;
};

class co_yield_turn {
public:
    using comes_home = void;
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> h) const noexcept {
        using context = typename P::context;
        auto& host = *context::here()->host();
        home<typename P::sync>& lane = host.home_of(h.promise().root().priority);
        if (&lane == &host)
            host.resume_behind(h.promise());
        else
            lane.resume(h.promise());
    }
    void await_resume() const noexcept {}
};

}  // namespace detail

// co_await resume_on(pool) moves this coroutine there; the tasks that it awaits from then on run there, too. After its
// end its parent goes on in the pool where it was.
template <class Sync, class Parts>
[[nodiscard]] detail::co_move<Sync> resume_on(basic_coro_pool<Sync, Parts>& pool) {
    return detail::co_move<Sync>(pool.host(), pool.is_started());
}
// co_await yield_turn(): lets the jobs that wait in the pool run first.
[[nodiscard]] inline detail::co_yield_turn yield_turn() { return {}; }

}  // namespace apiary
