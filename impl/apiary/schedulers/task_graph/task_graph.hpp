// task_graph: a submitter streams tasks that depend on each other through a bounded window; workers of
// several types run them as their producers end.
//
//     apiary::task_graph g({.workers = {2}});
//     const apiary::task_graph::scope s(g);    // or the output of a may be gone before b names it
//     const auto a = g.submit([](auto& t) { *t.template output<int>() = 20; }, {.bytes = sizeof(int)});
//     (void)g.submit({a}, [](auto& t) { use(*t.template input<int>(0)); });
//     g.wait();
//
// When to use it. For graphs that are known only as they are made, however long. When not: for trees
// (fork_join), or tasks without dependencies (hive).
//
// Threads.   submit, scope, wait, close, state, output, window, bytes, report: the submitter, which is one thread at a
//            time. The first four must not be called by a task of this graph, nor by a task that such a task runs while
//            it waits for another graph, nor by the copy or move of a callable, which a submit makes in the middle of
//            its turn. With several_submitters any thread may call submit, wait and close. They exclude each other,
//            also while one of them waits; call state, output, window, bytes and report only while none of them runs.
//            submitted, reclaimed, progress, counters, failures: any thread. write_trace: after close. Construction and
//            destruction: while no other call runs.
// Blocking.  submit waits while the window, the dependencies or the output heap is full. wait and close wait until all
//            tasks have completed. Meanwhile the submitter runs tasks of type 0 if it may (submitter_helps), and sleeps
//            when there are none.
// Order.     A task runs after its producers. When a task ends, its worker takes the tasks of its own type that became
//            ready by that. It runs the one with the highest priority at once (of equal ones the oldest), and then the
//            others in that order. Thieves may take the others: the next one if tasks are long, else the last one. The
//            worker itself takes the last one when its deque's oldest has its turn (workers/fairness.hpp). Tasks of
//            another type go to that crew's pool when they become ready. With a policy other than locality, the policy
//            decides (ready_board.hpp), priorities do not count, and every hand-over takes a mutex.
// Errors.    submit throws before anything has changed: std::invalid_argument (an unknown producer, a type without
//            workers), std::length_error (too many producers, an output larger than the heap), window_stuck (an open
//            scope keeps the window full), std::logic_error (after close, or from a task of this graph), and any
//            exception of copying the callable. state and counters throw std::invalid_argument for a task or a type
//            that does not exist. A task that throws cancels those that depend on it; failures() lists them and the
//            cause, and neither wait nor close throws because of it. close throws std::bad_alloc if there is no memory
//            for its report; the graph is closed then. The destructor makes no report.
// Memory.    Slots of 128 bytes, edges of 12, the output heap, and for each type 8 bytes a slot for ready tasks (24
//            with a policy other than locality). All of it is allocated at the start, and when the window grows.
//            Callables larger than task_body::room bytes, and failures, are allocated one by one. Without memory for a
//            larger deque a worker puts tasks into the pool.
//
// The protocol: README.md.
// Tested by tests/. Checked by model_check/schedulers/task_graph. Stressed by stress/schedulers/task_graph.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <apiary/contract/scheduler.hpp>
#include <apiary/schedulers/task_graph/graph_config.hpp>
#include <apiary/schedulers/task_graph/graph_context.hpp>
#include <apiary/schedulers/task_graph/graph_kind.hpp>
#include <apiary/schedulers/task_graph/graph_scope.hpp>
#include <apiary/schedulers/task_graph/successor_rule.hpp>
#include <apiary/schedulers/task_graph/task_body.hpp>
#include <apiary/schedulers/task_graph/task_window.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/latch.hpp>

namespace apiary {

template <class Sync = real_sync, class Parts = default_parts<Sync>>
class basic_task_graph : public front_end<Sync, Parts> {
    using window_type = task_window<Sync, task_graph_limits, task_body<basic_task_graph>>;
    using slot = typename window_type::slot;
    using kind = graph_kind<Sync, Parts, slot>;
    using crew_type = crew<basic_task_graph, kind>;
    using worker_type = typename crew_type::worker_type;
    using desk_type = typename kind::ready::desk_type;
    enum class no_config {};
    friend task_body<basic_task_graph>;
    friend graph_context<basic_task_graph, worker_type, slot>;
    friend graph_scope<basic_task_graph>;

public:
    using sync = Sync;
    using context = graph_context<basic_task_graph, worker_type, slot>;

