// global_queue: one queue, one lock, condition variables. Tasks have children, and a thread that waits for tasks runs
// them. It specifies what every other scheduler here does, is written to be read, and sets the speed that the others
// must beat.
//
// When to use it. To understand the contract, as an oracle in tests, or when tasks are long and few. When not: for many
// small tasks; every post and every take meets at the one lock.
//
// Threads. The posting calls, request_stop, wait_idle, wait: any thread. A task of this scheduler that calls one of the
//          two waits would wait for itself, and gets std::logic_error. run, start and join: one thread. Construction
//          and destruction: while no other thread uses the scheduler.
// Order.   Workers begin the oldest task first. Tasks of one scope begin in the order of their posts; so do tasks
//          without a scope.
// Family.  A task that takes a task_scope& gets the scope of its children, and ends when they have ended. A wait for a
//          scope runs queued tasks of that scope and of those below it, and no others; it sleeps while all that are
//          left run on other threads.
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
#include <cstdint>
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
    bool pin = false;  // binds the threads that the scheduler starts to the usable processors, one after the other
};

struct scope_too_deep : std::length_error {
    using std::length_error::length_error;
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

    // Throws std::invalid_argument if config.workers is 0.
    explicit basic_global_queue(const global_queue_config& config = {}) : config_(config) {
        if (config.workers == 0) throw std::invalid_argument("global_queue: workers is 0; it must be at least 1");
    }
    // For `global_queue q({})`, which would otherwise be ambiguous: {} could also be a queue to copy.
    explicit basic_global_queue(std::initializer_list<nothing>) : basic_global_queue() {}
    // If the scheduler was started, drains it (unless a stop came before) and joins it. Must not run in one of its
    // tasks, which would wait for itself, nor in a task that the scheduler helps to run.
    ~basic_global_queue() {
        if (running::is_below(root_))
            Sync::fail("global_queue: destroyed by a task of its own, which it would wait for; keep an owner outside");
        request_stop();  // also if it was never started: refuses posts by the destructors of dropped callables
        join();
        drop_all(take_left());
    }
    basic_global_queue(const basic_global_queue&) = delete;
    basic_global_queue& operator=(const basic_global_queue&) = delete;

    // F is void() or void(task_scope&). False: the scheduler was stopped; the callable is destroyed without having run.
    template <class F>
    [[nodiscard]] bool post(F&& callable) {
        return accept(root_, std::forward<F>(callable));
    }

    // Posts all callables or none, and moves from each. Returns the size of the batch, or 0 if none was posted.
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_batch(std::span<F, Extent> callables) {
        return accept_all(root_, callables.size(), [&](std::size_t i) -> F&& { return std::move(callables[i]); });
    }

    // Blocks until every task posted so far, and every task that those post, has ended. Runs no task itself.
    void wait_idle() {
        refuse_own(root_);
        lock held(mutex_);
        while (root_.unfinished != 0) {
            Sync::reach("global_queue.waited_for_idle");
            idle_.wait(held);
        }
    }

    // As wait_idle, but runs queued tasks meanwhile. False: a stop has dropped some tasks since the last call.
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

    // The loop of one worker, for run() and for checks that bring their own threads.
    void work() {
        ending last;
        while (item* t = next(last)) last = end(t, true);
    }

    // Returns at once. The first call decides how tasks end that have not begun.
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

    // Precondition: run() or join() has returned.
    stop_report report() const { return report_; }

    unsigned workers() const { return config_.workers; }

private:
    template <class F>
    item* make(family& of, F&& callable);

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

    // Precondition: the lock is held. Counts the end of the task that `last` describes, if it describes one.
    void book(ending& last) {
        if (last.of == nullptr) return;
        ++report_.run;
        if (last.threw) ++report_.exceptions;
        leave(last.of, false);
    }

    // Takes the oldest task, for a worker that has ended `last`. Null: the scheduler was stopped and no task is left.
    item* next(ending& last) {
        lock held(mutex_);
        book(last);
        while (tasks_.empty() && !stopping_) {
            Sync::reach("global_queue.waited_for_work");
            work_or_stop_.wait(held);
        }
        return tasks_.pop();
    }

    // Takes a task of the family, for a thread that waits for the family and has ended `last`. Null: the family has
    // ended; `all` then says how.
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

    // Keeps the first exception of a family. Another one ends here, since its task has not ended yet.
    void keep(family& of, std::exception_ptr error) {
        const lock held(mutex_);
        if (of.error == nullptr) of.error.swap(error);
    }

