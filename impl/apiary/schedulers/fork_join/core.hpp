// fork_core: a fork_join_pool without its threads: the crew, the way in from other threads, and the counters.
//
// When to use it. Through fork_join_pool, which starts a thread for each worker; in checks that step a worker by hand.
// When not: in programs.
//
// A seat is a worker of the crew without a thread. It has a list, which other workers scan like any other worker's. A
// caller that finds a free seat acts as that worker during its call. It never looks for roots, and sleeps only at a
// join, so the idle word does not include it.
//
// Threads.   run, counters: any. run_worker: one thread for each worker. request_stop: once, after the last run.
// Progress.  run blocks its caller, unless the caller is a worker of this pool or takes a seat. A worker that blocks in
//            another pool's run serves nothing meanwhile.
// Synchronisation: front_end S1; idle_set S1, S2 (heavy fences: shared_fence); fork_list; thread_latch; and
//   S1  A caller leaves its seat (release) -> the next caller takes it (acquire): the list is the owner's own.
// Checked by model_check/schedulers/fork_join. Stressed by stress/schedulers/fork_join.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <type_traits>

#include <apiary/contract/scheduler.hpp>
#include <apiary/parking/shared_fence.hpp>
#include <apiary/schedulers/fork_join/fork_join.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/thread_latch.hpp>

namespace apiary {

struct fork_join_counters {
    std::uint64_t roots = 0;            // calls of run that a worker executed
    std::uint64_t seated = 0;           // calls of run that their callers executed in a seat
    std::uint64_t handed_out = 0;       // jobs that were offered to other workers
    std::uint64_t stolen = 0;           // offered jobs that another worker took
    std::uint64_t slept = 0;            // how often a joiner slept until its job was over
    std::uint64_t parked = 0;           // how often a worker without work slept
    std::uint64_t woken = 0;            // how many of these sleeps a root or an offer ended
    std::uint64_t lost_exceptions = 0;  // exceptions dropped because the call already has one
};

template <class Sync>
struct fork_join_parts : default_parts<Sync> {
    static int processor() { return -1; }  // no rule of these workers reads it
};

template <class Core, class Sync, class Parts>
struct fork_join_kind : default_kind<Sync, Parts> {
    using ready = fork_context<Sync, Core>;
    template <class Crew, class Worker>
    using sources = fork_sources<Crew, Worker>;
};

template <class Sync, class Parts = fork_join_parts<Sync>>
class fork_core : public front_end<Sync, Parts> {
    using kind = fork_join_kind<fork_core, Sync, Parts>;

public:
    using crew_type = crew<fork_core, kind>;
    using worker_type = typename crew_type::worker_type;
    using context = fork_context<Sync, fork_core>;
    static constexpr unsigned max_workers = crew_type::max_workers;  // including the seats
    static constexpr unsigned max_callers = 64;

    fork_core(unsigned workers, const worker_parameters& parameters, std::int64_t linger_ns = 0, unsigned callers = 0,
              std::size_t stack_reserve = 0)
        : workers_(workers),
          lists_(workers + callers),
          linger_ns_(linger_ns),
          stack_reserve_(stack_reserve),
          crew_(*this, parameters) {
        free_seats_.store(callers == 0 ? 0 : ~std::uint64_t{0} >> (max_callers - callers), std::memory_order_relaxed);
        for (unsigned i = 0; i != lists_; ++i) crew_.table().attach(crew_);
    }

    // Calls f on a worker of this pool or in a seat, and passes the worker to it if f takes one. Returns f's result, or
    // throws f's exception.
    template <class F>
    auto run(F&& f) {
        for (context* mine = current(); mine != nullptr; mine = mine->outer()) {
            if (&mine->pool() != this) continue;
            const in_front again(*mine);
            return detail::call_branch(f, *mine);
        }
        if (const seat mine(*this); mine) return detail::call_branch(f, *mine);
        using callable = std::remove_reference_t<F>;
        typename Sync::template scoped<root<callable>> on_stack(f);
        root<callable>& call = *on_stack;
        if (!crew_.post(&call)) throw std::logic_error("fork_join: run was called while the pool is destroyed");
        call.over.wait();
        if (call.failed.read()) std::rethrow_exception(call.outcome.take_error());
        if constexpr (std::is_void_v<detail::branch_returns<context, callable>>)
            return;
        else
            return call.outcome.take_value();
    }

    // The worker, of any pool, that the calling thread is; null on other threads. A thread in several seats is several
    // workers: the result is that of the innermost call.
    static context* current() noexcept { return Sync::template current<context>(); }

    fork_join_counters counters() const {
        const worker_counters engine = crew_.counters();
        fork_join_counters all{.roots = engine.run, .parked = engine.parked, .woken = engine.woken};
        for (unsigned i = 0; i != lists_; ++i) {
            const context& c = context_of(i);
            all.seated += c.calls();
            all.handed_out += c.handed_out();
            all.stolen += c.stolen();
            all.slept += c.slept();
            all.lost_exceptions += c.lost_exceptions();
        }
        return all;
    }

    // Runs worker i on the calling thread until the stop.
    void run_worker(unsigned i) noexcept {
        context_of(i).jobs().limit_stack(floor_of_this_stack());
        enter_thread(i);
        worker(i).run();
        Sync::template set_current<context>(nullptr);
    }
    void enter_thread(unsigned i) { Sync::set_current(&context_of(i)); }
    worker_type& worker(unsigned i) { return *crew_.table()[i]; }
    void request_stop() { this->stop_crews(stop_mode::drain, crew_); }

