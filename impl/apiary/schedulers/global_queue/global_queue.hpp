// global_queue: one queue, one lock, condition variables; tasks have children, and a thread that waits for tasks runs
// them. The specification of every other scheduler here, written to be read, and the floor that they must beat.
//
// When to use it. To understand the contract, as an oracle in tests, or when tasks are long and few. When not: for many
// small tasks; every post and every take meets at the one lock.
//
// Threads. The posting calls, request_stop, wait_idle, wait: any thread. But a task of this scheduler would wait for
//          itself in the waits, and gets std::logic_error. run, start and join: one thread. Construction and
//          destruction: while no other thread uses the scheduler.
// Order.   A worker begins the oldest task. Tasks of one scope begin in the order of their posts; so do tasks of no
//          scope.
// Family.  A task that takes a task_scope& gets the scope of its children, and has ended when they have. A wait for a
//          scope runs queued tasks of that scope and of those below it, and no others; it sleeps while all that is left
//          runs on other threads.
// Errors.  A posting call throws std::bad_alloc, or what copying or moving the callable throws, and has then posted
//          nothing. Every task that ends by an exception is counted. The wait for a scope throws the first exception of
//          its tasks; any other is swallowed, as are those of tasks without a scope. An empty std::function is
//          accepted, and throws where it is run; a null function pointer must not be posted.
// Invariants
//   I1  root_.unfinished = tasks queued + tasks running: "all done" is not "the queue is empty" (exhibit A33).
//   I2  Every wait is a loop on its condition under the lock. Every change that can make a condition true happens under
//       the lock and notifies.
//   I3  No callable is run, copied or destroyed with the lock held.
//
// README.md has the rest. Checked by model_check/schedulers/global_queue/, stressed by stress/schedulers/global_queue/.
#pragma once

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <apiary/contract/scheduler.hpp>
#include <apiary/schedulers/global_queue/processors.hpp>
#include <apiary/schedulers/global_queue/task_family.hpp>
#include <apiary/sync/real_sync.hpp>
#include <apiary/workers/thread_team.hpp>

namespace apiary {

struct global_queue_config {
    unsigned workers = default_workers();  // sync/processors.hpp
    bool pin = false;  // binds the n-th thread that the scheduler starts to the n-th usable processor, in turns
};

template <class Sync = real_sync>
class basic_global_queue {
    using family = task_family<Sync>;
    using item = queued_task<Sync>;
    using ending = task_ending<Sync>;
    using running = running_family<Sync>;
    using lock = typename Sync::lock;
    struct nothing {};

public:
    class task_scope;

    // Throws std::invalid_argument if there are to be no workers.
    explicit basic_global_queue(const global_queue_config& config = {}) : config_(config) {
        if (config.workers == 0) throw std::invalid_argument("global_queue: workers is 0; it must be at least 1");
    }
    // For `global_queue q({})`. Without it {} could also be a queue to copy, and the call would not compile.
    explicit basic_global_queue(std::initializer_list<nothing>) : basic_global_queue() {}
    // If the scheduler was started: drains it, unless it was stopped otherwise, and joins it. Must not run in one of
    // its tasks, which would wait for itself; nor in a task that the scheduler helps to run.
    ~basic_global_queue() {
        if (running::is_below(root_))
            Sync::fail("global_queue: destroyed by a task of its own, which it would wait for; keep an owner outside");
        request_stop();  // also if it was not started: refuses what a dropped callable's destructor posts
        join();
        drop_all(take_all());
    }
    basic_global_queue(const basic_global_queue&) = delete;
    basic_global_queue& operator=(const basic_global_queue&) = delete;

    // F: void(), or void(task_scope&). False: the scheduler was stopped; the callable is destroyed without having run.
    template <class F>
    [[nodiscard]] bool post(F&& callable) {
        return accept(root_, std::forward<F>(callable));
    }

    // Moves from every element. Posts all of them or none: returns the size of the batch, or 0.
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_batch(std::span<F, Extent> callables) {
        return accept_all(root_, callables.size(), [&](std::size_t i) -> F&& { return std::move(callables[i]); });
    }

    // Blocks until every task posted so far, and every task those have posted, has ended. Runs no task itself.
    void wait_idle() {
        refuse_own(root_);
        lock held(mutex_);
        while (root_.unfinished != 0) {
            Sync::reach("global_queue.waited_for_idle");
            idle_.wait(held);
        }
    }

    // The same, but runs queued tasks meanwhile. False: a stop dropped some since the last call.
    bool wait() {
        refuse_own(root_);
        return !settle(root_).cut;
    }

    // Blocks until the scheduler was stopped and every worker has ended; the caller is worker 0. Throws
    // std::logic_error if it runs already or has run, and std::system_error if a thread cannot be started; the
    // scheduler is then stopped with stop_mode::discard.
    void run() {
        launch(config_.workers - 1);
        work();
        join();
    }

    // Returns as soon as every worker has a thread. Throws as run() does.
    void start() { launch(config_.workers); }

    // After start(): blocks until the scheduler was stopped and every worker has ended.
    void join() {
        threads_.join();
    }

    // One worker's loop, for run() and for checks that bring their own threads.
    void work() {
        ending last;
        while (item* t = next(last)) last = end(t, true);
    }

