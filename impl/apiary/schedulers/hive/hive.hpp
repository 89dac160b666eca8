// hive: IO workers with private queues, stealable deques and timers, and compute workers beside
// them.
//
//     apiary::hive h({.io_workers = 2});
//     (void)h.post_micro([&] { …; h.request_stop(); });    // false: it was stopped before
//     h.run();                                             // this thread is IO worker 0; without it nothing runs
//
// When to use it. For many small tasks that post each other, wait for deadlines, or must run on a
// certain thread; with compute workers for long ones. When not: for tasks that block, or wait for
// their children inside a worker.
//
// Threads. The posting calls, attach, detach and request_stop: any thread, and tasks; not signal
//          handlers. run: one thread, once. Construction and destruction: while no other thread
//          uses the hive, which includes threads still inside a post, a request_stop or an
//          attach_this_thread when run() returns.
// Memory.  No heap call per task in the steady state, for callables of up to 40 bytes.
// Order.   What one thread posts to one worker (post_to_worker) begins in the order of the posts,
//          until that worker is detached. For the rest there is no order; a single worker with
//          nothing but outside posts keeps theirs, unless a batch of them (global_batch) is longer
//          than global_probe_interval: the old end's turn then comes within it.
// Fairness. Every accepted task begins after finitely many others, whatever tasks post, as long as
//          each ends.
// Errors.  A posting call throws std::bad_alloc, what copying the callable throws, or
//          std::invalid_argument for an empty std::function or null function pointer, and has then
//          posted nothing. An exception that leaves a task is counted and told to
//          hive_config::on_exception; the worker goes on.
//
// Source: seed 002. The protocol, and where it departs from the seed: README.md beside this file.
#pragma once

#include <array>
#include <chrono>
#include <climits>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <locale>
#include <memory>
#include <mutex>
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
    // Not one for each processor: a hive has the threads that it is told, and run() is one of them. default_workers()
    // (sync/processors.hpp) is how many can run at once, with the control group's quota.
    unsigned io_workers = 1;       // 1 … 280; worker 0 is the thread that calls run()
    unsigned compute_workers = 0;  // 0 … 280
    hive_parameters parameters = {};
    // The time slice that an IO worker asks the system for in a hive that starts with compute workers, so that it gets the processor
    // when it is woken beside them. 0: none. parking/time_slice.hpp
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

