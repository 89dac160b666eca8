// co_core: a coroutine pool without its threads: the crew, the two doors, and the counters.
//
// When to use it. Through coro_pool, which starts a thread for each worker; in checks that give each worker a thread of
// their own. When not: in programs.
//
// Three things live: a root, from its spawn to its end; a guest, from its resume_on until it leaves; and a branch that
// a guest's scope has forked. The outer door refuses spawns of other threads after a stop. The inner door is open while
// anything lives: so the pool accepts a spawn by a coroutine, and never refuses a thread that brings a coroutine back.
// The crew ends when nothing lives.
//
// Threads.   spawn, wait_for, resume, request_stop, report: any. run_worker: one thread for each worker.
// Progress.  spawn, resume: lock-free (a root with a name takes a mutex). wait_for blocks.
// Invariants
//   I1  Every accepted root ends once: it has run, or was cancelled before it began or by an exception wait_cancelled.
//       accepted = run + cancelled + living.
//   I2  No job of this crew is dropped.
// Synchronisation: front_end S1; two_doors S1; idle_set S1, S2; thread_latch; and
//   S1  spawn, wait_for, resume from outside: fetch_sub of callers_ (release) -> the destructor (acquire). The posted
//       coroutine may be the last, or own the pool: its end destroys the pool while the caller looks for a sleeper.
// Checked by model_check/schedulers/coro_pool. Stressed by stress/schedulers/coro_pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <apiary/schedulers/coro_pool/co_task.hpp>
#include <apiary/schedulers/coro_pool/sources.hpp>
#include <apiary/workers/crew.hpp>
#include <apiary/workers/front_end.hpp>
#include <apiary/workers/thread_latch.hpp>
#include <apiary/workers/two_doors.hpp>

namespace apiary {

// How a pool stops. Either way no spawn from outside is accepted from then on, and the stop waits until nothing lives.
enum class co_stop : std::uint8_t {
    drain,   // living coroutines go on to their ends
    cancel,  // coroutines that have not begun never do, and every stop token of the pool asks for an end
};

struct co_options {
    std::string name = {};  // the report lists a named coroutine while it lives
    // A stop source for this coroutine alone; a cancelling stop of the pool asks it, too. Without one, or with one that
    // has no state (one that was moved from, for example), the coroutine gets the pool's.
    std::optional<std::stop_source> stop = std::nullopt;
    co_priority priority = co_priority::normal;
};

// Features that can be switched off, for measurements of their worth (README.md).
struct co_switches {
    bool stealing = true;     // off: workers post to the crew's pool, and branches stay where they were forked
    bool priorities = false;  // off: every coroutine is normal
};

struct coro_report {
    std::uint64_t run = 0;              // roots that have begun and ended
    std::uint64_t cancelled = 0;        // roots that never began, or ended by wait_cancelled
    std::uint64_t exceptions = 0;       // of those run, how many ended by another exception
    std::uint64_t lost_exceptions = 0;  // exceptions of branches that no await passed on
    std::uint64_t refused = 0;          // spawns that were refused
    std::uint64_t living = 0;           // coroutines that wait to run, run, or are suspended; guests among them
    std::vector<std::string> names;     // the names of living roots that have one
};

template <class Sync, class Parts>
struct co_kind : default_kind<Sync, Parts> {
    using ready = co_context<Sync>;
    template <class Crew, class Worker>
    using sources = co_sources<Crew, Worker>;
};

template <class Sync, class Parts = default_parts<Sync>>
class co_core final : public co_host<Sync>, public front_end<Sync, Parts> {
    using front = front_end<Sync, Parts>;

public:
    using crew_type = crew<co_core, co_kind<Sync, Parts>>;
    using worker_type = typename crew_type::worker_type;
    using context = co_context<Sync>;
    template <class T = void>
    using task = co_task<T, Sync>;

