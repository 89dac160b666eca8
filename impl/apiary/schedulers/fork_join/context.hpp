// fork_context: the worker that fork_join passes to a callable. It has the worker's jobs (fork_list), and finds help
// and helps others. The engine uses it as the worker's ready work.
//
// When to use it. As the `w` of `[](auto& w) { … }`: with it fork_join(w, f, g) needs no thread_local. It belongs to
// one thread: use it only while the callable runs, and on no other thread. A fork through another thread's worker is an
// assertion. Without assertions it throws std::logic_error if that worker has just been asked for a job, and goes
// unseen otherwise.
//
// The law of help. A worker that waits for a stolen job runs descendants of that job and nothing else (fork_list I3).
// README.md says what follows for locks and for stacks.
//
// Threads.   look_for_offers, offers, ask_all: its worker's thread. The rest: fork_join calls it there.
// Progress.  join blocks until the job has been run; it helps, spins for linger_ns, and then sleeps.
// Checked by model_check/schedulers/fork_join. Stressed by stress/schedulers/fork_join.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <apiary/queues/fork_list.hpp>
#include <apiary/tasks/job.hpp>
#include <apiary/workers/counters.hpp>
#include <apiary/workers/no_ready_work.hpp>
#include <apiary/workers/no_sources.hpp>

namespace apiary {

// The address of an object on a stack, for immediate use. Otherwise g++ computes the address once and keeps it in a
// register until its last use, which costs a push and a pop in every call.
template <class T>
[[gnu::always_inline]] inline T* address_anew(T& object) noexcept {
#if defined(__x86_64__) && !defined(__clang__)
    T* address;
    asm("lea %1, %0" : "=r"(address) : "m"(object));
    return address;
#else
    return &object;
#endif
}

// Thrown by a fork that finds less than fork_join_config::stack_reserve of its stack left. Nothing of that fork has
// run.
struct fork_too_deep : std::length_error {
    using std::length_error::length_error;
};

template <class Sync, class Pool, class Limits = fork_list_limits>
class fork_context : public no_ready_work<Sync, job<Sync>> {
public:
    using sync = Sync;
    using list = fork_list<Sync, Limits>;
    using fork_type = fork_job<Sync>;

    // For the engine: other workers may take offers, and an offer is made without a seq_cst access (idle_set S2).
    static constexpr bool shared = true;
    bool deque_looks_empty() const { return list_.look() == 0; }

    void belongs_to(Pool& pool, unsigned index) { pool_ = &pool, index_ = index; }
    // A caller takes this seat, and so another stack. As in a new list, its first fork then looks for a sleeping
    // worker.
    void begin_on_stack(std::uintptr_t lowest) {
        calls_.add();
        list_.limit_stack(lowest);
        list_.ask();
    }
    Pool& pool() const { return *pool_; }
    unsigned index() const { return index_; }
    // The worker that the thread was before it took this one, a seat of another pool; null if it was none. Only for the
    // worker's own thread.
    fork_context* outer() const { return outer_.read(); }
    void set_outer(fork_context* w) { outer_.write(w); }
    // Whether the calling thread is this worker. Always true for a pool that cannot tell.
    bool is_here() const {
        if constexpr (requires { Pool::current(); }) {
            const fork_context* w = Pool::current();
            while (w != this && w != nullptr) w = w->outer();
            return w == this;
        } else {
            return true;
        }
    }
    list& jobs() { return list_; }
    // True if a worker without work waits for a job: a loop that can be divided is divided now. The next fork, or the
    // next job of a scope, answers the request.
    bool asked() const {
        const char here{};
        return list_.asked(&here);
    }

    // Forks. Callers are inlined, so these instructions are the price of a fork. True: call answer() before the forked
    // job runs.
    [[nodiscard, gnu::always_inline]] bool fork(fork_type& j) {
        assert(is_here() && "fork_join: a branch forks by another worker than its own");
        fork_type* const address = address_anew(j);
        list_.push(j, address);
        return list_.asked(address);
    }
    [[gnu::noinline, gnu::cold]] void answer(fork_type& j) {
        if (!is_here()) {
            (void)list_.pop(j);
            throw std::logic_error(
                "fork_join: a branch forks by another worker than its own; give it one: [](auto& w) { … }, not [&w] { "
                "… }");
        }
        if (reinterpret_cast<std::uintptr_t>(&j) < list_.lowest()) {
            (void)list_.pop(j);
            throw fork_too_deep(
                "fork_join: the stack of this worker nears its end; recursion is too deep for the function form");
        }
        offer_oldest();
    }
    // True: the caller has the job, and must run it. False: a thief has run it, and the job's progress says how it
    // ended.
    [[nodiscard, gnu::always_inline]] bool join(fork_type& j) {
        if (list_.pop_unlinked(j)) [[likely]]
            return true;
        return join_shown(*address_anew(j));
    }

    // For use between jobs that do not fork: a worker that has asked since the last fork gets the oldest private job.
    [[gnu::always_inline]] void share() {
        if (asked()) [[unlikely]]
            offer_oldest();
    }

    // Takes and runs one job that another worker offers; if none is offered, asks all of them for one. Calls `found()`
    // before the job runs.
    template <class Found>
    bool look_for_offers(unsigned start, Found found) {
        const unsigned all = pool_->lists();
        for (unsigned i = 0; i < all; ++i) {
            const unsigned victim = (start + i) % all;
            if (victim == index_) continue;
            fork_context& v = pool_->context_of(victim);
            const typename list::word offer = v.list_.look();
            if (offer == 0) {
                v.list_.ask();
                continue;
            }
            fork_type* const j = v.list_.take(offer);
            if (j == nullptr) continue;
            found();
            if (pool_->somebody_sleeps()) v.list_.ask();  // a worker still sleeps: ask for one more job
            run(*j, v);
            return true;
        }
        return false;
    }
    void ask_all() {
        for (unsigned i = 0; i < pool_->lists(); ++i)
            if (i != index_) pool_->context_of(i).list_.ask();
    }