    // Returns at once. The first call decides the mode.
    void request_stop(stop_mode how = stop_mode::drain) {
        fifo_list<item> dropped;
        {
            const lock held(mutex_);
            if (std::exchange(stopping_, true)) return;
            if (how == stop_mode::discard) dropped = take_all();
            work_or_stop_.notify_all();
        }
        drop_all(std::move(dropped));
    }

    // After run() or join() has returned.
    stop_report report() const { return report_; }

    unsigned workers() const { return config_.workers; }

private:
    template <class F>
    item* make(family& of, F&& callable);  // task_scope.hpp

    template <class F>
    bool accept(family& of, F&& callable) {
        item* t = make(of, std::forward<F>(callable));
        {
            const lock held(mutex_);
            if (!stopping_) {
                if (tasks_.push(t)) helpers_.notify_all();
                work_or_stop_.notify_one();
                return true;
            }
            ++report_.refused;
        }
        end(t, false);
        return false;
    }

    template <class Callable>
    std::size_t accept_all(family& of, std::size_t n, Callable callable) {
        fifo_list<item> batch;
        try {
            for (std::size_t i = 0; i < n; ++i) batch.push_back(make(of, callable(i)));
        } catch (...) {
            while (item* t = batch.pop_front()) end(t, false);
            throw;
        }
        {
            const lock held(mutex_);
            if (!stopping_) {
                bool awaited = false;
                while (item* t = batch.pop_front()) awaited = tasks_.push(t) || awaited;
                if (awaited) helpers_.notify_all();
                work_or_stop_.notify_all();
                return n;
            }
            report_.refused += n;
        }
        while (item* t = batch.pop_front()) end(t, false);
        return 0;
    }

    // Precondition: the lock is held.
    void leave(family* of, bool dropped) {
        if (tasks_.leave(of, dropped)) helpers_.notify_all();
        if (root_.unfinished == 0) idle_.notify_all();
    }

    // Precondition: the lock is held. Books the end of a task, if `last` holds one.
    void book(ending& last) {
        if (last.of == nullptr) return;
        ++report_.run;
        if (last.threw) ++report_.exceptions;
        if (last.of->error == nullptr) last.of->error.swap(last.error);
        leave(last.of, false);
    }

    // For a worker that has ended `last`: the oldest task. Null if the scheduler was stopped and no task is left.
    item* next(ending& last) {
        lock held(mutex_);
        book(last);
        while (tasks_.empty() && !stopping_) {
            Sync::reach("global_queue.waited_for_work");
            work_or_stop_.wait(held);
        }
        return tasks_.pop();
    }

    // For a thread that waits for a family and has ended `last`: a task of the family; or null, and in `all` how the
    // family ended.
    item* next_of(family& of, ending& last, ending& all) {
        lock held(mutex_);
        book(last);
        while (of.unfinished != 0) {
            if (item* t = tasks_.pop_of(of)) return t;
            Sync::reach("global_queue.waited_for_family");
            ++of.sleepers;
            helpers_.wait(held);
            --of.sleepers;
        }
        all.cut = std::exchange(of.cut, false);
        all.error.swap(of.error);
        return nullptr;
    }

    ending settle(family& of) {
        ending last, all;
        while (item* t = next_of(of, last, all)) last = end(t, true);
        return all;
    }

    // Runs the task, or drops it, and frees it.
    static ending end(item* t, bool run) {
        ending e{t->of};
        family* const outer = running::enter(t->of);
        try {
            run ? t->call.run() : t->call.drop();
        } catch (...) {
            e.threw = true;
            if (t->of->parent != nullptr) e.error = std::current_exception();
        }
        running::enter(outer);
        Sync::destroy(t);
        return e;
    }

    // Precondition: the lock is held, or no other thread uses the scheduler.
    fifo_list<item> take_all() {
        fifo_list<item> all;
        while (item* t = tasks_.pop()) all.push_back(t);
        report_.discarded += all.size();
        return all;
    }

    void drop_all(fifo_list<item> tasks) {
        while (item* t = tasks.pop_front()) {
            const ending dropped = end(t, false);
            const lock held(mutex_);
            leave(dropped.of, true);
        }
    }

    void launch(unsigned threads) {
        if (std::exchange(ran_, true)) throw std::logic_error("global_queue: run or start a second time; it runs once");
        try {
            processors_in_turn processors(config_.pin);
            for (unsigned i = 0; i != threads; ++i) {
                processors.next();
                threads_.start([this] { work(); });
            }
        } catch (...) {
            request_stop(stop_mode::discard);
            join();
            throw;
        }
    }

    static void refuse_own(const family& of) {
        if (running::is_below(of))
            throw std::logic_error("global_queue: a task waits for itself; it may wait for a scope of its own");
    }

    const global_queue_config config_;
    typename Sync::mutex mutex_;
    typename Sync::condvar work_or_stop_;
    typename Sync::condvar helpers_;  // for threads in a wait for a family
    typename Sync::condvar idle_;
    family_queue<Sync> tasks_;  // this and the members up to report_: guarded by mutex_
    family& root_ = tasks_.root;
    bool stopping_ = false;
    stop_report report_;
    bool ran_ = false;
    typename team_of<Sync>::type threads_;
};

using global_queue = basic_global_queue<>;

static_assert(batch_posting<global_queue>);

}  // namespace apiary

#include <apiary/schedulers/global_queue/task_scope.hpp>
