// hive_core: what the workers of a hive share, and the protocol of posting to them.
//
// A template over Sync, the core that IO workers block in, and the storage of tasks, so that the model
// checks run the shipped scheduler itself: hive.hpp only adds threads to it.
//
// Threads. Everything: any thread, after the constructor has returned.
//
// Who must wake whom (README.md has the argument)
//   post         -> one sleeping IO worker, unless one searches (idle_set)
//   post_to      -> that worker, when its inbox was empty and it sleeps
//   post_local   -> one sleeping IO worker, which may steal it; none for a task alone in its deque while one naps
//   post_compute -> one sleeping compute worker, unless one searches
//   detach       -> the worker that is to leave
//   request_stop -> everybody
//
// Attach, detach and stop exclude each other by a mutex, so that a stop wakes every worker there is: one that
// is attached later sees the stop. Posting never takes it.
#pragma once

#include <cstdint>
#include <utility>

#include <apiary/contract/scheduler.hpp>
#include <apiary/parking/idle_set.hpp>
#include <apiary/queues/global_pool.hpp>
#include <apiary/schedulers/hive/compute_worker.hpp>
#include <apiary/schedulers/hive/io_worker.hpp>
#include <apiary/schedulers/hive/parameters.hpp>
#include <apiary/schedulers/hive/roster.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace apiary {

template <class Sync, class Core, class Storage, class Parts>
class hive_core {
public:
    using task_type = task<Sync>;
    using list = fifo_list<task_type>;
    using io_worker_type = io_worker<Sync, Core, Storage, Parts>;
    using compute_worker_type =
        compute_worker<hive_core, Sync, typename Parts::compute_core, Storage, typename Parts::trace>;

    // Precondition: 1 <= io_workers <= idle_set::max_workers, compute_workers <= the same.
    hive_core(unsigned io_workers, unsigned compute_workers, const hive_parameters& parameters,
              exception_handler on_exception = {})
        : parameters_(parameters), on_exception_(std::move(on_exception)) {
        stop_.store(running, std::memory_order_relaxed);
        search_began_ns_.store(0, std::memory_order_relaxed);
        for (unsigned n = 0; n < io_workers; ++n) io_.attach(*this);
        for (unsigned n = 0; n < compute_workers; ++n) compute_.attach(*this);
    }

    // Precondition: no worker runs. Drops what a stop before run() has left.
    ~hive_core() {
        // What a dropped callable's destructor posts is refused.
        request_stop(stop_mode::discard);
        for (auto* pool : {&pool_, &compute_pool_})
            while (task_type* t = pool->take_one()) discard<Storage>(t);
    }

    // The ways in. False: the hive has been stopped (or has no compute worker), and the task is still
    // the caller's.
    [[nodiscard]] bool post(task_type* t) {
        if (pool_.push(t) == push_result::closed) return false;
        wake_one_io_soon();
        return true;
    }
    // All or none.
    [[nodiscard]] bool post_list(list& tasks) {
        if (pool_.push_list(tasks) == push_result::closed) return false;
        wake_one_io_soon();
        return true;
    }
    // Also false when no worker of that id is in service.
    [[nodiscard]] bool post_to(unsigned id, task_type* t) {
        if (stopping()) return false;  // the inbox itself is closed by its worker, a moment later
        io_worker_type* worker = io_.find(id);
        if (worker == nullptr) return false;
        auto& mail = worker->mail();
        if (mail.id.read() != id) return false;
        const push_result pushed = mail.inbox.push(t);
        if (pushed == push_result::closed) {
            Sync::reach("hive.post_to_met_the_close");
            return false;
        }
        // Who found it empty wakes; whoever pushes behind relies on that (mpsc_inbox I2).
        if (pushed == push_result::was_empty && idle_io_.claim(worker->slot())) {
            Sync::reach("hive.post_to_woke");
            worker->wake();
        }
        return true;
    }
    [[nodiscard]] bool post_compute(task_type* t) {
        if (compute_.size() == 0 || compute_pool_.push(t) == push_result::closed) return false;
        wake_one_compute();
        return true;
    }

    // All or none.
    [[nodiscard]] bool post_compute_list(list& tasks) {
        if (compute_.size() == 0 || compute_pool_.push_list(tasks) == push_result::closed) return false;
        wake_one_compute();
        return true;
    }

    // The first call decides how. Refuses all later posts, and wakes everybody to see it.
    void request_stop(stop_mode how) noexcept {
        // The pools close before the flag is up: a worker that sees the flag (acquire) may end as soon
        // as the pool is empty, because nothing can come in any more.
        pool_.close();
        compute_pool_.close();
        std::uint8_t expected = running;
        if (!stop_.compare_exchange_strong(expected, static_cast<std::uint8_t>(how), std::memory_order_release,
                                           std::memory_order_relaxed))
            return;
        // A wake is a token: who is not asleep yet finds it when it tries to sleep.
        const typename Sync::lock held(roster_mutex_);
        for (unsigned i = 0; i < io_.size(); ++i) io_[i]->core().wake();
        for (unsigned i = 0; i < compute_.size(); ++i) compute_[i]->core().wake();
    }

    // A worker to be run by a new thread. Null: the hive has been stopped, or no slot is free. Passes on what the
    // making of its core throws.
    [[nodiscard]] io_worker_type* attach_io() { return attach(io_); }
    [[nodiscard]] compute_worker_type* attach_compute() { return attach(compute_); }

