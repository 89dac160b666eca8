// io_worker: one IO worker of a hive: private queue, stealable deque, timers, inbox, and the beat in
// which it looks at them.
//
// Threads. run, post_local: the thread that runs this worker. inbox, core().wake, timers_pending,
//          the counts: any. The other workers of the hive steal from the deque.
//
// The beat (seed 002 section 2.3), one turn of run():
//   1  events of the core                     5  a batch from the global pool
//   2  inbox -> private queue and timers      6  steal
//   3  timers that are due                    7  sleep, after a last look at every source
//   4  private queue, then deque
//
// Where this departs from the seed's listing, and why: DECISIONS.md D5 to D9 and D13.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <apiary/contract/stats.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/queues/chase_lev_deque.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/schedulers/hive/task_runner.hpp>
#include <apiary/tasks/task.hpp>
#include <apiary/timers/timer_heap.hpp>

namespace apiary {

template <class Sync, class Core, class Storage>
class hive_core;

// Small under a checker, which then meets growth and overflow within a few tasks.
template <class Sync>
struct hive_deque_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = Sync::checked ? 1 : 256;
    static constexpr std::size_t max_capacity = Sync::checked ? 2 : 4096;  // beyond, tasks go to the global pool
};

template <class Sync, class Core, class Storage>
class io_worker {
public:
    using task_type = task<Sync>;
    using hive = hive_core<Sync, Core, Storage>;
    using deque_type = chase_lev_deque<task_type*, Sync, hive_deque_limits<Sync>>;
    static constexpr std::size_t max_batch = 64;  // the largest hive_parameters::global_batch

    io_worker(hive& h, unsigned id)
        : hive_(h), id_(id), sleeper_(id, h.idle_io(), core_), random_(id + 1), own_(deque_.own()) {}

    // Until the hive is stopped. At the end every task this worker held was run or dropped. A worker that
    // gets no memory for its own books ends the program.
    void run() noexcept {
        while (!hive_.stopping()) {
            if (!turn()) sleep();
        }
        finish();
    }

    // What was posted to a worker that never ran.
    ~io_worker() {
        collect_inbox();
        while (task_type* t = private_.pop_front()) runner_.drop(t);
        while (task_type* t = timers_.pop()) runner_.drop(t);
    }
    io_worker(const io_worker&) = delete;
    io_worker& operator=(const io_worker&) = delete;

    // From a task on this worker. False: the hive has been stopped, and the task is still the caller's.
    [[nodiscard]] bool post_local(task_type* t) {
        if (hive_.stopping()) return false;
        if (!own_.try_push(t)) {
            overflows_.add();
            return hive_.post(t);
        }
        Sync::fence(std::memory_order_seq_cst);  // idle_set S2: the deque before the word
        hive_.wake_one_io();
        return true;
    }

    // From a task on this worker; never early.
    [[nodiscard]] bool post_local_delayed(task_type* t) {
        if (hive_.stopping()) return false;
        timers_.add(t);
        return true;
    }

    mpsc_inbox<task_type, Sync>& inbox() { return inbox_; }
    Core& core() { return core_; }
    hive& owner() { return hive_; }
    std::size_t timers_pending() const { return timers_.size(); }
    const task_runner<Sync, Storage>& books() const { return runner_; }
    std::uint64_t parks() const { return parks_.get(); }
    std::uint64_t steals() const { return steals_.get(); }
    std::uint64_t overflows() const { return overflows_.get(); }

private:
    // One beat. False when there was nothing to do.
    bool turn() {
        core_.poll();
        collect_inbox();
        bool worked = run_due_timers();
        worked |= run_local();
        if (!worked || --turns_to_probe_ == 0) {
            turns_to_probe_ = hive_.parameters().global_probe_interval;
            if (worked) run_oldest_own();
            worked |= run_from_pool();
        }
        return worked || steal();
    }

    void collect_inbox() { sort_in(inbox_.drain()); }

    void sort_in(fifo_list<task_type> arrived) {
        while (task_type* t = arrived.pop_front()) {
            if (t->deadline_ns == 0)
                private_.push_back(t);
            else
                timers_.add(t);
        }
    }

    bool run_due_timers() {
        if (timers_.empty()) return false;
        bool any = false;
        const std::int64_t now = Sync::now_ns();
        while (task_type* t = timers_.pop_due(now)) {
            any = true;
            run_task(t);
            if (hive_.stopping()) break;
        }
        return any;
    }

    // What nobody else may run, then what others may steal, until the budget is used up, something has
    // come for this worker alone, or a timer is due.
    bool run_local() {
        std::size_t left = hive_.parameters().local_budget;
        for (; left > 0 && !hive_.stopping(); --left) {
            task_type* t = private_.pop_front();
            if (t == nullptr && !own_.try_pop(t)) break;
            run_task(t);
            if (!inbox_.looks_empty() || timer_due()) return true;
        }
        return left != hive_.parameters().local_budget;
    }