    explicit basic_task_graph(const task_graph_config& config = {})
        : config_(checked(config, max_workers)), window_(sizes_of(config)), heap_(new_heap(window_.ring().size())) {
        for (std::size_t type = 0; type != config_.workers.size(); ++type) {
            // Its tasks are worth a theft, and one searcher at a time would wake the workers too slowly.
            crew_type& crew = crews_.emplace_back(
                *this, worker_parameters{.workers_per_searcher = 0,
                                         .idle_cpu = config_.idle_cpu / static_cast<double>(config_.workers.size())});
            // The first worker of type 0 is the submitter, for which no thread is started.
            const unsigned all = config_.workers[type] + (type == 0 ? 1 : 0);
            auto* const desk = config_.policy == ready_policy::locality
                                   ? nullptr
                                   : &desks_.emplace_back(config_.policy, config_.window);
            if (desk == nullptr) crew.pool().reserve(config_.window);
            for (unsigned i = 0; i != all; ++i) {
                crew.table().attach(crew);
                crew.table()[i]->ready().desk = desk;
            }
        }
        start_all(
            threads_, static_cast<unsigned>(crews_.size()), [this](unsigned type) { start_threads(type); },
            [this] { this->stop_crews(stop_mode::drain, crews_); });
    }
    // For `task_graph g({})`, which would otherwise be ambiguous: {} could be a config or a graph.
    explicit basic_task_graph(no_config) : basic_task_graph() {}
    ~basic_task_graph() {
        if (closed_) return;
        const submitter_turn turn(*this);
        end();  // without a report, which needs memory: a destructor must not throw
    }

    // Submits a task that runs after the tasks in `after`. Returns its id; ids count from 0.
    template <class F>
    task_id submit(std::span<const task_id> after, F&& f, task_options options = {}) {
        const submitter_turn turn(*this);
        must_be_open();
        if (options.type >= config_.workers.size() || !somebody_runs(options.type)) [[unlikely]]
            throw std::invalid_argument("task_graph: no workers of type " + std::to_string(options.type) +
                                        "; there are " + std::to_string(config_.workers.size()) + " types");
        const auto [task, ready] = window_.submit(
            after, options.bytes,
            [&](slot& s) { s.fill(std::forward<F>(f), options.type, options.priority, options.ahead_ns); },
            [this](slot& s) { wait_for(s); }, [this](std::size_t slots) { reserve(slots); });
        if (ready) hand_on(*task);
        return task->id.read();
    }
    template <class F>
    task_id submit(std::initializer_list<task_id> after, F&& f, task_options options = {}) {
        return submit(std::span(after.begin(), after.size()), std::forward<F>(f), options);
    }
    template <class F>
        requires(!std::is_convertible_v<F &&, std::span<const task_id>>)
    task_id submit(F&& f, task_options options = {}) {
        return submit(std::span<const task_id>(), std::forward<F>(f), options);
    }

    // An open scope keeps the outputs of the tasks submitted in it. Scopes nest; a task belongs to the innermost.
    using scope = graph_scope<basic_task_graph>;

    // Waits until all submitted tasks have completed.
    void wait() {
        const submitter_turn turn(*this);
        wait_for_all();
    }
    // Waits for all tasks, then ends the open scopes and the workers. A later submit throws std::logic_error.
    task_graph_report close() {
        const submitter_turn turn(*this);
        if (!closed_) end();
        return report();
    }

    // The output of a completed task, while a scope or a consumer holds it. Otherwise empty; also empty for a task that
    // threw or was cancelled.
    std::span<const std::byte> output(task_id id) const {
        const auto* s = window_.completed(id);
        return s == nullptr || s->out.snapshot().failed() ? std::span<const std::byte>() : bytes_of(*s);
    }
    template <class T>
    const T* output(task_id id) const {
        return reinterpret_cast<const T*>(output(id).data());
    }
    task_state state(task_id id) const {
        if (id >= submitted())
            throw std::invalid_argument("task_graph: task " + std::to_string(id) + " has not been submitted yet");
        return window_.state(id);
    }

