// hive: a scheduler with IO workers, which have private queues, stealable deques and timers, and with compute workers
// beside them.
//
//     apiary::hive h({.io_workers = 2});
//     (void)h.post_micro([&] { …; h.request_stop(); });    // false: the hive was stopped before
//     h.run();                                             // this thread is IO worker 0; without it nothing runs
//
// When to use it. For many small tasks that post each other, wait for deadlines, or must run on a certain thread; with
// compute workers for long ones. When not: for tasks that block, or that wait for their children inside a worker.
//
// Threads. The posting calls, rearm, attach, detach and request_stop: any thread, and tasks; not signal handlers. run:
//          one thread, once. Construction and destruction: while no other thread uses the hive. A thread that is still
//          inside a post, a rearm, a request_stop or an attach_this_thread when run() returns uses it.
// Memory.  A task whose callable has up to 40 bytes makes no heap call in the steady state.
// Order.   Tasks that one thread posts to one worker (post_to_worker) begin in the order of the posts, until that
//          worker is detached. Other tasks have no order, with one exception: a single worker that has nothing but
//          outside posts keeps their order, unless it takes a batch of them (global_batch) that is longer than
//          global_probe_interval, because the old end of its deque then has its turn within the batch.
// Fairness. Every accepted task begins after finitely many others, whatever the tasks post, if each task ends.
// Errors.  A posting call throws std::bad_alloc, any exception of copying the callable, or std::invalid_argument for an
//          empty std::function or a null function pointer; it has then posted nothing. The worker counts an exception
//          that leaves a task, tells it to hive_config::on_exception, and goes on.
//
// README.md beside this file has the protocol.
#pragma once

#include <array>
#include <chrono>
#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <locale>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <apiary/contract/scheduler.hpp>
#include <apiary/events/driver.hpp>
#include <apiary/events/epoll_driver.hpp>
#include <apiary/parking/time_slice.hpp>
#include <apiary/schedulers/hive/delayed.hpp>
#include <apiary/schedulers/hive/hive_core.hpp>
#include <apiary/tasks/task_storage.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/workers/in_range.hpp>

namespace apiary {

struct hive_config {
    // The default is one worker rather than one for each processor: a hive has only the threads that its user asks for,
    // and the thread of run() is one of them. default_workers() (sync/processors.hpp) returns how many threads can run
    // at once under the control group's quota.
    unsigned io_workers = 1;       // 1 … 280; worker 0 is the thread that calls run()
    unsigned compute_workers = 0;  // 0 … 280
    hive_parameters parameters = {};
    // The time slice that an IO worker asks the system for (parking/time_slice.hpp) in a hive that starts with compute
    // workers, so that it gets the processor when it is woken beside them. 0: the worker asks for none.
    static constexpr std::int64_t usual_io_slice_ns = 100'000;
    std::int64_t io_slice_ns = usual_io_slice_ns;
    exception_handler on_exception = {};  // called on the worker; must not throw
};

template <class Sync, class Driver, class Storage, class Parts = hive_parts<Sync>>
class basic_hive {
    using core_type = hive_core<Sync, Driver, Storage, Parts>;
    using task_type = typename core_type::task_type;
    using worker_type = typename core_type::io_worker_type;
    using compute_type = typename core_type::compute_worker_type;
    using team = typename Parts::threads;
    using slice = basic_time_slice<typename Parts::slices>;
    using lock = typename Sync::lock;
    using keeper = timer_keeper<Sync>;
    static_assert(on_system_threads<Sync> || !requires { Driver::waits_for_the_system; },
                  "hive: this policy's threads are no threads of the system, and its clock is another: its IO workers "
                  "cannot wait for descriptors; take parker_driver in place of epoll_driver");

public:
    // Throws std::invalid_argument if a number of workers or a parameter is out of range, and std::system_error if a
    // worker's event loop cannot be made.
    explicit basic_hive(const hive_config& config)
        : io_slice_ns_(config.compute_workers == 0
                           ? 0
                           : in_range<std::int64_t>("hive", config.io_slice_ns, 0, INT64_MAX, "io_slice_ns")),
          core_(in_range("hive", config.io_workers, 1U, max_workers, "io_workers"),
                in_range("hive", config.compute_workers, 0U, max_workers, "compute_workers"),
                valid("hive", config.parameters), config.on_exception) {
        refused_.store(0, std::memory_order_relaxed);
    }
    ~basic_hive() {
        const lock held(threads_mutex_);
        if (guests_ != 0 || phase_ == phase::running || phase_ == phase::ended)
            Sync::fail("hive: destroyed before run() and every attach_this_thread have returned: its workers still use it");
    }
    basic_hive(const basic_hive&) = delete;
    basic_hive& operator=(const basic_hive&) = delete;