    // Runs the task, or drops it, and frees it.
    ending end(item* t, bool run) {
        ending e{t->of};
        family* const outer = running::enter(t->of);
        try {
            run ? t->call.run() : t->call.drop();
        } catch (...) {
            e.threw = true;
            if (t->of->parent != nullptr) keep(*t->of, std::current_exception());
        }
        running::enter(outer);
        Sync::destroy(t);
        return e;
    }

    fifo_list<item> take_left() {
        const lock held(mutex_);
        return take_all();
    }
    // Precondition: the lock is held.
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
            drop_all(take_left());  // if a draining stop came first, and no thread
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
    typename Sync::condvar helpers_;  // waits of threads that wait for a family
    typename Sync::condvar idle_;
    family_queue<Sync> tasks_;  // guarded by mutex_, as are the members up to report_
    family& root_ = tasks_.root;
    bool stopping_ = false;
    stop_report report_;
    bool ran_ = false;
    typename team_of<Sync>::type threads_;
};

// The children of a task, or tasks that a thread outside wants to wait for.
//
// Threads.   run: the thread that opened it, the tasks of the scope, and any thread that knows that the scope's owner
//            will wait later. wait: any thread, except one that runs a task of this scope.
// Lifetime.  It lies on the stack of its owner, and its destructor waits as wait() does. The thread that ends the last
//            task does not touch the scope after it has released the lock; the owner sees that all tasks have ended
//            only with the lock held.
// Depth.     A wait runs tasks on the stack of its thread, and a post counts in all scopes above. So run and run_all
//            throw scope_too_deep, before anything is posted, if more than `deepest` scopes lie above, or if less than
//            stack_reserve is left of the stack. Recursion that is too deep thus ends by an exception and not by a
//            crash. Under AddressSanitizer stacks have no bounds (sync/stack_bounds.hpp).
template <class Sync>
class basic_global_queue<Sync>::task_scope {
public:
    static constexpr unsigned deepest = 10'000;           // how many scopes may lie one below the other
    static constexpr std::size_t stack_reserve = 65'536;  // bytes; for tasks that open no further scope

    // Opens a scope below the scope whose task the calling thread runs, if that scope belongs to this scheduler.
    explicit task_scope(basic_global_queue& queue)
        : task_scope(queue, running::is_below(queue.root_) ? *running::innermost() : queue.root_) {}
    ~task_scope() { (void)queue_.settle(family_); }  // drops an exception that no wait has thrown
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;

    // As basic_global_queue::post. Throws scope_too_deep if the recursion is too deep.
    template <class F>
    [[nodiscard]] bool run(F&& callable) {
        refuse_deep();
        return queue_.accept(family_, std::forward<F>(callable));
    }

    // Posts n tasks, the i-th of which is callable(i): all of them or none. Returns n, or 0.
    template <class Callable>
    [[nodiscard]] std::size_t run_all(std::size_t n, Callable callable) {
        refuse_deep();
        return queue_.accept_all(family_, n, std::move(callable));
    }

    // Blocks until all tasks of this scope and of those below it have ended, and runs them meanwhile. Throws the first
    // exception that left a task of this scope. Throws std::logic_error if a task of this scope calls it. False: a stop
    // dropped some.
    bool wait() {
        queue_.refuse_own(family_);
        const ending all = queue_.settle(family_);
        if (all.error != nullptr) std::rethrow_exception(all.error);
        return !all.cut;
    }

private:
    friend basic_global_queue;
    task_scope(basic_global_queue& queue, family& above) : queue_(queue), family_(&above) {}

    void refuse_deep() const {
        const char here = 0;
        if (family_.depth > deepest || reinterpret_cast<std::uintptr_t>(&here) < Sync::stack().floor(stack_reserve))
            throw scope_too_deep("global_queue: recursion by scopes is too deep for this stack, or for one lock");
    }

    basic_global_queue& queue_;
    family family_;
};

template <class Sync>
template <class F>
auto basic_global_queue<Sync>::make(family& of, F&& callable) -> item* {
    if constexpr (std::is_invocable_v<std::decay_t<F>&, task_scope&>)
        return Sync::template create<item>(of, [this, &of, body = std::forward<F>(callable)]() mutable {
            task_scope children(*this, of);
            body(children);
            (void)children.wait();
        });
    else
        return Sync::template create<item>(of, std::forward<F>(callable));
}

using global_queue = basic_global_queue<>;

static_assert(batch_posting<global_queue>);

}  // namespace apiary
