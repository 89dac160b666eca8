// global_queue: one queue, one lock, a condition variable for work and one for idleness. The
// specification of every other scheduler here, written so that it can be read, and the floor that
// they must beat.
//
// When to use it. To understand the contract, as an oracle in tests, or when tasks are long and
// few. When not: for many small tasks; every post and every take meets at the one lock.
//
// Threads. The posting calls, request_stop, wait_idle: any thread; wait_idle not from a task, which
//          would wait for itself. run: one thread, once. Construction and destruction: while no
//          other thread uses it.
// Order.   Tasks begin in the order of the posts.
// Errors.  A posting call throws std::bad_alloc, or what copying or moving the callable throws, and
//          has then posted nothing. An exception that leaves a task is counted and swallowed: there
//          is no handler to tell. An empty std::function is accepted, and throws where it is run; a
//          null function pointer must not be posted. The destructor of a callable that a discarding
//          stop drops must not call this scheduler: the lock is held.
// Invariants. I1 unfinished_ = tasks queued + tasks running: "all done" is not "the queue is empty"
//          (exhibit A33). I2 every wait is a loop on its condition under the lock, and every change
//          that can make a condition true happens under the lock and notifies.
//
// Checked by model_check/schedulers/global_queue/global_queue_check.cpp and
// global_queue_logic_check.cpp. Source: seed 004.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/contract/scheduler.hpp>
#include <apiary/queues/fifo_list.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace apiary {

struct global_queue_config {
    unsigned workers = 1;  // worker 0 is the thread that calls run()
};

template <class Sync = real_sync>
class basic_global_queue {
    using storage = heap_storage<Sync>;
    using task_type = task<Sync>;

public:
    // Throws std::invalid_argument for no workers at all.
    explicit basic_global_queue(const global_queue_config& config) : workers_(config.workers) {
        if (workers_ == 0) throw std::invalid_argument("global_queue: workers is 0; it must be at least 1");
    }
    ~basic_global_queue() { drop_queue(); }
    basic_global_queue(const basic_global_queue&) = delete;
    basic_global_queue& operator=(const basic_global_queue&) = delete;

    // False: stopped; the callable is destroyed without having run.
    template <class F>
    [[nodiscard]] bool post(F&& callable) {
        task_type* t = storage::make(std::forward<F>(callable));
        {
            const typename Sync::lock held(mutex_);
            if (!stopping_) {
                queue_.push_back(t);
                ++unfinished_;
                work_or_stop_.notify_one();
                return true;
            }
            ++report_.refused;
        }
        end(t, false);
        return false;
    }

    // Moves from every element. All of them or none: returns the size of the batch, or 0.
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_batch(std::span<F, Extent> callables) {
        fifo_list<task_type> batch;
        try {
            for (F& callable : callables) batch.push_back(storage::make(std::move(callable)));
        } catch (...) {
            while (task_type* t = batch.pop_front()) end(t, false);
            throw;
        }
        {
            const typename Sync::lock held(mutex_);
            if (!stopping_) {
                queue_.splice_back(std::move(batch));
                unfinished_ += callables.size();
                work_or_stop_.notify_all();
                return callables.size();
            }
            report_.refused += callables.size();
        }
        while (task_type* t = batch.pop_front()) end(t, false);
        return 0;
    }

    // Blocks until every task posted so far, and every task those have posted, has ended.
    void wait_idle() {
        typename Sync::lock held(mutex_);
        while (unfinished_ != 0) {
            Sync::reach("global_queue.waited_for_idle");
            idle_.wait(held);
        }
    }

    // Blocks until the scheduler was stopped and every worker has ended. Throws std::logic_error when called a second time,
    // std::system_error when a thread cannot be started (it is then stopped with stop_mode::discard).
    void run() {
        if (std::exchange(ran_, true)) throw std::logic_error("global_queue::run: called twice; it runs once");
        std::vector<std::thread> threads;
        try {
            for (unsigned i = 1; i < workers_; ++i) threads.emplace_back([this] { work(); });
        } catch (...) {
            request_stop(stop_mode::discard);
            for (auto& t : threads) t.join();
            throw;
        }
        work();
        for (auto& t : threads) t.join();
    }

    // One worker's loop, for run() and for checks that bring their own threads.
    void work() {
        while (task_type* t = take()) {
            const bool threw = !end(t, true);
            finished(threw);
        }
    }

    // Returns at once. The first call decides how.
    void request_stop(stop_mode how = stop_mode::drain) {
        const typename Sync::lock held(mutex_);
        if (std::exchange(stopping_, true)) return;
        if (how == stop_mode::discard) drop_queue();
        work_or_stop_.notify_all();
    }

    // After run() has returned.
    stop_report report() const { return report_; }

private:
    // The oldest task; null when the scheduler was stopped and nothing is left.
    task_type* take() {
        typename Sync::lock held(mutex_);
        while (queue_.empty() && !stopping_) {
            Sync::reach("global_queue.waited_for_work");
            work_or_stop_.wait(held);
        }
        return queue_.pop_front();
    }

    void finished(bool threw) {
        const typename Sync::lock held(mutex_);
        ++report_.run;
        if (threw) ++report_.exceptions;
        if (--unfinished_ == 0) idle_.notify_all();
    }

    // Runs or drops the task, which frees itself. False when it threw.
    static bool end(task_type* t, bool run) {
        try {
            if (run)
                t->run();
            else
                t->drop();
        } catch (...) {
            return false;
        }
        return true;
    }

    // With the lock held, or alone.
    void drop_queue() {
        while (task_type* t = queue_.pop_front()) {
            end(t, false);
            ++report_.discarded;
            if (--unfinished_ == 0) idle_.notify_all();
        }
    }

    const unsigned workers_;
    typename Sync::mutex mutex_;
    typename Sync::condvar work_or_stop_;
    typename Sync::condvar idle_;
    fifo_list<task_type> queue_;  // from here to report_: by mutex_
    std::size_t unfinished_ = 0;
    bool stopping_ = false;
    stop_report report_;
    bool ran_ = false;
};

using global_queue = basic_global_queue<>;

static_assert(batch_posting<global_queue>);

}  // namespace apiary
