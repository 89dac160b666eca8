// crew: the workers of one kind, their common parts, and the rule of who wakes whom.
//
// When to use it. A scheduler owns one for each kind of worker: a hive has an IO crew and a compute crew. When not: for
// threads that run no tasks. A crew starts no threads; its owner gives one to each worker's run() (front_end.hpp).
//
// `Kind` names the types of its workers (crew_kind), `Owner` is the scheduler (crew_owner). concepts.hpp lists their
// members, and front_end.hpp has the usual ones.
//
// Who must wake whom (schedulers/hive/README.md has the argument)
//   post, post_list   -> one sleeper, unless a worker searches (idle_set) whose search began less than search_ns ago
//   post_to           -> that worker, if its inbox was empty and it sleeps
//   a task's post     -> one sleeper, which may steal the task, unless a worker searches; for a task that is alone in
//                        its worker's slot and deque, also unless a worker naps
//   detach            -> the worker that is to leave
//
// Threads.   Any, after the owner's constructor has returned; wake_one and the functions marked for the workers: a
//            worker.
// Progress.  post, post_list, post_to, wake_one: lock-free. attach, detach, serving: take the owner's mutex. close:
//            takes the pool's.
// Invariants
//   I1  Every path that makes a task shared looks at the idle word afterwards, and wakes the worker that it claims
//       there.
//   I2  There are at most max_workers workers: a further attach gives null (README.md says why so many).
// Synchronisation: idle_set S1, S2, for each of the crew's idle sets; worker_table S1.
// Checked by model_check/schedulers/hive. Stressed by stress/schedulers/hive.
#pragma once

#include <cstdint>
#include <type_traits>

#include <apiary/contract/scheduler.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/parking/idle_sets.hpp>
#include <apiary/queues/fifo_list.hpp>
#include <apiary/queues/global_pool.hpp>
#include <apiary/workers/concepts.hpp>
#include <apiary/workers/idle_spin.hpp>
#include <apiary/workers/parameters.hpp>
#include <apiary/workers/worker.hpp>
#include <apiary/workers/worker_table.hpp>

namespace apiary {

template <class Owner, crew_kind Kind>
class crew {
    static auto idle_sets_of() {
        if constexpr (requires { typename Kind::parts::idle; })
            return std::type_identity<typename Kind::parts::idle>{};
        else
            return std::type_identity<idle_sets<typename Kind::sync>>{};
    }

public:
    using owner_type = Owner;
    using sync = typename Kind::sync;
    using driver = typename Kind::driver;
    using parts = typename Kind::parts;
    using ready = typename Kind::ready;
    static constexpr bool marks_pushes = Kind::marks_pushes;
    template <class Worker>
    using sources = typename Kind::template sources<crew, Worker>;
    static constexpr worker_kind counted_as = Kind::counted_as;
    using task_type = typename Kind::task_type;
    using list = fifo_list<task_type>;
    using worker_type = worker<crew>;
    using idle_type = typename decltype(idle_sets_of())::type;
    static constexpr unsigned max_workers = idle_type::max_workers;
    using table_type = worker_table<worker_type, sync, max_workers>;

    crew(Owner& owner, const worker_parameters& parameters)
        : owner_(owner), parameters_(parameters), idle_account_(parameters) {
        static_assert(crew_owner<Owner>);
        search_began_ns_.store(0, std::memory_order_relaxed);
    }
    // Precondition: no worker runs, and the crew is closed.
    ~crew() { drop_all(); }
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    // The ways in. False: the crew is closed, and the task is still the caller's.
    [[nodiscard]] bool post(task_type* t) {
        if (pool_.push(t) == push_result::closed) return false;
        wake_one_soon();
        return true;
    }
    // All or none.
    [[nodiscard]] bool post_list(list& tasks) {
        if (pool_.push_list(tasks) == push_result::closed) return false;
        wake_one_soon();
        return true;
    }
    // Also false if no worker of that id is in service.
    [[nodiscard]] bool post_to(unsigned id, task_type* t) {
        if (owner_.stopping()) return false;  // the worker itself closes its inbox, a moment later
        worker_type* worker = table_.find(id);
        if (worker == nullptr) return false;
        auto& mail = worker->sources().mail();
        if (mail.id.read() != id) return false;
        const push_result pushed = mail.inbox.push(t);
        if (pushed == push_result::closed) {
            sync::reach("crew.post_to_met_the_close");
            return false;
        }
        // The thread that found the inbox empty wakes the worker; those that push after it rely on that (mpsc_inbox
        // I2).
        if (pushed == push_result::was_empty && worker->claim()) {
            sync::reach("crew.post_to_woke");
            worker->wake();
        }
        return true;
    }

    // Refuses every later post. The tasks inside can still be taken.
    void close() noexcept { pool_.close(); }
    // Precondition: the owner's mutex is held. A wake is a token: a worker that is not asleep yet finds it when it goes
    // to sleep.
    void wake_all() {
        for (unsigned i = 0; i < table_.size(); ++i) table_[i]->driver().wake();
    }