    co_core(unsigned workers, const worker_parameters& parameters, std::int64_t linger_ns = 0,
            exception_handler on_exception = {}, const co_switches& with = {})
        : co_host<Sync>(with.priorities),
          front(std::move(on_exception)),
          linger_ns_(linger_ns),
          steals_(with.stealing),
          crew_(*this, parameters) {
        refused_.store(0, std::memory_order_relaxed);
        callers_.store(0, std::memory_order_relaxed);
        for (unsigned i = 0; i != workers; ++i) {
            crew_.table().attach(crew_);
            crew_.table()[i]->ready().belongs_to(*this, i, steals_);
        }
    }
    // Precondition: no worker runs, and nothing lives. The thread that resumed the last coroutine may not have returned
    // yet.
    ~co_core() {
        crew_.close();
        Sync::spin_until(callers_, [](unsigned n) { return n == 0; });  // S1
    }

    // Starts the task, which nothing awaits. False: the pool has been stopped, and the task still belongs to the
    // caller. A coroutine that runs on this pool is never refused.
    [[nodiscard]] bool spawn(task<>&& t, co_options&& options = {}) {
        if (t.empty()) throw std::logic_error("coro_pool: spawned a task that was awaited before, or moved from");
        context* const here = own_context();
        if (here != nullptr) {
            doors_.enter_inside(here->living);
        } else if (!doors_.enter()) {
            refuse();
            return false;
        }
        auto* const root = make_root(std::move(options));
        root->enlist();
        begin(t.begin_into(root->outcome), *root, here);
        return true;
    }

    // Runs the task, and blocks the calling thread until it has ended. Returns its result or throws its exception.
    // Throws std::logic_error on a worker of this pool, and if the pool has been stopped.
    template <class T>
    T wait_for(task<T> t) {
        if (own_context() != nullptr)
            throw std::logic_error("sync_wait: on a worker of the same pool, which it would block; co_await the task");
        if (t.empty()) throw std::logic_error("sync_wait: the task was awaited before, or moved from");
        if (!doors_.enter()) {
            refuse();
            throw std::logic_error("sync_wait: the pool is stopped, or was not started");
        }
        typename Sync::template scoped<waited<T>> on_stack(*this);
        waited<T>& root = *on_stack;
        begin(t.begin_into(root.outcome), root, nullptr);
        root.over.wait();
        return root.outcome.take();
    }

    void refuse() { refused_.fetch_add(1, std::memory_order_relaxed); }
    // The first call closes the outer door. A cancelling call may follow a draining one.
    void request_stop(co_stop how) noexcept {
        if (how == co_stop::cancel) cancel_all();
        if (doors_.close(all_shares())) end_the_crew();
    }
    bool refuses() const { return doors_.outer_is_closed(); }

    coro_report report() {
        coro_report r;
        for (unsigned i = 0; i != crew_.table().size(); ++i) {
            const context& c = crew_.table()[i]->ready();
            r.run += c.run.get();
            r.cancelled += c.cancelled.get();
            r.exceptions += c.exceptions.get();
            r.lost_exceptions += c.lost_exceptions.get();
        }
        r.refused = refused_.load(std::memory_order_relaxed);
        r.living = doors_.living(all_shares());
        const typename Sync::lock held(names_mutex_);
        for (const spawned* s = named_; s != nullptr; s = s->newer) r.names.push_back(s->name);
        return r;
    }

    // Runs worker i on the calling thread until the crew ends.
    void run_worker(unsigned i) noexcept {
        enter_thread(i);
        worker(i).run();
        Sync::template set_current<context>(nullptr);
    }
    void enter_thread(unsigned i) { Sync::set_current(&worker(i).ready()); }
    worker_type& worker(unsigned i) { return *crew_.table()[i]; }
    const crew_type& the_crew() const { return crew_; }
    crew_type& the_crew() { return crew_; }
    const std::stop_token& token() const { return token_; }

