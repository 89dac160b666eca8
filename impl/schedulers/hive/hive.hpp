// hive: IO workers with private queues, stealable deques and timers, and compute workers beside them.
//
//     apiary::hive h({.io_workers = 2});
//     h.post([&] { …; h.request_stop(); });
//     h.run();                                  // this thread is IO worker 0
//
// When to use it. For many small tasks that post each other, wait for deadlines, or must run on a
// certain thread; with compute workers for long ones. When not: for tasks that block, or wait for
// their children inside a worker.
//
// Threads. The posting calls and request_stop: any thread, and tasks. run: one thread, once.
//          Construction and destruction: while no other thread uses the hive.
// Memory.  No heap call per task in the steady state, for callables of up to 40 bytes.
// Order.   Tasks that one outside thread posts begin in the order of the posts as long as one worker
//          runs them; across workers there is none.
// Errors.  A posting call throws std::bad_alloc, or what copying the callable throws, and has then
//          posted nothing. An exception that leaves a task is counted (stop_report) and swallowed.
//
// Source: seed 002; DECISIONS.md D5 to D9 for the departures. The protocol: README.md beside this file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/contract/scheduler.hpp>
#include <apiary/parking/epoll_core.hpp>
#include <apiary/schedulers/hive/hive_core.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace apiary {

struct hive_config {
    unsigned io_workers = 1;  // 1 … 56; worker 0 is the thread that calls run()
    unsigned compute_workers = 0;
    hive_parameters parameters = {};
};

template <class Sync, class Core, class Storage>
class basic_hive {
    using core_type = hive_core<Sync, Core, Storage>;
    using task_type = typename core_type::task_type;
    using worker_type = typename core_type::io_worker_type;

public:
    // Throws std::invalid_argument when a number of workers is out of range.
    explicit basic_hive(const hive_config& config)
        : core_(in_range(config.io_workers, 1, "io_workers"), in_range(config.compute_workers, 0, "compute_workers"),
                config.parameters) {
        refused_.store(0, std::memory_order_relaxed);
    }

    // False: the hive has been stopped; the callable is destroyed without having run. The same holds
    // for every post below.
    template <class F>
    [[nodiscard]] bool post(F&& callable) {
        task_type* t = Storage::make(std::forward<F>(callable));
        worker_type* here = current();
        return accepted(here != nullptr ? here->post_local(t) : core_.post(t), t);
    }

    // Moves from every element. All of them or none: returns the size of the batch, or 0.
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_batch(std::span<F, Extent> callables) {
        if (callables.empty()) return 0;
        fifo_list<task_type> tasks;
        try {
            for (F& callable : callables) tasks.push_back(Storage::make(std::move(callable)));
        } catch (...) {
            discard(tasks);
            throw;
        }
        if (core_.post_list(tasks)) return callables.size();
        refused_.fetch_add(callables.size(), std::memory_order_relaxed);
        discard(tasks);
        return 0;
    }

    // Throws std::out_of_range for a worker that does not exist.
    template <class F>
    [[nodiscard]] bool post_to_worker(unsigned worker, F&& callable) {
        if (worker >= core_.io().size())
            throw std::out_of_range("post_to_worker: there is no IO worker " + std::to_string(worker) + "; there are " +
                                    std::to_string(core_.io().size()));
        task_type* t = Storage::make(std::forward<F>(callable));
        return accepted(core_.post_to(worker, t), t);
    }

    // Runs no earlier than `delay` from now; a negative delay counts as none. Of two random IO workers
    // the one with fewer timers keeps it (seed 002 section 5.4). A timer that is not due when the hive
    // stops is discarded.
    template <class F, class Rep, class Period>
    [[nodiscard]] bool post_delayed(F&& callable, std::chrono::duration<Rep, Period> delay) {
        const std::int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(delay).count();
        const std::int64_t deadline = Sync::now_ns() + (ns > 0 ? ns : 0);
        task_type* t = Storage::make(std::forward<F>(callable));
        t->deadline_ns = deadline;
        const unsigned worker = less_busy_of_two();
        worker_type* here = current();
        return accepted(here == core_.io()[worker].get() ? here->post_local_delayed(t) : core_.post_to(worker, t), t);
    }