    // Hints while tasks run. The submitter reclaims slots only when it needs room.
    std::uint64_t submitted() const { return window_.submitted(); }
    std::uint64_t reclaimed() const { return window_.reclaimed(); }
    std::size_t window() const { return window_.slots(); }                         // a submit may enlarge it
    std::size_t bytes() const { return window_.bytes() + window_.ring().size(); }  // of the window and the output heap
    task_graph_progress progress() const {
        task_graph_progress p;
        for (std::size_t type = 0; type != crews_.size(); ++type) p.begun += counters_of(type).begun();
        p.submitted = std::max(submitted(), p.begun);  // so that a task that has begun counts as submitted
        return p;
    }
    std::vector<task_failure> failures() { return window_.failures().entries(); }
    task_graph_counters counters(std::size_t type) const {
        if (type >= crews_.size())
            throw std::invalid_argument("task_graph: no type " + std::to_string(type) + "; there are " +
                                        std::to_string(crews_.size()));
        return counters_of(type);
    }
    task_graph_report report() const {
        task_graph_report r{submitted(), reclaimed(), open_at_close_, {}};
        for (std::size_t type = 0; type != crews_.size(); ++type) r.types.push_back(counters_of(type));
        return r;
    }

    // Writes the events of the workers, type by type, as elements of Chrome's traceEvents. Needs parts that have a
    // trace (graph_kind.hpp). A span is a task together with the successors that ran directly after it. The submitter
    // is worker 0 of type 0.
    void write_trace(std::ostream& out) const
        requires(Parts::trace::on)
    {
        unsigned track = 0;
        for (std::size_t type = 0; type != crews_.size(); ++type)
            for (unsigned i = 0; i != crews_[type].table().size(); ++i)
                crews_[type].table()[i]->events().write(out, ++track, ("type " + std::to_string(type)).c_str(), i);
    }

    // Hides front_end's: a graph is always drained. The constant saves a worker 6 instructions a task.
    static constexpr bool discarding() { return false; }

    // The end function of every slot's job.
    static bool run_job(job<Sync>& self, job_end, any_worker* by) {
        auto& w = *static_cast<worker_type*>(by);
        basic_task_graph& g = w.owner();
        slot* s = static_cast<slot*>(&self);
        unsigned left = g.config_.at_once;
        if (w.ready().desk != nullptr) [[unlikely]]
            return g.run_by_policy(s, w, left);
        for (;;) {
            s = g.run_task(*s, w);
            if (s == nullptr) return true;
            if (--left == 0) break;
            w.ready().at_once.add();
        }
        g.share(*s, w);
        return true;
    }

private:
    static constexpr unsigned max_workers = crew_type::max_workers - 1;

    task_graph_counters counters_of(std::size_t type) const {
        const auto& table = crews_[type].table();
        const worker_counters engine = crews_[type].counters();
        task_graph_counters all{.stolen = engine.stolen, .parked = engine.parked, .woken = engine.woken};
        for (unsigned i = 0; i != table.size(); ++i) add_counters(all, table[i]->ready());
        return all;
    }
    static std::byte* new_heap(std::size_t n) { return new (std::align_val_t{16}) std::byte[n]; }
    // Lets one submitter in at a time. A task of this graph is refused, because it could wait for itself.
    class submitter_turn {
    public:
        explicit submitter_turn(basic_task_graph& g) {
            g.must_be_no_task();
            if (g.config_.several_submitters) held_.emplace(g.submitters_);
        }