    // The interfaces home and co_host.
    void resume(job<Sync>& what) noexcept override {
        if (context* const here = own_context()) return post_local(*here, what);
        post_from_outside(what);
    }
    void resume_in_lane(job<Sync>& what, co_priority p) noexcept override {
        const bool inside = own_context() != nullptr;
        if (!inside) callers_.fetch_add(1, std::memory_order_relaxed);
        (void)this->lanes().of(p).push(&what);  // never closed: each living coroutine has its turn
        if (p == co_priority::high)
            for (unsigned i = 0; i != crew_.table().size(); ++i) crew_.table()[i]->ready().hurry();
        crew_.wake_one_soon();
        if (!inside) callers_.fetch_sub(1, std::memory_order_release);  // S1
    }
    void resume_behind(job<Sync>& what) noexcept override { post(what); }
    void wake_one() noexcept override { crew_.wake_one(); }
    bool enter() noexcept override { return doors_.enter(); }
    void enter_inside() noexcept override {
        context* const here = own_context();
        here != nullptr ? doors_.enter_inside(here->living) : doors_.enter_inside();
    }
    void leave() noexcept override {
        context* const here = own_context();
        if (here != nullptr ? doors_.leave(here->living) : doors_.leave()) end_the_crew();
    }

    std::int64_t linger_ns() const { return linger_ns_; }  // for the sources

private:
    // The root of a detached coroutine.
    struct spawned : co_root<Sync> {
        co_core& pool;
        co_outcome<void, Sync> outcome;
        std::string name;
        spawned *older = nullptr, *newer = nullptr;  // by names_mutex_

        spawned(co_core& p, co_options&& o) : spawned(p, std::move(o), p.token()) {}
        template <class Token>
        spawned(co_core& p, co_options&& o, Token&& t)
            : co_root<Sync>(p, std::forward<Token>(t), &ended_it, &cancelled_it),
              pool(p),
              name(std::move(o.name)) {
            this->priority = o.priority;
        }
        void enlist() {
            if (name.empty()) return;
            const typename Sync::lock held(pool.names_mutex_);
            newer = pool.named_;
            if (newer != nullptr) newer->older = this;
            pool.named_ = this;
        }
        void strike() {
            if (name.empty()) return;
            const typename Sync::lock held(pool.names_mutex_);
            (older != nullptr ? older->newer : pool.named_) = newer;
            if (newer != nullptr) newer->older = older;
        }
        static void ended_it(co_root<Sync>& r) noexcept {
            auto& me = static_cast<spawned&>(r);
            co_core& pool = me.pool;
            pool.book(me.outcome, true);
            me.strike();
            delete_root(&me);
            pool.leave();
        }
        static void cancelled_it(co_root<Sync>& r, std::exception_ptr why) noexcept {
            static_cast<spawned&>(r).outcome.fail(std::move(why));
            ended_it(r);
        }
    };
    // A root with a stop source of its own, which the pool's stop asks as well.
    struct stopped_apart : spawned {
        struct ask_for_its_end {
            std::stop_source source;
            void operator()() { (void)source.request_stop(); }
        };
        std::stop_callback<ask_for_its_end> at_the_pools;
        token_hooks<Sync> at_its_own;

        stopped_apart(co_core& p, co_options&& o)
            : spawned(p, std::move(o), o.stop->get_token()),
              at_the_pools(p.token(), ask_for_its_end{*o.stop}),
              at_its_own(this->token) {
            this->stops = &at_its_own.hooks();
        }
    };
    template <class T>
    struct waited : co_root<Sync> {
        const typename Sync::template cell<co_core*> pool;  // a cell: a checker sees a read that comes too late
        co_outcome<T, Sync> outcome;
        thread_latch<Sync> over;

        explicit waited(co_core& p) : co_root<Sync>(p, p.token(), &ended_it, &cancelled_it), pool(&p) {}
        static void ended_it(co_root<Sync>& r) noexcept {
            auto& me = static_cast<waited&>(r);
            me.pool.read()->book(me.outcome, false);
            me.pool.read()->leave();
            me.over.count_down();  // the waiting thread's stack may be gone from here on
        }
        static void cancelled_it(co_root<Sync>& r, std::exception_ptr why) noexcept {
            static_cast<waited&>(r).outcome.fail(std::move(why));
            ended_it(r);
        }
    };