    // Returns at once: the worker hands over what it holds, and its run() returns.
    detach_result detach_io(unsigned id) { return id == 0 ? detach_result::main_worker : detach(io_, id); }
    detach_result detach_compute(unsigned id) { return detach(compute_, id); }

    // How many of each kind are in service.
    unsigned serving_io() { return serving(io_); }
    unsigned serving_compute() { return serving(compute_); }

    bool stopping() const { return stop_.load(std::memory_order_acquire) != running; }
    bool discarding() const {
        return stop_.load(std::memory_order_relaxed) == static_cast<std::uint8_t>(stop_mode::discard);
    }

    // Wakes at most one sleeper, and none while one that was woken is still looking.
    // `can_wait`: nor while one naps, who will look. For workers, of what they have just made stealable.
    void wake_one_io(bool can_wait = false) {
        Sync::fence_light();  // idle_set S2
        const idle_word seen = idle_io_.look();
        if (Sync::checked || seen.calls_for_a_wake(can_wait)) [[unlikely]]  // a check is told why nobody was claimed
            claim_and_wake_io(seen, can_wait);
    }
    void wake_one_compute() {
        if (const auto slot = idle_compute_.claim_any()) {
            Sync::reach("hive.woke_one_compute");
            compute_[*slot]->core().wake();
        }
    }

    // For the workers.
    typename Parts::clock& clock() { return clock_; }
    std::int64_t now_ns() const { return clock_.now_ns(); }
    const exception_handler& on_exception() const { return on_exception_; }
    const hive_parameters& parameters() const { return parameters_; }
    global_pool<task_type, Sync>& pool() { return pool_; }
    global_pool<task_type, Sync>& compute_pool() { return compute_pool_; }
    idle_set<Sync>& idle_io() { return idle_io_; }
    idle_set<Sync>& idle_compute() { return idle_compute_; }
    const roster<io_worker_type, Sync>& io() const { return io_; }
    const roster<compute_worker_type, Sync>& compute() const { return compute_; }
    void left(const io_worker_type& w) { leave(io_, w.slot()); }
    void left(const compute_worker_type& w) { leave(compute_, w.slot()); }

private:
    // Out of line, so that a post that wakes nobody saves no registers for it.
    [[gnu::noinline]] void claim_and_wake_io(idle_word seen, bool can_wait) {
        if (const auto slot = idle_io_.claim_any(seen, can_wait, [] { return false; })) wake_io(*slot, true);
    }

    template <class Roster>
    auto attach(Roster& workers) -> decltype(workers.attach(*this)) {
        const typename Sync::lock held(roster_mutex_);
        if (stopping()) return nullptr;
        auto* worker = workers.attach(*this);
        Sync::fence_heavy();  // who falls asleep counts it, or it sees who does (idle_set::meet_pushers)
        return worker;
    }
    template <class Roster>
    detach_result detach(Roster& workers, unsigned id) {
        const typename Sync::lock held(roster_mutex_);
        return stopping() ? detach_result::stopped : workers.detach(id, 1);
    }
    template <class Roster>
    void leave(Roster& workers, unsigned slot) {
        const typename Sync::lock held(roster_mutex_);
        workers.left(slot);
    }
    template <class Roster>
    unsigned serving(Roster& workers) {
        const typename Sync::lock held(roster_mutex_);
        return workers.serving();
    }

    // The same for work that no worker is at. The one that looks may lie for milliseconds behind another thread, so its search
    // counts for search_ns from when it was called for. While it is late every post wakes a sleeper, as long as there is one.
    void wake_one_io_soon() {
        const idle_word seen = idle_io_.look();
        if (Sync::checked || seen.sleepers() != 0) [[unlikely]]  // a check is told why nobody was claimed
            claim_and_wake_io_soon(seen);
    }
    [[gnu::noinline]] void claim_and_wake_io_soon(idle_word seen) {
        if (parameters_.search_ns == hive_parameters::for_ever) return claim_and_wake_io(seen, false);
        bool late = false;
        const auto overdue = [&] {
            late = now_ns() - search_began_ns_.load(std::memory_order_relaxed) > parameters_.search_ns;
            return late;
        };
        const auto slot = idle_io_.claim_any(seen, false, overdue);
        if (slot) wake_io(*slot, !late);
    }
    void wake_io(unsigned slot, bool nobody_searched) {
        Sync::reach("hive.woke_one_io");
        if (nobody_searched && parameters_.search_ns != hive_parameters::for_ever)
            search_began_ns_.store(now_ns(), std::memory_order_relaxed);
        io_[slot]->wake();
    }

    static constexpr std::uint8_t running = 0;

    const hive_parameters parameters_;
    const exception_handler on_exception_;
    [[no_unique_address]] typename Parts::clock clock_;
    global_pool<task_type, Sync> pool_;
    global_pool<task_type, Sync> compute_pool_;
    idle_set<Sync> idle_io_;
    idle_set<Sync> idle_compute_;
    typename Sync::template atomic<std::uint8_t> stop_;
    typename Sync::template atomic<std::int64_t> search_began_ns_;  // the last one that was called for; a hint
    typename Sync::mutex roster_mutex_;
    roster<io_worker_type, Sync> io_;
    roster<compute_worker_type, Sync> compute_;
};

}  // namespace apiary
