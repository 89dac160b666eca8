// fork_join_pool: workers that fork and join, and the way in from other threads.
//
// When to use it. Once for a program, or for each part of it that shall not wait for another. `run`
// brings a call onto a worker; inside it fork_join, parallel_for and parallel_reduce divide the work.
//
// Threads. run, counters: any. run blocks its caller until the call is over; on a worker of this pool
//          it is a plain call. Construction and destruction: while no thread is in run.
// Idle.    A worker that has found nothing for linger_ns sleeps; it costs nothing then.
// Errors.  Construction: std::invalid_argument when a number is out of range, std::system_error when a
//          thread cannot be started. run: what the call throws.
// Memory.  None but the workers' own: roots lie on their callers' stacks, jobs on the workers'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <apiary/contract/scheduler.hpp>
#include <apiary/events/parker_driver.hpp>
#include <apiary/schedulers/fork_join/fork_join.hpp>
#include <apiary/schedulers/fork_join/stack_bounds.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/trace.hpp>

namespace apiary {

struct fork_join_config {
    unsigned workers = 0;                // 1 … 280; 0: as many as there are processors
    std::int64_t linger_ns = 100'000;    // so long a worker looks for work before it sleeps; 0: it sleeps at once
    std::size_t stack_reserve = 65'536;  // a fork that finds less of its stack left throws fork_too_deep
};

struct fork_join_counters {
    std::uint64_t roots = 0;            // calls that run brought onto a worker
    std::uint64_t handed_out = 0;       // jobs offered to other workers
    std::uint64_t stolen = 0;           // of them, taken
    std::uint64_t slept = 0;            // times that a joiner slept until its job was over
    std::uint64_t parked = 0;           // times that a worker without work slept
    std::uint64_t woken = 0;            // of them, ended by a root or an offer
    std::uint64_t lost_exceptions = 0;  // those that left a call in which another one travels
};

template <class Sync>
struct fork_join_parts {
    using clock = steady_clock<Sync>;
    using random = typename Sync::random_source;
    using trace = no_trace;
    static int processor() { return -1; }  // no rule of these workers asks for it
};

template <class Pool, class Sync>
struct fork_join_kind {
    using sync = Sync;
    using driver = parker_driver<Sync>;
    using task_type = job<Sync>;
    using parts = fork_join_parts<Sync>;
    using ready = fork_context<Sync, Pool>;
    template <class Crew, class Worker>
    using sources = fork_sources<Crew, Worker>;
    static constexpr worker_kind counted_as = worker_kind::compute;
};

template <class Sync = real_sync>
class basic_fork_join_pool {
    using kind = fork_join_kind<basic_fork_join_pool, Sync>;
    using crew_type = crew<basic_fork_join_pool, kind>;
    using worker_type = typename crew_type::worker_type;

public:
    using context = fork_context<Sync, basic_fork_join_pool>;

    explicit basic_fork_join_pool(const fork_join_config& config = {})
        : config_(config), workers_(number_of(config.workers)), crew_(*this, parameters()) {
        if (config.linger_ns < 0 || config.linger_ns > 10'000'000)
            throw std::invalid_argument("fork_join: linger_ns is " + std::to_string(config.linger_ns) +
                                        "; it can be 0 to 10000000");
        stopping_.store(false, std::memory_order_relaxed);
        for (unsigned i = 0; i != workers_; ++i) crew_.table().attach(crew_);
        try {
            for (unsigned i = 0; i != workers_; ++i) threads_.emplace_back([this, i] { run_worker(i); });
        } catch (...) {
            stop();
            throw;
        }
    }
    ~basic_fork_join_pool() { stop(); }
    basic_fork_join_pool(const basic_fork_join_pool&) = delete;
    basic_fork_join_pool& operator=(const basic_fork_join_pool&) = delete;

    // Calls f, with the worker if it takes one, on a worker of this pool, and returns or throws what it does.
    template <class F>
    auto run(F&& f) {
        if (context* here = current(); here != nullptr && &here->pool() == this) return detail::call_branch(f, *here);
        using callable = std::remove_reference_t<F>;
        root<callable> call(*this, f);
        if (!crew_.post(&call)) throw std::logic_error("fork_join: run was called while the pool is destroyed");
        {
            typename Sync::lock held(roots_mutex_);
            while (!call.over) root_over_.wait(held);
        }
        if (call.failed) std::rethrow_exception(call.outcome.take_error());
        if constexpr (std::is_void_v<detail::branch_returns<context, callable>>)
            return;
        else
            return call.outcome.take_value();
    }

    // The worker whose thread this is, of whichever pool; null elsewhere.
    static context* current() noexcept { return Sync::template current<context>(); }

    unsigned workers() const { return workers_; }
    fork_join_counters counters() const {
        fork_join_counters all;
        for (unsigned i = 0; i != workers_; ++i) {
            const context& c = context_of(i);
            all.handed_out += c.handed_out();
            all.stolen += c.stolen();
            all.slept += c.slept();
            all.lost_exceptions += c.lost_exceptions();
            const worker_counters engine = crew_.table()[i]->counters();
            all.parked += engine.parked;
            all.woken += engine.woken;
            all.roots += engine.run;
        }
        return all;
    }