    // Asks the clock only when there is something to ask for.
    bool timer_due() const { return !timers_.empty() && timers_.next_deadline() <= Sync::now_ns(); }

    // The deque is last in, first out: without this a task that posts its successor for ever would bury
    // the others. The owner's thread may steal like any other.
    void run_oldest_own() {
        const auto oldest = deque_.share().steal();
        if (oldest.status == steal_status::taken) run_task(oldest.value);
    }

    bool run_from_pool() {
        std::array<task_type*, max_batch> batch;
        // No more than can be made stealable; the first one runs at once.
        const std::size_t room = deque_type::limits::max_capacity - own_.size() + 1;
        const std::size_t most = std::min({hive_.parameters().global_batch, max_batch, room});
        const std::size_t n = hive_.pool().take(std::span(batch).first(most), hive_.io().size());
        if (n == 0) return false;
        // The producer's core wrote them last: ask for all their lines at once.
        for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(batch[i]);
        // All but the first become stealable before it runs. Pushed newest first, so that the owner
        // pops them in the order they were posted.
        for (std::size_t i = n; i-- > 1;)
            if (!own_.try_push(batch[i])) private_.push_front(batch[i]);  // no memory: this worker runs it itself
        run_task(batch[0], n > 1 || !hive_.pool().looks_empty());
        return true;
    }

    bool steal() {
        const auto& peers = hive_.io();
        const auto count = static_cast<unsigned>(peers.size());
        if (count == 1) return false;
        for (unsigned round = 0; round < hive_.parameters().steal_rounds; ++round) {
            const unsigned start = random_.below(count);
            bool contended = false;
            for (unsigned i = 0; i < count; ++i) {
                const unsigned victim = (start + i) % count;
                if (victim == id_) continue;
                const auto stolen = peers[victim]->deque_.share().steal();
                if (stolen.status == steal_status::taken) {
                    steals_.add();
                    run_task(stolen.value);
                    return true;
                }
                contended |= stolen.status == steal_status::lost_race;
            }
            if (!contended) return false;
        }
        return false;
    }

    void sleep() {
        parks_.add();
        sleeper_.sleep(timers_.next_deadline(), [this] { return work_visible(); });
    }

    // Every source that this worker may take from. Timers are in the deadline of the sleep.
    bool work_visible() const { return !inbox_.looks_empty() || shared_work_visible() || hive_.stopping(); }

    // `left_more`: the caller has taken the task from among others, or has just made others visible.
    // Then, or when posts have counted on this worker's search, the next worker is woken before the
    // task runs, since it may take long.
    void run_task(task_type* t, bool left_more = false) {
        if (sleeper_.found_work())
            left_more = left_more || shared_work_visible();
        else if (left_more)
            Sync::fence(std::memory_order_seq_cst);  // idle_set S2: the deque before the word
        if (left_more) hive_.wake_one_io();
        runner_.run(t);
    }

    // What any worker may take.
    bool shared_work_visible() const {
        if (!hive_.pool().looks_empty()) return true;
        for (const auto& peer : hive_.io())
            if (!peer->deque_.share().looks_empty()) return true;
        return false;
    }

    // After the stop: everything that this worker holds, and what is left in the pool, is run or dropped.
    void finish() {
        sort_in(inbox_.close());  // from here on post_to is refused
        if (!hive_.discarding()) {
            const std::int64_t now = timers_.empty() ? 0 : Sync::now_ns();
            while (task_type* t = timers_.pop_due(now)) private_.push_back(t);
        }
        while (task_type* t = timers_.pop()) runner_.drop(t);
        for (;;) {
            task_type* t = private_.pop_front();
            if (t == nullptr && !own_.try_pop(t)) t = hive_.pool().take_one();
            if (t == nullptr) {
                // Posts are refused by now, so what others still hold only gets less.
                if (!hive_.discarding() && steal()) continue;
                break;
            }
            if (hive_.discarding())
                runner_.drop(t);
            else
                run_task(t);
        }
        (void)sleeper_.found_work();  // leave the idle set as a running worker
    }

    // This worker's own.
    hive& hive_;
    const unsigned id_;
    sleeper<Sync, Core> sleeper_;
    typename Sync::random_source random_;
    fifo_list<task_type> private_;
    timer_heap<task_type, Sync> timers_;
    std::size_t turns_to_probe_ = hive_.parameters().global_probe_interval;
    task_runner<Sync, Storage> runner_;
    tally<Sync> parks_, steals_, overflows_;

    // Others' too.
    mpsc_inbox<task_type, Sync> inbox_;
    Core core_;
    deque_type deque_;
    typename deque_type::owner own_;
};

}  // namespace apiary