    std::uint64_t calls() const { return calls_.get(); }
    std::uint64_t handed_out() const { return handed_out_.get(); }
    std::uint64_t stolen() const { return stolen_.get(); }
    std::uint64_t slept() const { return slept_.get(); }
    std::uint64_t lost_exceptions() const { return lost_exceptions_.get(); }
    void lose_exception() { lost_exceptions_.add(); }

private:
    [[gnu::noinline, gnu::cold]] void offer_oldest() {
        if (!list_.hand_out()) return;
        handed_out_.add();
        // A joiner that sleeps until this worker's job has ended may take no job but this offer: wake it first.
        if (const auto joiner = list_.joiner_slept()) {
            Sync::reach("fork_context.called_its_joiner");
            pool_->wake(*joiner);
        } else {
            pool_->wake_one();
        }
    }

    // Joins a job that a hand-out has offered, or has only passed over.
    [[gnu::noinline, gnu::cold]] bool join_shown(fork_type& j) {
        if (list_.pop_linked(j)) {
            Sync::reach("fork_context.passed_over");
            return true;
        }
        assert(list_.empty() && "fork_join: joined before a job, or a scope, that is younger");  // fork_list I1
        if (list_.take_back(j)) {
            Sync::reach("fork_context.took_back");
            if (pool_->somebody_sleeps()) list_.ask();  // a worker sleeps, and none is on the way: the next fork offers
            return true;
        }
        wait_for(j);
        return false;
    }

    // Leapfrogging: helps the thief. A job cannot be over before the joiner can read its thief, so `seen` names the
    // thief.
    void wait_for(fork_type& j) {
        typename Pool::patience patience(*pool_);
        for (;;) {
            const fork_progress seen = list::held_or_over(j);
            if (seen.over()) return;
            if (help(seen))
                patience = typename Pool::patience(*pool_);
            else if (patience.over())
                sleep(j, seen);
            else
                patience.spend();
        }
    }
    // Runs one descendant of the job that the thief holds. The tag of no offer is 0, and no theft's.
    bool help(fork_progress seen) {
        fork_context& thief = pool_->context_of(seen.thief());
        const typename list::word offer = thief.list_.look();
        if (list::tag(offer) != seen.tag()) {
            thief.list_.ask();
            return false;
        }
        fork_type* const j = thief.list_.take(offer);
        if (j == nullptr) return false;
        Sync::reach("fork_context.leapt");
        run(*j, thief);
        return true;
    }
    void sleep(fork_type& j, fork_progress seen) {
        if (!list::wait_begins(j, seen)) return;
        const typename list::word offer = pool_->context_of(seen.thief()).list_.look();
        if (list::tag(offer) != seen.tag()) {
            slept_.add();
            pool_->wait(index_);
            Sync::reach("fork_context.slept");
        } else {
            Sync::reach("fork_context.stayed");
        }
        list::wait_ended(j, seen);
    }

    void run(fork_type& j, fork_context& from) {
        stolen_.add();
        const typename list::visit before = list_.begin(j, index_, from.index_);
        const bool failed = j.run.read()(j, this);
        from.list_.ask();  // before the joiner goes on: so its next fork sees that this worker is hungry
        if (list_.end(j, failed, before)) pool_->wake(from.index_);
    }

    list list_;
    Pool* pool_ = nullptr;
    unsigned index_ = 0;
    // A cell: the next caller that takes the seat writes it, and a checker sees a read that comes too late.
    typename Sync::template cell<fork_context*> outer_{nullptr};
    tally<Sync> calls_, handed_out_, stolen_, slept_, lost_exceptions_;
};

// The sources of a worker: besides roots it takes what other workers offer. No task is posted to one worker alone.
template <class Crew, class Worker>
class fork_sources : public no_sources<Crew, Worker> {
    using base = no_sources<Crew, Worker>;
    using base::self;

public:
    void enter(unsigned id) {
        base::enter(id);
        self().ready_.belongs_to(self().owner(), self().index());
    }
    // Runs one job that another worker offers, because work that has begun comes before new roots. A worker that has
    // just run something goes on looking for linger_ns: the next fork is probably near, and waking a sleeper would take
    // longer.
    bool run_some() {
        if (const std::uint64_t roots = self().books().tasks_run(); roots != roots_ || self().sleeper_.claimed()) {
            roots_ = roots;
            linger();
        }
        const auto start = self().random_.below(self().owner().lists());
        while (!self().owner().stopping()) {
            if (self().ready_.look_for_offers(start, [this] { found(); })) {
                linger();
                return true;
            }
            if (patience_.over() || !self().crew().pool().looks_empty()) break;
            patience_.spend();
        }
        return false;
    }
    // Only one root a turn: meanwhile others may offer work that has begun, which comes before the next root.
    bool urgent() const { return true; }
    // Called after the announcement of a sleep: asks all others once more. The engine looks at the offers themselves.
    bool visible() const {
        self().owner().context_of(self().index()).ask_all();
        return false;
    }

private:
    // As in worker::run_task: posts and offers have relied on this worker's search, which ends here.
    void found() {
        if (self().sleeper_.owes_a_look()) self().wake_the_next(false);
    }
    void linger() { patience_ = patience(self().owner()); }

    using patience = typename Crew::owner_type::patience;
    patience patience_;  // default: over, so the worker does not linger
    std::uint64_t roots_ = 0;
};

}  // namespace apiary