    // Posts a task that any IO worker may run. Returns false if the hive has been stopped; the callable is then
    // destroyed without having run. Both hold for every post below.
    template <class F>
    [[nodiscard]] bool post_micro(F&& callable) {
        pending t = make(std::forward<F>(callable));
        worker_type* here = current();
        if (here == nullptr) Storage::leave_prefetch_hint(t.get());
        return accepted(here != nullptr ? here->post_local(t.get()) : core_.post(t.get()), t);
    }

    // Offers the slice of a long task: a task that asks this every so often, and posts its rest if others wait, keeps
    // them waiting for a slice and not for all of it. A slice makes a step before it asks; otherwise two long tasks
    // would post each other's turn for ever.
    //
    //     void go_on(part p) {  // a task
    //         for (p.step(); !p.over(); p.step())
    //             if (h.work_waits() && h.post_to_pool([this, p] { go_on(p); })) return;
    //     }
    //
    // work_waits: true on an IO worker of this hive if its slot or deque, its private queue, its inbox or the pool has
    // a task, if a timer of its own is due, or if it has been detached. It does not ask the system for events of
    // descriptors. False on any other thread, and after a stop, when no rest would be accepted. It reads words that
    // other threads write, and the clock where there are timers: ask after some microseconds of work, not at each step.
    bool work_waits() const {
        worker_type* here = current();
        return here != nullptr && !core_.stopping() &&
               (here->ready().waits() || here->sources().waits() || !here->crew().pool().looks_empty() ||
                here->leaving());
    }
    // Posts a task to the pool, from a task, too: any IO worker runs it after the tasks that wait there. A task's
    // post_micro would put it before them. If an exception of this post leaves a slice, the rest never runs; a slice
    // that catches the exception can go on.
    template <class F>
    [[nodiscard]] bool post_to_pool(F&& callable) {
        pending t = make(std::forward<F>(callable));
        Storage::leave_prefetch_hint(t.get());
        return accepted(core_.post(t.get()), t);
    }

    // Posts all callables or none. Moves from each of them. Returns the size of the batch, or 0 if none was posted.
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_micro_batch(std::span<F, Extent> callables) {
        return post_list(callables, [this](auto& tasks) { return core_.post_list(tasks); });
    }

    // Posts a task to the IO worker of this id. Another worker runs it only if this one is detached first. Also returns
    // false if no worker of this id is in service.
    template <class F>
    [[nodiscard]] bool post_to_worker(unsigned worker, F&& callable) {
        pending t = make(std::forward<F>(callable));
        worker_type* here = current();
        const bool to_itself = here != nullptr && here->incarnation() == worker;
        return accepted(to_itself ? here->sources().post(t.get()) : core_.post_to(worker, t.get()), t);
    }

    // Posts a task that begins no earlier than `delay` from now. A negative delay counts as 0. If the delay ends beyond
    // the clock's range, the task never begins. The timer goes to one of two IO workers picked at random: the one that
    // has fewer timers. The handle is empty if the post was refused. A stop discards timers that are not due. Compute
    // workers keep no timers.
    template <class F, class Rep, class Period>
    [[nodiscard]] delayed_handle<Sync> post_delayed(F&& callable, std::chrono::duration<Rep, Period> delay) {
        using block = delayed_callable<std::decay_t<F>, Sync>;
        refuse_empty(callable);
        const std::int64_t deadline = deadline_after(core_.now_ns(), delay);
        auto* b = Sync::template create<block>(deadline, std::forward<F>(callable));
        delayed_handle<Sync> handle(b);
        pending t;
        try {
            t = make(delayed_entry<Sync>(b));
        } catch (...) {
            handle.cancel();  // the block owns the callable already
            throw;
        }
        t->deadline_ns = deadline;
        worker_type* worker = less_busy_of_two();
        worker_type* here = current();
        bool yes = here == worker && serves(*here) ? here->sources().post_delayed(t.get())
                                                   : core_.post_to(worker->id(), t.get());
        if (!yes) yes = core_.post_to(main_worker, t.get());  // the chosen worker has been detached
        if (!accepted(yes, t)) return {};
        return handle;
    }

