// compute_worker: one compute worker of a hive. It takes long tasks from a pool of their own, one at a
// time, so that none waits behind another while a worker sleeps.
//
// Threads. run: the thread that runs this worker. core().wake and the counts: any. enter_service,
//          ask_to_leave: the roster.
// Source:  seed 002 section 8, with a sleep that cannot lose a wake (exhibit A02).
#pragma once

#include <cstdint>

#include <apiary/parking/sleeper.hpp>
#include <apiary/schedulers/hive/counters.hpp>
#include <apiary/schedulers/hive/task_runner.hpp>

namespace apiary {

template <class Hive, class Sync, class Core, class Storage, class Trace>
class compute_worker {
public:
    using task_type = task<Sync>;

    compute_worker(Hive& h, unsigned slot) : hive_(h), slot_(slot), sleeper_(slot, h.idle_compute(), core_) {
        leaving_.store(false, std::memory_order_relaxed);
    }

    // Until this worker is detached, or the hive is stopped and, when it drains, the compute pool is empty.
    void run() noexcept {
        while (!leaving_.load(std::memory_order_relaxed)) {
            // The flag before the pool: it rises after the pool was closed, so an empty pool seen
            // afterwards stays empty.
            const bool last_look = hive_.stopping();
            if (turn()) continue;
            if (last_look) break;
            sleep();
        }
        // It leaves the idle set as a running worker. Posts have counted on its search, if it was searching.
        if (sleeper_.found_work() && !hive_.compute_pool().looks_empty()) {
            Sync::reach("hive.compute_search_passed_on");
            hive_.wake_one_compute();
        }
        hive_.left(*this);
    }

    void enter_service(unsigned id) {
        id_ = id;
        leaving_.store(false, std::memory_order_relaxed);
    }
    void ask_to_leave() {
        leaving_.store(true, std::memory_order_relaxed);  // the wake publishes it
        core_.wake();
    }
    unsigned slot() const { return slot_; }
    unsigned id() const { return id_; }    // with the roster's lock
    unsigned life() const { return id_; }  // by who attached it

    Core& core() { return core_; }
    const task_runner<Sync, Storage>& books() const { return runner_; }
    worker_counters counters() const {
        return {.kind = worker_kind::compute,
                .slot = slot_,
                .run = runner_.tasks_run(),
                .exceptions = runner_.exceptions(),
                .discarded = runner_.tasks_dropped(),
                .cancelled = runner_.tasks_cancelled(),
                .parked = tallies_.parked.get(),
                .woken = tallies_.woken.get(),
                .spurious = tallies_.spurious.get()};
    }
    const Trace& events() const { return trace_; }  // when the hive has ended

    // What run() is made of, for checks of one handshake: a hive that also ends has too many behaviours.
    bool turn_once() { return turn(); }  // false: there was nothing to do
    void sleep_once() { sleep(); }

private:
    bool turn() {
        task_type* t = hive_.compute_pool().take_one();
        if (t == nullptr) return false;
        end(t);
        return true;
    }

    void end(task_type* t) {
        // What is left must not wait for this one: wake the next worker, or pass the search on.
        (void)sleeper_.found_work();
        if (!hive_.compute_pool().looks_empty()) hive_.wake_one_compute();
        if (hive_.discarding()) return runner_.drop(t);
        std::int64_t from = 0;
        if constexpr (Trace::on) from = hive_.now_ns();
        runner_.run(t);
        if constexpr (Trace::on) trace_.span(Trace::kind::task, from, hive_.now_ns());
    }

    void sleep() {
        tallies_.parked.add();
        if (sleeper_.searching()) tallies_.spurious.add();
        std::int64_t from = 0;
        if constexpr (Trace::on) from = hive_.now_ns();
        sleeper_.sleep(Core::forever, [this] {
            return (Sync::recheck("hive.compute.pool") && !hive_.compute_pool().looks_empty()) || hive_.stopping();
        });
        if (sleeper_.searching()) tallies_.woken.add();
        if constexpr (Trace::on) {
            trace_.span(Trace::kind::park, from, hive_.now_ns());
            if (sleeper_.searching()) trace_.instant(Trace::kind::woken, hive_.now_ns(), slot_);
        }
    }

    Hive& hive_;
    const unsigned slot_;
    unsigned id_ = 0;
    typename Sync::template atomic<bool> leaving_;
    Core core_;
    sleeper<Sync, Core> sleeper_;
    task_runner<Sync, Storage> runner_{hive_.on_exception()};
    worker_tallies<Sync> tallies_;
    [[no_unique_address]] Trace trace_;
};

}  // namespace apiary