    // Also false when the hive has no compute worker.
    template <class F>
    [[nodiscard]] bool post_compute(F&& callable) {
        task_type* t = Storage::make(std::forward<F>(callable));
        return accepted(core_.post_compute(t), t);
    }

    // Blocks until the hive was stopped and every worker has ended. Throws std::logic_error when called
    // a second time, std::system_error when a thread cannot be started (the hive is then stopped).
    void run() {
        if (std::exchange(ran_, true)) throw std::logic_error("hive::run: called twice; a hive runs once");
        std::vector<std::thread> threads;
        try {
            for (std::size_t i = 1; i < core_.io().size(); ++i)
                threads.emplace_back([this, i] { run_io(*core_.io()[i]); });
            for (const auto& worker : core_.compute()) threads.emplace_back([&worker] { worker->run(); });
        } catch (...) {
            core_.request_stop(stop_mode::discard);
            for (auto& t : threads) t.join();
            throw;
        }
        run_io(*core_.io()[0]);
        for (auto& t : threads) t.join();
    }

    // Returns at once. The first call decides how; later ones change nothing.
    void request_stop(stop_mode how = stop_mode::drain) { core_.request_stop(how); }

    // After run() has returned.
    stop_report report() const {
        stop_report r;
        const auto add = [&r](const auto& books) {
            r.run += books.tasks_run();
            r.discarded += books.tasks_dropped();
            r.exceptions += books.exceptions();
        };
        for (const auto& w : core_.io()) add(w->books());
        for (const auto& w : core_.compute()) add(w->books());
        r.refused = refused_.load(std::memory_order_relaxed);
        return r;
    }

    // At any time: how often workers slept, and how many tasks they took from each other.
    std::uint64_t parks() const {
        return sum([](const auto& w) { return w.parks(); });
    }
    std::uint64_t steals() const {
        return sum([](const auto& w) { return w.steals(); });
    }

    unsigned io_workers() const { return static_cast<unsigned>(core_.io().size()); }

private:
    static unsigned in_range(unsigned n, unsigned least, const char* what) {
        if (n < least || n > idle_set<Sync>::max_workers)
            throw std::invalid_argument("hive: " + std::string(what) + " is " + std::to_string(n) + "; it can be " +
                                        std::to_string(least) + " to " + std::to_string(idle_set<Sync>::max_workers));
        return n;
    }

    // The worker whose task is running on this thread, if it is one of this hive.
    worker_type* current() const { return here_ != nullptr && &here_->owner() == &core_ ? here_ : nullptr; }

    void run_io(worker_type& worker) {
        worker_type* outer = std::exchange(here_, &worker);
        worker.run();
        here_ = outer;
    }

    bool accepted(bool yes, task_type* t) {
        if (yes) return true;
        refused_.fetch_add(1, std::memory_order_relaxed);
        t->drop();
        Storage::release(t);
        return false;
    }

    static void discard(fifo_list<task_type>& tasks) {
        while (task_type* t = tasks.pop_front()) {
            t->drop();
            Storage::release(t);
        }
    }

    unsigned less_busy_of_two() const {
        const auto n = static_cast<unsigned>(core_.io().size());
        if (n == 1) return 0;
        static thread_local typename Sync::random_source random(static_cast<std::uint64_t>(Sync::now_ns()));
        const unsigned a = random.below(n);
        unsigned b = random.below(n - 1);
        if (b >= a) ++b;
        return core_.io()[b]->timers_pending() < core_.io()[a]->timers_pending() ? b : a;
    }

    template <class Count>
    std::uint64_t sum(Count count) const {
        std::uint64_t total = 0;
        for (const auto& w : core_.io()) total += count(*w);
        return total;
    }

    static inline constinit thread_local worker_type* here_ = nullptr;

    core_type core_;
    typename Sync::template atomic<std::uint64_t> refused_;
    bool ran_ = false;
};

using hive = basic_hive<real_sync, epoll_core, pooled_storage>;

static_assert(batch_posting<hive> && targeted_posting<hive> && delayed_posting<hive> && compute_posting<hive>);

}  // namespace apiary