    // Gives a timer that is pending another delay, from now on, and keeps its callable: the call for a deadline that
    // moves with each message. Precondition: `timer` is empty or of this hive. Any thread may call it, one at a time
    // for each handle. Delays count as in post_delayed. A later time is only noted, without a lock, whichever thread
    // asks; at the old time the worker that keeps the timer files it again. That worker also makes a timer earlier; on
    // any other thread, and on that worker until it has taken the timer from its inbox, the answer is then not_here:
    // cancel the timer, and post another. In a hive of one IO worker its tasks run on that worker. What precedes a call
    // that rearms happens before the callable. A timer can be rearmed after a stop; if it is not due when its worker
    // ends, it is dropped all the same. Throws nothing, and allocates nothing.
    //
    //     if (h.rearm(timer, 5s) != rearm_result::rearmed) {
    //         (void)timer.cancel();
    //         timer = h.post_delayed(close_it, 5s);
    //     }
    template <class Rep, class Period>
    [[nodiscard]] rearm_result rearm(delayed_handle<Sync>& timer, std::chrono::duration<Rep, Period> delay) {
        if (!timer) return rearm_result::over;
        const std::int64_t deadline = deadline_after(core_.now_ns(), delay);
        worker_type* here = current();
        return here != nullptr ? here->sources().rearm(*timer.block(), deadline) : timer.block()->put_off(deadline);
    }

    // Posts a task that runs on a compute worker. Also false if the hive has none.
    template <class F>
    [[nodiscard]] bool post_compute(F&& callable) {
        pending t = make(std::forward<F>(callable));
        return accepted(core_.post_compute(t.get()), t);
    }

    // As post_micro_batch, but to the compute workers.
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_compute_batch(std::span<F, Extent> callables) {
        return post_list(callables, [this](auto& tasks) { return core_.post_compute_list(tasks); });
    }

    // Runs IO worker 0 on this thread, and returns when the hive has been stopped and every worker has ended. Throws
    // std::logic_error if it is called a second time, or on a worker of this hive (a guest's thread). Throws
    // std::system_error or std::bad_alloc if a thread cannot be started; the hive has then been stopped, and its tasks
    // are discarded, unless a draining stop came first.
    void run() {
        unsigned io = main_worker + 1, compute = 0;  // the next to be started
        std::exception_ptr refused;
        {
            // Held throughout: otherwise an attach in between could start the thread of its worker a second time.
            const lock held(threads_mutex_);
            if (phase_ != phase::fresh) throw std::logic_error("hive::run: called twice; a hive runs once");
            if (current() != nullptr || guest_mark::is_below(this))  // a guest runs tasks before run
                throw std::logic_error(
                    "hive::run: called on a worker of this hive, which it would wait for; call it on another thread");
            phase_ = phase::running;
            if (io_slice_ns_ != 0) usual_slice_ns_ = slice::of_this_thread();
            try {
                for (; io < core_.io().size(); ++io)
                    if (!is_guest_[io]) start(*core_.io()[io]);
                for (; compute < core_.compute().size(); ++compute) start(*core_.compute()[compute]);
            } catch (...) {
                refused = std::current_exception();
                core_.request_stop(stop_mode::discard);
            }
        }
        run_worker(*core_.io()[main_worker]);
        if (refused) {  // this thread runs the workers that got no thread, so that their work is dropped
            for (; io < core_.io().size(); ++io)
                if (!is_guest_[io]) run_worker(*core_.io()[io]);
            for (; compute < core_.compute().size(); ++compute) run_worker(*core_.compute()[compute]);
        }
        join_all();
        if (refused) std::rethrow_exception(refused);
    }

    // Must be called by a task or a source on an IO worker of this hive; elsewhere it throws std::logic_error. From
    // then on that worker tells the source about its descriptor, until the source is unwatched. event_source.hpp has
    // the rules.
    [[nodiscard]] watch_result watch(event_source& source, interest what = {}) {
        worker_type& here = on_a_worker("watch");
        // A worker that ends has told its sources, or is about to: a source that came now would never be told.
        if (core_.stopping() || !serves(here)) return watch_result::worker_ends;
        return here.driver().watch(source, what);
    }
    // Both return false if this worker does not watch the source, or if the source's descriptor has been closed.
    bool rewatch(event_source& source, interest what) { return on_a_worker("rewatch").driver().rewatch(source, what); }
    bool unwatch(event_source& source) { return on_a_worker("unwatch").driver().unwatch(source); }