    private:
        std::optional<typename Sync::lock> held_;
    };
    // After this, `tasks` tasks may be ready, and a worker that takes one allocates nothing.
    void reserve(std::size_t tasks) {
        for (desk_type& desk : desks_) desk.reserve(tasks);
        if (desks_.empty())
            for (crew_type& c : crews_) c.pool().reserve(tasks);
    }
    void end() {
        wait_for_all();
        open_at_close_ = window_.open_scopes();
        while (window_.open_scopes() != 0) window_.end_scope();
        window_.reclaim();
        closed_ = true;
        stop();
    }
    void wait_for_all() {
        window_.wait_for_all([this](slot& s) { wait_for(s); });
    }
    bool somebody_runs(std::size_t type) const {
        return config_.workers[type] != 0 || (type == 0 && config_.submitter_helps);
    }
    void must_be_no_task() const {
        const worker_type* here = Sync::template current<worker_type>();
        while (here != nullptr && &here->owner() != this) [[unlikely]]
            here = here->owner().beneath(*here);
        if (here != nullptr) [[unlikely]]
            throw std::logic_error(
                "task_graph: a task of this graph calls its submitter's functions; it could wait for itself");
    }
    // The worker of another graph whose task waits for this graph, and so lies below `w` on the same stack.
    const worker_type* beneath(const worker_type& w) const { return &w == crews_[0].table()[0] ? beneath_ : nullptr; }
    void must_be_open() const {
        if (closed_) [[unlikely]]
            throw std::logic_error("task_graph: submit after close");
    }

    std::span<std::byte> bytes_of(const slot& s) const {
        const std::uint32_t bytes = s.bytes.read();
        return bytes == 0 ? std::span<std::byte>() : std::span(heap_.get() + s.output_at(), bytes);
    }

    void hand_on(slot& s) {
        if (!desks_.empty())
            give(s);
        else if (s.type() == 0)
            share(s, submitter());
        else
            post(s);
    }
    void share(slot& s, worker_type& w) {
        put(s, w);
        w.crew().wake_one();
    }
    [[gnu::always_inline]] void put(slot& s, worker_type& w) {  // without memory for the deque: to the pool
        if (!w.ready().push(&s, [&w](fifo_list<slot>& l) { return w.crew().post_list(l); }))
            Sync::fail("task_graph: a crew was closed while tasks lived");
    }
    void post(slot& s) {
        if (!crews_[s.type()].post(&s)) Sync::fail("task_graph: a crew was closed while tasks lived");
    }

    // For a policy with a desk: hands a ready task to the idle worker that should have it.
    void give(slot& s) {
        const std::uint8_t type = s.type();  // read before the push: after it the slot may have its next task
        wake(crews_[type], desks_[type], desks_[type].push(s));
    }
    void wake(crew_type& c, const desk_type& desk, typename desk_type::workers handed) {
        desk.for_each(handed, c.table().size(), [&c](unsigned i) {
            if (worker_type& w = *c.table()[i]; w.claim()) w.wake();
        });
    }
    bool run_by_policy(slot* s, worker_type& w, unsigned at_once) {
        auto& desk = *w.ready().desk;
        for (; at_once != 0; --at_once) {
            const std::int64_t from = config_.policy == ready_policy::min_clock ? this->now_ns() : 0;
            const std::uint8_t type = s->type();
            const task_id cause = run_or_cancel(*s, w);
            if (config_.policy == ready_policy::min_clock) w.ready().worked_ns += this->now_ns() - from;
            fifo_list<slot> made_ready;
            window_.complete(
                *s, cause,
                [&](slot& c) { c.type() == type ? made_ready.push_front(&c) : give(c); },  // they come newest first
                [this] { notify(); });
            const auto [next, handed] = desk.ended(w.index(), w.ready().worked_ns, made_ready);
            wake(w.crew(), desk, handed);
            if ((s = next) == nullptr) return true;
        }
        return desk.keep(w.index(), *s), true;
    }