    // Drops the tasks that are left in the pool and with workers. Precondition: none of these runs any more, and the
    // crew is closed. An owner of several crews calls it for each before the first of them is destroyed: the destructor
    // of a task's callable may post to another.
    void drop_all() {
        for (unsigned i = 0; i < table_.size(); ++i) table_[i]->drop_all();
        while (task_type* t = pool_.take_one()) t->drop();
    }

    // Adds a worker, to be run by a new thread. Null: the owner has been stopped, or no slot is free. Throws what the
    // constructor of its driver throws.
    [[nodiscard]] worker_type* attach() {
        const typename sync::lock held(owner_.mutex());
        if (owner_.stopping()) return nullptr;
        worker_type* worker = table_.attach(*this);
        // Either a worker that falls asleep counts the newcomer, or the newcomer sees its bit
        // (idle_set::fence_against_pushers).
        sync::fence_heavy();
        return worker;
    }
    // Returns at once: the worker hands over its work, and its run() returns. The last worker stays.
    detach_result detach(unsigned id) {
        const typename sync::lock held(owner_.mutex());
        return owner_.stopping() ? detach_result::stopped : table_.detach(id, 1);
    }
    // How many workers are in service.
    unsigned serving() {
        const typename sync::lock held(owner_.mutex());
        return table_.serving();
    }

    // The sum of its workers' counters, also while they run; its slot means nothing.
    worker_counters counters() const {
        worker_counters all;
        all.kind = counted_as;
        for (unsigned i = 0; i != table_.size(); ++i) all.add(table_[i]->counters());
        return all;
    }

    // Wakes at most one sleeper, and none while another worker still searches. `can_wait`: also none while one naps,
    // since it will look. For workers, after they have made work stealable.
    void wake_one(bool can_wait = false) {
        sync::fence_light();  // idle_set S2
        const idle_word seen = idle_.look();
        if (sync::checked || seen.calls_for_a_wake(can_wait)) [[unlikely]]  // a check is told why none was claimed
            claim_and_wake(seen, can_wait);
    }

    // The same for a post from outside, into the pool or into a queue of the owner's own that its workers look at. The
    // searcher may be descheduled for milliseconds, so its search counts for search_ns from its wake. While a search is
    // overdue every post wakes a sleeper, as long as there is one.
    void wake_one_soon() {
        const idle_word seen = idle_.look();
        if (sync::checked || seen.somebody_may_sleep()) [[unlikely]]  // a check is told why none was claimed
            claim_and_wake_soon(seen);
    }

    // The following are for the workers.
    const worker_parameters& parameters() const { return parameters_; }
    Owner& owner() { return owner_; }
    global_pool<task_type, sync>& pool() { return pool_; }
    idle_type& sleepers() { return idle_; }
    const idle_type& sleepers() const { return idle_; }
    idle_set<sync>& idle() { return idle_.of(0); }  // the first set; a small crew has no other
    const idle_set<sync>& idle() const { return idle_.of(0); }
    idle_account<sync>& account() { return idle_account_; }
    // Called by a worker that goes on searching: its search does not expire yet.
    void search_goes_on(std::int64_t now_ns) {
        if (parameters_.search_ns != worker_parameters::for_ever)
            search_began_ns_.store(now_ns, std::memory_order_relaxed);
    }
    // True if a search has begun and not gone on for search_ns. The worker may have lost its processor.
    bool search_is_overdue() const {
        return parameters_.search_ns != worker_parameters::for_ever &&
               owner_.now_ns() - search_began_ns_.load(std::memory_order_relaxed) > parameters_.search_ns;
    }
    table_type& table() { return table_; }
    const table_type& table() const { return table_; }
    void left(const worker_type& w) {
        const typename sync::lock held(owner_.mutex());
        table_.left(w.index());
    }

private:
    // Out of line, so that a post that wakes no worker saves no registers for it.
    [[gnu::noinline]] void claim_and_wake(idle_word seen, bool can_wait) {
        if (const auto slot = idle_.claim_any(seen, can_wait, [] { return false; })) wake(*slot, true);
    }

    [[gnu::noinline]] void claim_and_wake_soon(idle_word seen) {
        bool late = false;
        const auto slot = idle_.claim_any(seen, false, [&] { return late = search_is_overdue(); });
        if (slot) wake(*slot, !late);
    }
    void wake(unsigned slot, bool nobody_searched) {
        sync::reach("crew.woke_one");
        if (nobody_searched && parameters_.search_ns != worker_parameters::for_ever)
            search_began_ns_.store(owner_.now_ns(), std::memory_order_relaxed);
        table_[slot]->wake();
    }

    Owner& owner_;
    const worker_parameters parameters_;
    global_pool<task_type, sync> pool_;
    idle_type idle_;
    typename sync::template atomic<std::int64_t> search_began_ns_;  // a hint: when the last search began, or went on
    idle_account<sync> idle_account_;
    table_type table_;
};

}  // namespace apiary