    // The id of the IO worker whose task calls this; empty on any other thread.
    std::optional<unsigned> this_worker() const {
        const worker_type* here = current();
        return here == nullptr ? std::nullopt : std::optional(here->incarnation());
    }

    // Each of the two attaches one more worker at any time, and returns its id. The worker starts at once, or with
    // run(). The result is empty if the hive has been stopped. Each call makes a worker of its own, so none is
    // attached twice. Throws std::length_error if all slots are taken, std::system_error if the event loop or the
    // thread cannot be made, and std::bad_alloc; it has then attached none.
    [[nodiscard]] std::optional<unsigned> attach_io_worker() {
        return attach([this] { return core_.attach_io(); });
    }
    [[nodiscard]] std::optional<unsigned> attach_compute_worker() {
        return attach([this] { return core_.attach_compute(); });
    }

    // Makes the calling thread one more IO worker, at any time. That worker blocks in `loop`, an event loop of the
    // caller's own (worker_driver), and not in epoll: the thread of a user interface, say. Calls `told(id)` once
    // before the worker begins. Returns when the worker has been detached or the hive stopped, and all that the
    // worker held was run, dropped or handed over; run() returns after that. False: the hive had been stopped before.
    //   loop.poll()   The worker calls it at each turn. A handler that it dispatches is like a task here: it may post,
    //                 and this_worker() is the id.
    //   loop.wait(d)  It may dispatch handlers, too, but only short ones. The worker counts as asleep meanwhile: a
    //                 post goes to the pool, this_worker() is empty, and while a post relies on the wake of this
    //                 worker, workers that post wake no other. A loop with long handlers returns from wait and
    //                 dispatches them in poll.
    //   loop.wake()   It posts nothing, stops and detaches no worker, and returns soon: the poster that wakes waits for
    //                 it, and so does the end of the worker. No thread calls it after attach_this_thread has
    //                 returned, so the loop may then be destroyed.
    // An exception that leaves told, poll or wait ends the worker as a detach does, and leaves this call; one that
    // leaves wake ends the program. Sources are not watched there (watch_result::wrong_backend). Throws
    // std::logic_error on an IO worker of this hive, also within its loop; and all that an attach throws. The thread
    // keeps its time slice.
    template <worker_driver Loop, std::invocable<unsigned> Told>
        requires requires(Driver& driver, guest_core& guest) { driver.host(guest); }
    bool attach_this_thread(Loop& loop, Told told) {
        if (current() != nullptr || guest_mark::is_below(this))
            throw std::logic_error(
                "hive::attach_this_thread: called on a worker of this hive, which would wait for it; call it on another thread");
        const guest_mark here(this);
        worker_type* const worker = attach_guest();
        if (worker == nullptr) return false;
        guest_loop<Loop> guest(*this, *worker, loop);
        worker->driver().host(guest);
        guest.guarded([&] { told(worker->incarnation()); });
        run_worker(*worker, 0);
        {
            const lock held(threads_mutex_);
            if (--guests_ == 0) no_guests_.notify_all();
        }
        if (guest.thrown) std::rethrow_exception(guest.thrown);
        return true;
    }
    template <worker_driver Loop>
    bool attach_this_thread(Loop& loop) {
        return attach_this_thread(loop, [](unsigned) {});
    }

    // Each of the two detaches a worker, and returns at once. Any thread may call it, and any task, also one of that
    // worker. The worker ends its present task and hands over its tasks to the pool and its timers to the main worker.
    // Nothing is dropped. Later posts to it are refused. The main worker and the last compute worker stay.
    detach_result detach_io_worker(unsigned id) { return core_.detach_io(id); }
    detach_result detach_compute_worker(unsigned id) { return core_.detach_compute(id); }

    // Asks all workers to end, and returns at once. The first call decides how they end; later calls change nothing.
    void request_stop(stop_mode how = stop_mode::drain) {
        core_.request_stop(how == stop_mode::discard ? how : stop_mode::drain);  // stop_mode{} is neither
    }