    context* own_context() const {
        context* const here = context::here();
        return here != nullptr && here->host() == this ? here : nullptr;
    }
    void post_local(context& here, job<Sync>& what) noexcept {
        if (!steals_) return post(what);
        if (!worker(here.index()).post_local(&what)) refused_what_lives();
    }
    void post(job<Sync>& what) noexcept {
        if (!crew_.post(&what)) refused_what_lives();
    }
    void post_from_outside(job<Sync>& what) noexcept {
        callers_.fetch_add(1, std::memory_order_relaxed);
        post(what);
        callers_.fetch_sub(1, std::memory_order_release);  // S1
    }
    [[noreturn, gnu::cold]] static void refused_what_lives() {
        Sync::fail("coro_pool: a coroutine that lives was refused");
    }

    void begin(co_frame<Sync>& f, co_root<Sync>& r, context* here) {
        f.root_of(r);
        if (home<Sync>& where = this->home_of(r.priority); &where != this)
            where.resume(f);
        else if (here != nullptr)
            post_local(*here, f);
        else
            post_from_outside(f);
    }

    // The caller has passed the door. A root with a stop source of its own that comes after a cancel asks that source
    // at once.
    spawned* make_root(co_options&& o) {
        try {
            return o.stop ? make_apart(std::move(o)) : make<spawned>(std::move(o));
        } catch (...) {
            leave();
            throw;
        }
    }
    [[gnu::noinline, gnu::cold]] spawned* make_apart(co_options&& o) {
        if (o.stop->stop_possible()) return make<stopped_apart>(std::move(o));
        o.stop.reset();
        return make<spawned>(std::move(o));
    }
    template <class Root>
    Root* make(co_options&& o) {
        void* const memory = frame_storage<Sync>::allocate(sizeof(Root));
        try {
            return ::new (memory) Root(*this, std::move(o));
        } catch (...) {
            frame_storage<Sync>::release(memory, sizeof(Root));
            throw;
        }
    }
    static void delete_root(spawned* s) noexcept {
        if (s->stops == nullptr) return destroy(s);
        destroy(static_cast<stopped_apart*>(s));
    }
    template <class Root>
    static void destroy(Root* r) noexcept {
        r->~Root();
        frame_storage<Sync>::release(r, sizeof(Root));
    }

    // Counts the end of a root on the worker where it ended. Nothing awaits a detached root, so its exception goes to
    // the handler.
    template <class T>
    void book(const co_outcome<T, Sync>& outcome, bool detached) noexcept {
        context& here = *context::here();
        if (!outcome.failed()) return here.run.add();
        try {
            std::rethrow_exception(outcome.error());
        } catch (const wait_cancelled&) {
            here.cancelled.add();
        } catch (...) {
            here.run.add();
            here.exceptions.add();
            if (detached && this->on_exception()) this->on_exception()(std::current_exception());
        }
    }

    // Asks the token first: a coroutine whose wait the hooks end then sees that a stop was requested.
    void cancel_all() noexcept {
        (void)stop_source_.request_stop();
        for (unsigned i = 0; i != crew_.table().size(); ++i) (void)crew_.table()[i]->ready().stops.ask();
        (void)this->stops_elsewhere().ask();
    }
    auto all_shares() {
        return [this](auto f) {
            for (unsigned i = 0; i != crew_.table().size(); ++i) f(crew_.table()[i]->ready().living);
        };
    }
    // Nothing lives, and nothing can be spawned any more.
    void end_the_crew() noexcept { this->stop_crews(stop_mode::drain, crew_); }

    const std::int64_t linger_ns_;
    const bool steals_;
    two_doors<Sync> doors_;
    std::stop_source stop_source_;
    const std::stop_token token_ = stop_source_.get_token();
    typename Sync::mutex names_mutex_;
    spawned* named_ = nullptr;  // the newest of the named roots
    typename Sync::template atomic<std::uint64_t> refused_;
    typename Sync::template atomic<unsigned> callers_;  // threads from outside that are inside a post
    crew_type crew_;
};

}  // namespace apiary