    // For workers and their contexts.
    fork_context<Sync, basic_fork_join_pool>& context_of(unsigned i) const { return crew_.table()[i]->ready(); }
    void wake(unsigned i) { crew_.table()[i]->driver().wake(); }
    void wake_one() { crew_.wake_one(); }
    void wait(unsigned i) { crew_.table()[i]->driver().wait(kind::driver::forever); }
    bool somebody_sleeps() const { return crew_.sleepers().calls_for_a_wake(); }
    std::int64_t linger_ns() const { return config_.linger_ns; }
    bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
    bool discarding() const { return false; }
    auto& clock() { return clock_; }
    std::int64_t now_ns() const { return clock_.now_ns(); }
    const exception_handler& on_exception() const { return on_exception_; }
    typename Sync::mutex& mutex() { return mutex_; }

    // How long a worker looks on before it sleeps.
    class patience {
    public:
        patience() = default;  // over
        explicit patience(const basic_fork_join_pool& pool) : pool_(&pool), over_(pool.linger_ns() == 0) {}
        bool over() const { return over_; }
        void spend() {
            if (++spins_ % 32 != 0) return Sync::relax();
            const std::int64_t now = pool_->now_ns();
            if (until_ns_ == 0) until_ns_ = now + pool_->linger_ns();
            over_ = now >= until_ns_;
            if (!over_) std::this_thread::yield();
        }

    private:
        const basic_fork_join_pool* pool_ = nullptr;
        std::int64_t until_ns_ = 0;
        unsigned spins_ = 0;
        bool over_ = true;
    };

private:
    // A call from outside, on the stack of its caller.
    template <class F>
    struct root : job<Sync> {
        basic_fork_join_pool& pool;
        F& callable;
        detail::fork_outcome<detail::branch_result<context, F>> outcome;
        bool over = false, failed = false;  // by the pool's mutex for roots

        root(basic_fork_join_pool& p, F& f) : job<Sync>(&end), pool(p), callable(f) {}
        // Never dropped: the pool outlives every run, and a stop drains.
        static bool end(job<Sync>& self, job_end, any_worker* by) {
            auto& mine = static_cast<root&>(self);
            context& w = static_cast<worker_type*>(by)->ready();
            const bool threw = mine.outcome.run(mine.callable, w);
            basic_fork_join_pool& p = mine.pool;
            const typename Sync::lock held(p.roots_mutex_);
            mine.failed = threw, mine.over = true;
            p.root_over_.notify_all();  // the lock is the pool's: behind it the caller's frame is gone
            return true;
        }
    };

    static constexpr unsigned max_workers = crew_type::max_workers;

    static unsigned number_of(unsigned workers) {
        if (workers == 0) {
            const unsigned there = std::thread::hardware_concurrency();
            return there == 0 ? 1 : there < max_workers ? there : max_workers;
        }
        if (workers > max_workers)
            throw std::invalid_argument("fork_join: workers is " + std::to_string(workers) + "; it can be 1 to " +
                                        std::to_string(max_workers) + ", or 0 for the number of processors");
        return workers;
    }
    // The contexts linger by themselves, and offers come from one worker at a time: none of the engine's own patience.
    static worker_parameters parameters() { return {.global_batch = 1, .looks_before_sleep = 0, .naps = 0}; }

    void run_worker(unsigned i) {
        context& c = context_of(i);
        c.jobs().limit_stack(stack_floor(config_.stack_reserve));
        Sync::set_current(&c);
        crew_.table()[i]->run();
    }
    void stop() {
        crew_.close();
        stopping_.store(true, std::memory_order_seq_cst);
        {
            const typename Sync::lock held(mutex_);
            crew_.wake_all();
        }
        for (std::thread& t : threads_) t.join();
        threads_.clear();
    }

    const fork_join_config config_;
    const unsigned workers_;
    typename kind::parts::clock clock_;
    exception_handler on_exception_;
    typename Sync::mutex mutex_, roots_mutex_;
    typename Sync::condvar root_over_;
    typename Sync::template atomic<bool> stopping_;
    crew_type crew_;
    std::vector<std::thread> threads_;
};

using fork_join_pool = basic_fork_join_pool<>;

// On a worker of a fork_join_pool. Elsewhere: throws std::logic_error.
template <class F, class G, class... More>
    requires(!std::is_base_of_v<fork_join_pool::context, std::remove_cvref_t<F>>)
auto fork_join(F&& f, G&& g, More&&... more) {
    fork_join_pool::context* here = fork_join_pool::current();
    if (here == nullptr)
        throw std::logic_error("fork_join: this thread is no worker of a fork_join_pool; call it inside pool.run(…)");
    return fork_join(*here, std::forward<F>(f), std::forward<G>(g), std::forward<More>(more)...);
}

}  // namespace apiary