    // Precondition: run() has returned. Every accepted task was then run, discarded or cancelled.
    stop_report report() const {
        const worker_counters all = core_.counters();
        stop_report r;
        r.run = all.run;
        r.discarded = all.discarded;
        r.cancelled = all.cancelled;
        r.exceptions = all.exceptions;
        r.refused = refused_.load(std::memory_order_relaxed);
        return r;
    }

    // The counters of each IO worker's slot, then those of each compute worker's. Any thread may ask at any time.
    std::vector<worker_counters> snapshot() const {
        std::vector<worker_counters> all;
        for (unsigned i = 0; i < core_.io().size(); ++i) all.push_back(core_.io()[i]->counters());
        for (unsigned i = 0; i < core_.compute().size(); ++i) all.push_back(core_.compute()[i]->counters());
        return all;
    }

    // The sum of one counter over all workers: total(&worker_counters::stolen).
    std::uint64_t total(std::uint64_t worker_counters::* which) const { return core_.counters().*which; }

    // Precondition: run() has returned. Writes what the workers did, as Chrome's JSON for ui.perfetto.dev. Each
    // worker has a track; the numbers of the compute workers' tracks begin after those of all IO workers that there
    // can be.
    void write_trace(std::ostream& to) const
        requires Parts::trace::on
    {
        std::ostream out(to.rdbuf());  // it has neither the flags of `to` nor its locale, which may group digits
        out.imbue(std::locale::classic());
        out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
        std::size_t left_out = 0;
        const auto write = [&](const auto& events, unsigned track, const char* kind, unsigned worker) {
            events.write(out, track, kind, worker);
            left_out += events.left_out();
        };
        for (unsigned i = 0; i < core_.io().size(); ++i) write(core_.io()[i]->events(), i, "IO", i);
        for (unsigned i = 0; i < core_.compute().size(); ++i)
            write(core_.compute()[i]->events(), max_workers + i, "compute", i);
        out << "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"hive\"}}],\n"
            << "\"otherData\":{\"left_out\":" << left_out << "}}\n";
        to.setstate(out.rdstate());
    }

    typename Parts::clock& clock() { return core_.clock(); }

    // How many workers of each kind are in service now. A worker that is leaving does not count.
    unsigned io_workers() { return core_.serving_io(); }
    unsigned compute_workers() { return core_.serving_compute(); }

private:
    static constexpr unsigned max_workers = core_type::io_crew_type::max_workers;
    static constexpr unsigned main_worker = 0;  // slot and id

    // A task that no worker and no pool has accepted yet. It is dropped at the end of this object, unless it is
    // released.
    struct discarder {
        void operator()(task_type* t) const { t->drop(); }
    };
    using pending = std::unique_ptr<task_type, discarder>;

    // The same for many tasks.
    struct task_list {
        fifo_list<task_type> list;
        ~task_list() {
            while (task_type* t = list.pop_front()) t->drop();
        }
    };

    // True for an empty std::function and for a null pointer to a function, which a worker could not call.
    template <class F>
    static bool is_empty_callable(const F& f) {
        if constexpr (std::is_pointer_v<F>)
            return f == nullptr;
        else
            return false;
    }
    template <class R>
    static bool is_empty_callable(const std::function<R()>& f) {
        return !f;
    }

    template <class F>
    static void refuse_empty(const F& callable) {
        if (is_empty_callable(callable))
            throw std::invalid_argument("hive: an empty function was posted; it could only throw on the worker");
    }

    template <class F>
    static pending make(F&& callable) {
        refuse_empty(callable);
        return pending(Storage::make(std::forward<F>(callable)));
    }

    // Posts all callables or none. `post` either takes the whole list or leaves it to the caller.
    template <class F, std::size_t Extent, class Post>
    std::size_t post_list(std::span<F, Extent> callables, Post post) {
        if (callables.empty()) return 0;
        task_list tasks;
        for (F& callable : callables) {
            tasks.list.push_back(make(std::move(callable)).release());
            Storage::leave_prefetch_hint(tasks.list.back());
        }
        if (post(tasks.list)) return callables.size();
        refused_.fetch_add(callables.size(), std::memory_order_relaxed);
        return 0;
    }

    bool accepted(bool yes, pending& t) {
        if (yes)
            (void)t.release();
        else
            refused_.fetch_add(1, std::memory_order_relaxed);
        return yes;
    }