    // For workers and their contexts.
    unsigned workers() const { return workers_; }
    unsigned lists() const { return lists_; }  // all workers and seats; the workers come first
    context& context_of(unsigned i) const { return crew_.table()[i]->ready(); }
    void wake(unsigned i) { crew_.table()[i]->driver().wake(); }
    void wake_one() { crew_.wake_one(); }
    void wait(unsigned i) { crew_.table()[i]->driver().wait(kind::driver::forever); }
    bool somebody_sleeps() const { return crew_.sleepers().calls_for_a_wake(); }
    std::int64_t linger_ns() const { return linger_ns_; }
    // Workers call it before a sleep, and where a search ends (crew_owner). Many do so at once.
    void pass_fence() { fences_.pass(); }

    // How long a worker goes on looking before it sleeps.
    class patience {
    public:
        patience() = default;  // over
        explicit patience(const fork_core& core) : core_(&core), over_(core.linger_ns() == 0) {}
        bool over() const { return over_; }
        void spend() {
            if (++spins_ % 32 != 0) return Sync::relax();
            const std::int64_t now = core_->now_ns();
            if (until_ns_ == 0) until_ns_ = now + core_->linger_ns();
            over_ = now >= until_ns_;
            if (!over_) Sync::yield();
        }

    private:
        const fork_core* core_ = nullptr;
        std::int64_t until_ns_ = 0;
        unsigned spins_ = 0;
        bool over_ = true;
    };

    // Seats the calling thread for one call. Takes no seat if none is free, or if the caller runs on a stack that is
    // not its thread's (a fiber), because the end of such a stack is unknown. Used by run, and by checks of it.
    class seat {
    public:
        explicit seat(fork_core& core) : core_(core) {
            std::uint64_t free = core.free_seats_.load(std::memory_order_relaxed);
            if (free == 0 || !on_own_stack() || core.stopping()) return;
            while (free != 0) {
                const std::uint64_t rest = free & (free - 1);
                if (!core.free_seats_.compare_exchange_weak(free, rest, std::memory_order_acquire,  // S1
                                                            std::memory_order_relaxed))
                    continue;
                bit_ = free ^ rest;
                context_ = &core.context_of(core.workers_ + static_cast<unsigned>(std::countr_zero(free)));
                context_->set_outer(current());  // the caller may be a worker of another pool
                context_->begin_on_stack(core.floor_of_this_stack());
                Sync::set_current(context_);
                return;
            }
        }
        ~seat() {
            if (context_ == nullptr) return;
            Sync::set_current(context_->outer());
            core_.free_seats_.fetch_or(bit_, std::memory_order_release);  // S1
        }
        seat(const seat&) = delete;
        seat& operator=(const seat&) = delete;
        explicit operator bool() const { return context_ != nullptr; }
        context& operator*() const { return *context_; }

    private:
        fork_core& core_;
        context* context_ = nullptr;
        std::uint64_t bit_ = 0;
    };

private:
    // If the calling thread is several workers, makes one of them the innermost during a call. Calls end in the reverse
    // order of their beginnings, so the destructor restores the chain.
    class in_front {
    public:
        explicit in_front(context& c) : mine_(c), rest_(c.outer()) {
            for (context* inner = current(); inner != &c; inner = inner->outer()) last_before_ = inner;
            if (last_before_ == nullptr) return;
            last_before_->set_outer(rest_);
            mine_.set_outer(current());
            Sync::set_current(&mine_);
        }
        ~in_front() {
            if (last_before_ == nullptr) return;
            Sync::set_current(mine_.outer());
            mine_.set_outer(rest_);
            last_before_->set_outer(&mine_);
        }
        in_front(const in_front&) = delete;
        in_front& operator=(const in_front&) = delete;

    private:
        context& mine_;
        context* const rest_;
        context* last_before_ = nullptr;
    };

    static bool on_own_stack() { return Sync::stack().contain(__builtin_frame_address(0)); }
    std::uintptr_t floor_of_this_stack() const { return Sync::stack().floor(stack_reserve_); }

    // A call of run from a thread without a seat. It lies on the caller's stack.
    template <class F>
    struct root : job<Sync> {
        F& callable;
        detail::fork_outcome<detail::branch_result<context, F>> outcome;
        typename Sync::template cell<bool> failed{false};
        thread_latch<Sync> over;

        explicit root(F& f) : job<Sync>(&end), callable(f) {}
        // Never told to drop: the pool outlives every run, and its stop drains.
        static bool end(job<Sync>& self, job_end, any_worker* by) {
            auto& mine = static_cast<root&>(self);
            mine.failed.write(mine.outcome.run(mine.callable, static_cast<worker_type*>(by)->ready()));
            mine.over.count_down();  // the caller's frame, and this object in it, may be gone from here on
            return true;
        }
    };

    const unsigned workers_, lists_;
    const std::int64_t linger_ns_;
    const std::size_t stack_reserve_;
    typename Sync::template atomic<std::uint64_t> free_seats_;
    shared_fence<Sync> fences_;
    crew_type crew_;
};

}  // namespace apiary