public:
    // Throws std::invalid_argument when a number of workers or a parameter is out of range, and
    // std::system_error when a worker's event loop cannot be made.
    explicit basic_hive(const hive_config& config)
        : core_(in_range("hive", config.io_workers, 1U, max_workers, "io_workers"),
                in_range("hive", config.compute_workers, 0U, max_workers, "compute_workers"),
                valid("hive", config.parameters), config.on_exception),
          io_slice_ns_(config.compute_workers == 0
                           ? 0
                           : in_range<std::int64_t>("hive", config.io_slice_ns, 0, INT64_MAX, "io_slice_ns")) {
        refused_.store(0, std::memory_order_relaxed);
    }
    ~basic_hive() {
        const std::lock_guard held(threads_mutex_);
        if (guests_ != 0 || phase_ == phase::running || phase_ == phase::ended)
            Sync::fail("hive: destroyed before run() and every attach_this_thread have returned: its workers still use it");
    }
    basic_hive(const basic_hive&) = delete;
    basic_hive& operator=(const basic_hive&) = delete;

    // False: the hive has been stopped; the callable is destroyed without having run. The same holds
    // for every post below.
    template <class F>
    [[nodiscard]] bool post_micro(F&& callable) {
        pending t = make(std::forward<F>(callable));
        worker_type* here = current();
        if (here == nullptr) Storage::leave_prefetch_hint(t.get());
        return accepted(here != nullptr ? here->post_local(t.get()) : core_.post(t.get()), t);
    }

    // Moves from every element. All of them or none: returns the size of the batch, or 0.
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_micro_batch(std::span<F, Extent> callables) {
        return post_list(callables, [this](auto& tasks) { return core_.post_list(tasks); });
    }

    // Runs on this IO worker, and on no other unless it is detached before. Also false when no worker of this id is in
    // service.
    template <class F>
    [[nodiscard]] bool post_to_worker(unsigned worker, F&& callable) {
        pending t = make(std::forward<F>(callable));
        worker_type* here = current();
        const bool to_itself = here != nullptr && here->incarnation() == worker;
        return accepted(to_itself ? here->sources().post(t.get()) : core_.post_to(worker, t.get()), t);
    }

    // Runs no earlier than `delay` from now; a negative delay counts as none, and one beyond the clock's
    // range as "never". Of two random IO workers the one with fewer timers keeps it (seed 002 section 5.4).
    // The handle is empty when the post was refused. A timer that is not due when the hive stops is
    // discarded. There is no such call for compute tasks.
    template <class F, class Rep, class Period>
    [[nodiscard]] delayed_handle<Sync> post_delayed(F&& callable, std::chrono::duration<Rep, Period> delay) {
        using block = delayed_callable<std::decay_t<F>, Sync>;
        refuse_empty(callable);
        const std::int64_t deadline = deadline_after(core_.now_ns(), delay);
        auto* b = Sync::template create<block>(std::forward<F>(callable));
        delayed_handle<Sync> handle(b);
        pending t;
        try {
            t = make(delayed_entry<Sync>(b));
        } catch (...) {
            handle.cancel();  // the callable is inside already
            throw;
        }
        t->deadline_ns = deadline;
        worker_type* worker = less_busy_of_two();
        worker_type* here = current();
        bool yes = here == worker && serves(*here) ? here->sources().post_delayed(t.get())
                                                   : core_.post_to(worker->id(), t.get());
        if (!yes) yes = core_.post_to(main_worker, t.get());  // the other one is detached
        if (!accepted(yes, t)) return {};
        return handle;
    }

    // Also false when the hive has no compute worker.
    template <class F>
    [[nodiscard]] bool post_compute(F&& callable) {
        pending t = make(std::forward<F>(callable));
        return accepted(core_.post_compute(t.get()), t);
    }

    // As post_micro_batch.
    template <class F, std::size_t Extent>
    [[nodiscard]] std::size_t post_compute_batch(std::span<F, Extent> callables) {
        return post_list(callables, [this](auto& tasks) { return core_.post_compute_list(tasks); });
    }

    // Blocks until the hive was stopped and every worker has ended. Throws std::logic_error when called
    // a second time, std::system_error when a thread cannot be started (the hive is then stopped).
    void run() {
        // One hold of the mutex: an attach in between would have its worker started twice.
        std::unique_lock held(threads_mutex_);
        if (phase_ != phase::fresh) throw std::logic_error("hive::run: called twice; a hive runs once");
        phase_ = phase::running;
        if (io_slice_ns_ != 0) usual_slice_ns_ = time_slice::of_this_thread();
        unsigned io = main_worker + 1, compute = 0;  // the next to be started
        try {
            for (; io < core_.io().size(); ++io)
                if (!is_guest_[io]) start(*core_.io()[io]);
            for (; compute < core_.compute().size(); ++compute) start(*core_.compute()[compute]);
        } catch (...) {
            core_.request_stop(stop_mode::discard);
            held.unlock();
            // Those that have no thread end here what they hold.
            run_worker(*core_.io()[main_worker]);
            for (; io < core_.io().size(); ++io)
                if (!is_guest_[io]) run_worker(*core_.io()[io]);
            for (; compute < core_.compute().size(); ++compute) run_worker(*core_.compute()[compute]);
            join_all();
            throw;
        }
        held.unlock();
        run_worker(*core_.io()[main_worker]);
        join_all();
    }

    // From a task or a source, on an IO worker of this hive: that worker tells the source of its descriptor until it is
    // unwatched; event_source.hpp has the rules. Anywhere else: throws std::logic_error.
    [[nodiscard]] watch_result watch(event_source& source, interest what = {}) {
        worker_type& here = on_a_worker("watch");
        // It has told its sources, or is about to.
        if (core_.stopping() || !serves(here)) return watch_result::worker_ends;
        return here.driver().watch(source, what);
    }
    // False: it is not watched by this worker, or its descriptor has been closed.
    bool rewatch(event_source& source, interest what) { return on_a_worker("rewatch").driver().rewatch(source, what); }
    bool unwatch(event_source& source) { return on_a_worker("unwatch").driver().unwatch(source); }

    // The IO worker whose task calls this.
    std::optional<unsigned> this_worker() const {
        const worker_type* here = current();
        return here == nullptr ? std::nullopt : std::optional(here->incarnation());
    }

    // One more worker, at any time; it starts at once, or with run(). Its id; empty: the hive has been stopped. Each
    // call makes a worker of its own: none can be attached twice. Throws std::length_error when all slots are taken,
    // std::system_error when its event loop or its thread cannot be made, and has then attached none.
    [[nodiscard]] std::optional<unsigned> attach_io_worker() {
        return attach([this] { return core_.attach_io(); });
    }
    [[nodiscard]] std::optional<unsigned> attach_compute_worker() {
        return attach([this] { return core_.attach_compute(); });
    }

    // The calling thread is one more IO worker, at any time, and blocks in `loop`, an event loop of the caller's own (worker_driver)
    // instead of epoll: a UI thread, say. `told(id)` is called once, before the worker begins. Returns when it has been detached or
    // the hive stopped, and all that it held was run, dropped or handed over; run() returns behind that. False: the hive had been
    // stopped before.
    //   loop.poll()   is called at each turn of the worker. What it dispatches is like a task here: it may post, and this_worker() is id.
    //   loop.wait(d)  may dispatch, too, but only what is short. The worker counts as asleep then: a post goes to the pool, and
    //                 this_worker() is empty; and while a post relies on its wake, workers that post wake no other. A loop whose
    //                 handlers are long returns from wait, and dispatches in poll.
    //   loop.wake()   posts nothing, stops and detaches nobody, and returns soon: the poster that wakes waits for it, and so does the
    //                 worker's end. It is not called any more when this has returned: then the loop may go.
    // What leaves told, poll or wait by an exception ends the worker as a detach does, and leaves this call; what leaves wake ends the
    // program. Sources are not watched there (watch_result::wrong_backend). Throws std::logic_error on an IO worker of this hive,
    // also within its loop; and what an attach throws. The thread keeps its time slice.
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
            const std::lock_guard held(threads_mutex_);
            if (--guests_ == 0) no_guests_.notify_all();
        }
        if (guest.thrown) std::rethrow_exception(guest.thrown);
        return true;
    }
    template <worker_driver Loop>
    bool attach_this_thread(Loop& loop) {
        return attach_this_thread(loop, [](unsigned) {});
    }

    // From any thread and from tasks, also of that worker; returns at once. The worker ends the task it is at, and
    // hands over what it holds: tasks to the pool, timers to the main worker. Nothing is dropped. What is posted to it
    // afterwards is refused. The last compute worker stays.
    detach_result detach_io_worker(unsigned id) { return core_.detach_io(id); }
    detach_result detach_compute_worker(unsigned id) { return core_.detach_compute(id); }

    // Returns at once. The first call decides how; later ones change nothing.
    void request_stop(stop_mode how = stop_mode::drain) {
        core_.request_stop(how == stop_mode::discard ? how : stop_mode::drain);  // stop_mode{} is neither
    }

    // After run() has returned. Every accepted task was run, discarded or cancelled.
    stop_report report() const {
        stop_report r;
        const auto add = [&r](const auto& books) {
            r.run += books.tasks_run();
            r.discarded += books.tasks_dropped();
            r.cancelled += books.tasks_cancelled();
            r.exceptions += books.exceptions();
        };
        for (unsigned i = 0; i < core_.io().size(); ++i) add(core_.io()[i]->books());
        for (unsigned i = 0; i < core_.compute().size(); ++i) add(core_.compute()[i]->books());
        r.refused = refused_.load(std::memory_order_relaxed);
        return r;
    }

    // At any time, from any thread: one for each IO worker's slot, then one for each compute worker's.
    std::vector<worker_counters> snapshot() const {
        std::vector<worker_counters> all;
        for (unsigned i = 0; i < core_.io().size(); ++i) all.push_back(core_.io()[i]->counters());
        for (unsigned i = 0; i < core_.compute().size(); ++i) all.push_back(core_.compute()[i]->counters());
        return all;
    }

    // The sum of one of them over all workers: total(&worker_counters::stolen).
    std::uint64_t total(std::uint64_t worker_counters::* which) const {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < core_.io().size(); ++i) sum += core_.io()[i]->counters().*which;
        for (unsigned i = 0; i < core_.compute().size(); ++i) sum += core_.compute()[i]->counters().*which;
        return sum;
    }

    // After run() has returned: what the workers did, in Chrome's JSON, for ui.perfetto.dev. A track for each, the compute
    // workers' behind those of all IO workers there can be.
    void write_trace(std::ostream& to) const
        requires Parts::trace::on
    {
        std::ostream out(to.rdbuf());  // without the flags of `to`, nor its locale, which may part thousands
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

    // In service now. A worker that is leaving is none of them.
    unsigned io_workers() { return core_.serving_io(); }
    unsigned compute_workers() { return core_.serving_compute(); }

private:
    static constexpr unsigned max_workers = core_type::io_crew_type::max_workers;
    static constexpr unsigned main_worker = 0;  // slot and id

    // A task that no worker or pool has accepted yet. Destroyed with this, unless released.
    struct discarder {
        void operator()(task_type* t) const { t->drop(); }
    };
    using pending = std::unique_ptr<task_type, discarder>;

    // The same for many.
    struct task_list {
        fifo_list<task_type> list;
        ~task_list() {
            while (task_type* t = list.pop_front()) t->drop();
        }
    };

    // A null task: an empty std::function, or a null pointer to a function.
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

    // All or none of them, by `post`, which takes the list or leaves it.
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

    // The worker whose task is running on this thread, if it is one of this hive.
    worker_type* current() const {
        worker_type* const here = Sync::template current<worker_type>();
        return here != nullptr && &here->crew() == &core_.io_crew() ? here : nullptr;
    }

    // From its own thread. False: it is detached, and ends when its task does.
    static bool serves(const worker_type& here) { return here.id() == here.incarnation(); }

    worker_type& on_a_worker(const char* call) const {
        if (worker_type* here = current()) return *here;
        throw std::logic_error("hive::" + std::string(call) +
                               ": called outside this hive's IO workers; post a task that calls it there");
    }

    void run_worker(worker_type& worker) { run_worker(worker, io_slice_ns_); }
    void run_worker(worker_type& worker, std::int64_t slice_ns) {
        worker_type* const outer = Sync::template current<worker_type>();
        Sync::set_current(&worker);
        const time_slice shorter(slice_ns);
        worker.run();
        Sync::set_current(outer);
    }
    void run_worker(compute_type& worker) {
        const time_slice usual(usual_slice_ns_);  // an IO worker's task may have started this thread
        worker.run();
    }

    // The hives that this thread is attached to, the last first: `current` is empty while a guest waits in its loop.
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

    // What a guest's worker waits in: the user's loop, until something leaves it by an exception, which detaches the worker.
    template <class Loop>
    struct guest_loop final : guest_core {
        guest_loop(basic_hive& h, worker_type& w, Loop& l) : hive(h), worker(w), loop(l) {}
        void wait(std::int64_t deadline_ns) noexcept override {
            Sync::set_current(static_cast<worker_type*>(nullptr));  // a worker that sleeps pushes nothing (idle_set S2)
            guarded([&] { loop.wait(deadline_ns == INT64_MAX ? Loop::forever : deadline_ns); });
            Sync::set_current(&worker);
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

    // With threads_mutex_ held.
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
            std::unique_lock held(threads_mutex_);
            phase_ = phase::ended;  // no thread is started any more, and no guest comes
            no_guests_.wait(held, [this] { return guests_ == 0; });
        }
        for (auto* threads : {&io_threads_, &compute_threads_})
            for (team& t : *threads) t.join();
        const std::lock_guard held(threads_mutex_);
        phase_ = phase::over;
    }

    static std::length_error no_slot() {
        return std::length_error("hive: " + std::to_string(max_workers) +
                                 " workers of this kind are in service or leaving, which is all there can be; detach "
                                 "one, and try again when it has left");
    }

    // Null: the hive has been stopped.
    worker_type* attach_guest() {
        const std::lock_guard held(threads_mutex_);
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
        std::unique_lock held(threads_mutex_);
        if (phase_ >= phase::ended || core_.stopping()) return std::nullopt;
        // The thread first: what a worker in service accepts must be run. It waits for the mutex, and ends if it is given none.
        struct thread_work {
            decltype(attach_one()) worker = nullptr;
            team before;  // the thread of the worker's life before
        };
        const auto given = std::make_shared<thread_work>();
        struct waiting {
            std::unique_lock<std::mutex>& held;
            team thread;
            ~waiting() {
                held.unlock();
                thread.join();
            }
        } fresh{held, {}};
        if (phase_ == phase::running)
            fresh.thread.start([this, given] {
                std::unique_lock(threads_mutex_).unlock();
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
        // The old thread has left this worker, and runs no more than what its thread_local objects do, which may attach, too: so
        // it may be this thread, or wait for it. Only the fresh one waits for it, at its own end.
        given->before = std::exchange(thread_of(*worker), std::exchange(fresh.thread, {}));
        return worker->incarnation();
    }

    worker_type* less_busy_of_two() const {
        const auto& workers = core_.io();
        const unsigned n = workers.size();
        if (n == 1) return workers[main_worker];
        static thread_local typename Parts::random random(static_cast<std::uint64_t>(Sync::now_ns()));
        const unsigned a = random.below(n);
        unsigned b = random.below(n - 1);
        if (b >= a) ++b;
        const auto load = [&workers](unsigned slot) {
            return workers[slot]->id() == worker_type::sources_type::no_worker ? SIZE_MAX
                                                                               : workers[slot]->sources().pending();
        };
        return workers[load(b) < load(a) ? b : a];
    }

    core_type core_;
    typename Sync::template atomic<std::uint64_t> refused_;

    enum class phase { fresh, running, ended, over };
    std::mutex threads_mutex_;
    phase phase_ = phase::fresh;
    const std::int64_t io_slice_ns_;
    std::int64_t usual_slice_ns_ = 0;  // of the thread that called run; written before any other starts
    std::array<team, max_workers> io_threads_, compute_threads_;  // a thread each, or none; by threads_mutex_ until ended
    // Also by it: the slots of IO workers whose last thread was the user's, and how many of those run.
    std::array<bool, max_workers> is_guest_{};
    unsigned guests_ = 0;
    std::condition_variable no_guests_;
};

using hive = basic_hive<real_sync, epoll_driver, pooled_storage<>>;
using half_stealing_hive = basic_hive<real_sync, epoll_driver, pooled_storage<>, half_stealing_hive_parts<real_sync>>;
using traced_hive = basic_hive<real_sync, epoll_driver, pooled_storage<>, traced_hive_parts<real_sync>>;

}  // namespace apiary