    // The worker of this hive whose task is running on this thread, or null.
    worker_type* current() const {
        worker_type* const here = Sync::template current<worker_type>();
        return here != nullptr && &here->crew() == &core_.io_crew() ? here : nullptr;
    }

    // For the worker's own thread. False if the worker has been detached; it then ends after its present task.
    static bool serves(const worker_type& here) { return !here.leaving(); }

    worker_type& on_a_worker(const char* call) const {
        if (worker_type* here = current()) return *here;
        throw std::logic_error("hive::" + std::string(call) +
                               ": called outside this hive's IO workers; post a task that calls it there");
    }

    // What this thread is from now on: for posts, and for the handles of timers.
    static void enter(worker_type* worker, keeper* timers) {
        Sync::set_current(worker);
        Sync::set_current(timers);
    }
    void run_worker(worker_type& worker) { run_worker(worker, io_slice_ns_); }
    void run_worker(worker_type& worker, std::int64_t slice_ns) {
        worker_type* const outer = Sync::template current<worker_type>();
        keeper* const outer_keeper = Sync::template current<keeper>();
        enter(&worker, &worker.sources());
        const slice shorter(slice_ns);
        worker.run();
        enter(outer, outer_keeper);
    }
    void run_worker(compute_type& worker) {
        const slice usual(usual_slice_ns_);  // the task of an IO worker may have started this thread
        worker.run();
    }

    // The hives to which this thread is attached, as a list from the newest attach to the oldest. `current` cannot
    // tell: it is empty while a guest waits in its loop.
    class guest_mark {
    public:
        explicit guest_mark(const basic_hive* h) : of_(h), outer_(Sync::template current<guest_mark>()) {
            Sync::set_current(this);
        }
        ~guest_mark() { Sync::set_current(outer_); }
        guest_mark(const guest_mark&) = delete;
        guest_mark& operator=(const guest_mark&) = delete;
        static bool is_below(const basic_hive* h) {
            const guest_mark* m = Sync::template current<guest_mark>();
            while (m != nullptr && m->of_ != h) m = m->outer_;
            return m != nullptr;
        }

    private:
        const basic_hive* of_;
        guest_mark* outer_;
    };

    // The driver of a guest's worker: it blocks in the user's loop. An exception that leaves the loop detaches the
    // worker; the loop is not called after that.
    template <class Loop>
    struct guest_loop final : guest_core {
        guest_loop(basic_hive& h, worker_type& w, Loop& l) : hive(h), worker(w), loop(l) {}
        void wait(std::int64_t deadline_ns) noexcept override {
            enter(nullptr, nullptr);  // a worker that sleeps pushes nothing (idle_set S2)
            guarded([&] { loop.wait(deadline_ns == INT64_MAX ? Loop::forever : deadline_ns); });
            enter(&worker, &worker.sources());
        }
        void poll() noexcept override {
            guarded([&] { loop.poll(); });
        }
        void wake() noexcept override { loop.wake(); }
        template <class F>
        void guarded(F f) noexcept {
            if (thrown) return;
            try {
                f();
            } catch (...) {
                thrown = std::current_exception();
                (void)hive.detach_io_worker(worker.incarnation());
            }
        }
        basic_hive& hive;
        worker_type& worker;
        Loop& loop;
        std::exception_ptr thrown;
    };

    // Precondition: threads_mutex_ is held.
    template <class Worker>
    void start(Worker& worker) {
        thread_of(worker).start([this, &worker] { run_worker(worker); });
    }
    static constexpr bool is_io(const worker_type&) { return true; }
    static constexpr bool is_io(const compute_type&) { return false; }
    team& thread_of(const worker_type& w) { return io_threads_[w.index()]; }
    team& thread_of(const compute_type& w) { return compute_threads_[w.index()]; }

    void join_all() {
        {
            lock held(threads_mutex_);
            phase_ = phase::ended;  // from now on no thread is started, and no guest is let in
            while (guests_ != 0) no_guests_.wait(held);
        }
        for (auto* threads : {&io_threads_, &compute_threads_})
            for (team& t : *threads) t.join();
        const lock held(threads_mutex_);
        phase_ = phase::over;
    }

    static std::length_error no_slot() {
        return std::length_error("hive: " + std::to_string(max_workers) +
                                 " workers of this kind are in service or leaving, which is all there can be; detach "
                                 "one, and try again when it has left");
    }