    // Returns the cause for which the consumers are to be cancelled, or no_cause.
    task_id run_or_cancel(slot& s, worker_type& w) {
        task_id cause = s.cause.load(std::memory_order_relaxed);
        if (cause == window_type::no_cause) [[likely]] {
            s.in.start();
            w.ready().ran.add();
            context c(w, s);
            if (std::exception_ptr thrown = call(s, c)) [[unlikely]] {
                cause = s.id.read();
                w.ready().thrown.add();
                window_.failures().add({cause, cause, std::move(thrown)});
            }
        } else {
            s.forget();
            w.ready().cancelled.add();
            window_.failures().add({s.id.read(), cause, nullptr});
        }
        return cause;
    }
    // Runs or cancels the task, and queues the tasks that became ready by that. Returns the one to run next, or null.
    // Inlined, as put is: otherwise the two cost 8 instructions a task.
    [[gnu::always_inline]] slot* run_task(slot& s, worker_type& w) {
        const std::uint8_t type = s.type();
        const task_id cause = run_or_cancel(s, w);
        slot* next = nullptr;
        unsigned shared = 0;
        window_.complete(
            s, cause,
            [&](slot& consumer) {  // they come newest first
                if (consumer.type() != type) return post(consumer);
                slot* const newer = std::exchange(next, &consumer);
                if (newer == nullptr) return;
                if (newer->priority() != consumer.priority()) [[unlikely]]
                    w.ready().priorities_differ = true;
                put(*newer, w);
                ++shared;
            },
            [this] { notify(); });
        if (shared != 0) {
            if (w.ready().priorities_differ) [[unlikely]]
                next = by_priority(*next, shared, w);
            w.crew().wake_one();
        }
        return next;
    }
    // Orders by priority the tasks that were just put into the deque: the next one to run comes to the end from which
    // this worker takes. Tasks that thieves have taken have begun. If memory was short, some tasks lie in the pool;
    // then as many older tasks of this worker are ordered instead.
    [[gnu::noinline, gnu::cold]] slot* by_priority(slot& oldest, unsigned shared, worker_type& w) {
        w.ready().priorities_differ = false;
        fifo_list<slot> all;
        all.push_back(&oldest);
        for (slot* t = nullptr; shared != 0 && w.ready().pop(t); --shared) all.push_back(t);
        sort_by_priority(all);
        slot* const next = all.pop_front();
        if (!w.takes_its_oldest()) {
            fifo_list<slot> last_first;
            while (slot* t = all.pop_front()) last_first.push_front(t);
            all = std::move(last_first);
        }
        while (slot* t = all.pop_front()) put(*t, w);
        return next;
    }
    // The handler only stores the exception.
    static std::exception_ptr call(slot& s, context& c) noexcept {
        try {
            s.call(c);
        } catch (...) {
            return std::current_exception();
        }
        return nullptr;
    }

    // The submitter waits until a slot is spent, and is notified once (fan_out I4).
    worker_type& submitter() { return *crews_[0].table()[0]; }
    void wait_for(slot& s) {
        waiting_.emplace(submitter());
        if (s.out.watch()) return;
        worker_type* const before = Sync::template current<worker_type>();
        beneath_ = before;
        Sync::set_current(&submitter());
        submitter().help_until(*waiting_, [this] { return config_.submitter_helps; });
        Sync::set_current(before);
        if (!desks_.empty()) wake(crews_[0], desks_[0], desks_[0].leave(0));
    }
    void notify() { waiting_->count_down(); }

    void start_threads(unsigned type) {
        for (unsigned i = type == 0 ? 1 : 0; i != crews_[type].table().size(); ++i)
            threads_.start([w = crews_[type].table()[i]] {
                Sync::set_current(w);
                w->run();
            });
    }
    // No task lives: there is nothing left to drain.
    void stop() {
        this->stop_crews(stop_mode::drain, crews_);
        threads_.join();
    }

    struct free_heap {
        void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{16}); }
    };

    const task_graph_config config_;
    window_type window_;
    const std::unique_ptr<std::byte[], free_heap> heap_;
    typename Sync::mutex submitters_;
    std::deque<desk_type> desks_;  // one for each type; none with locality
    std::deque<crew_type> crews_;
    std::optional<latch<worker_type>> waiting_;  // where the submitter waits
    const worker_type* beneath_ = nullptr;       // the worker of another graph whose task is the submitter that waits
    bool closed_ = false;
    std::size_t open_at_close_ = 0;
    typename Parts::threads threads_;
};

using task_graph = basic_task_graph<>;

}  // namespace apiary