    // Returns null if the hive has been stopped.
    worker_type* attach_guest() {
        const lock held(threads_mutex_);
        if (phase_ >= phase::ended || core_.stopping()) return nullptr;
        worker_type* const worker = core_.attach_io();
        if (worker == nullptr) {
            if (core_.stopping()) return nullptr;
            throw no_slot();
        }
        is_guest_[worker->index()] = true;
        ++guests_;
        return worker;
    }

    template <class Attach>
    std::optional<unsigned> attach(Attach attach_one) {
        struct waiting {
            team thread;
            ~waiting() { thread.join(); }
        } fresh;  // destroyed after the lock is released: its destructor joins a thread that needs the mutex
        const lock held(threads_mutex_);
        if (phase_ >= phase::ended || core_.stopping()) return std::nullopt;
        // The thread is started before the worker is attached, because every task that a worker in service accepts must
        // be run. The thread waits for the mutex, and ends if it is given no worker.
        struct thread_work {
            decltype(attach_one()) worker = nullptr;
            team before;  // the thread of the worker's previous life
        };
        const auto given = std::make_shared<thread_work>();
        if (phase_ == phase::running)
            fresh.thread.start([this, given] {
                { const lock begin(threads_mutex_); }
                if (given->worker != nullptr) run_worker(*given->worker);
                given->before.join();
            });
        auto* const worker = attach_one();
        if (worker == nullptr) {
            if (core_.stopping()) return std::nullopt;
            throw no_slot();
        }
        if (is_io(*worker)) is_guest_[worker->index()] = false;
        given->worker = worker;
        // The slot's old thread has left the worker, and runs only destructors of its thread_local objects. These may
        // attach, too, so the old thread may be the calling one, or wait for it. Therefore only the new thread joins
        // the old one, at its own end.
        given->before = std::exchange(thread_of(*worker), std::exchange(fresh.thread, {}));
        return worker->incarnation();
    }

    worker_type* less_busy_of_two() const {
        const auto& workers = core_.io();
        const unsigned n = workers.size();
        if (n == 1) return workers[main_worker];
        const auto [a, b] = two_of(n);
        const auto load = [&workers](unsigned slot) {
            return workers[slot]->id() == worker_type::sources_type::no_worker ? SIZE_MAX
                                                                               : workers[slot]->sources().pending();
        };
        return workers[load(b) < load(a) ? b : a];
    }

    // Two different random numbers below n. Each thread has a generator of its own.
    static std::pair<unsigned, unsigned> two_of(unsigned n) {
        using random = typename Parts::random;
        const auto draw = [n](random& from) {
            const unsigned a = from.below(n), b = from.below(n - 1);
            return std::pair(a, b >= a ? b + 1 : b);
        };
        if constexpr (Sync::checked) {
            random any(0);  // the model checker draws the numbers
            return draw(any);
        } else {
            auto& mine = Sync::template local<std::optional<random>>();
            if (!mine) mine.emplace(static_cast<std::uint64_t>(Sync::now_ns()));
            return draw(*mine);
        }
    }

    typename Sync::template atomic<std::uint64_t> refused_;

    enum class phase { fresh, running, ended, over };
    typename Sync::mutex threads_mutex_;
    phase phase_ = phase::fresh;
    const std::int64_t io_slice_ns_;
    std::int64_t usual_slice_ns_ = 0;  // the slice of the thread that called run; written before any other starts
    // At most one thread for each slot; guarded by threads_mutex_ until phase::ended. They are no single team, which
    // would keep a handle for every attach until the end: here the thread of an attach joins the previous thread of its
    // slot.
    std::array<team, max_workers> io_threads_, compute_threads_;
    // Guarded by threads_mutex_: the slots of IO workers whose last thread was the user's, and how many of those run.
    std::array<bool, max_workers> is_guest_{};
    unsigned guests_ = 0;
    typename Sync::condvar no_guests_;
    // Declared last, and so destroyed first: a callable that it drops may post and attach, which uses the other
    // members.
    core_type core_;
};

using hive = basic_hive<real_sync, epoll_driver, pooled_storage<>>;
using half_stealing_hive = basic_hive<real_sync, epoll_driver, pooled_storage<>, half_stealing_hive_parts<real_sync>>;
using traced_hive = basic_hive<real_sync, epoll_driver, pooled_storage<>, traced_hive_parts<real_sync>>;

}  // namespace apiary
