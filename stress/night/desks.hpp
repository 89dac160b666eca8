// desks: every scheduler under the names that a night's rounds have in common, as it ships: over the real policy.
//
//   desk(setting, books)   makes it, and starts its workers
//   post(random)           a few pieces of work, of the scheduler's own kinds. False: refused, or the numbers are used up.
//   request_stop(how)      any thread, at any moment
//   end(how)               after all posters: stops it, and returns when no worker runs any more
//   may_drop()             whether it was asked for a stop that discards
//   failure()              after end: why no worker could run
//   sleeps(), describe()   how often its workers slept; what they did, for a dump
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <apiary/schedulers/all.hpp>

#include "books.hpp"
#include "faults.hpp"

namespace apiary::night {

using dice = real_sync::random_source;

// What a variant changes.
struct setting {
    unsigned workers = 2;
    bool spins = true;       // false: a worker that finds nothing sleeps at once
    bool throws = false;     // one piece in 97 ends by an exception
    bool full = false;       // posts in long batches, and small windows
    bool churns = false;     // workers are attached and detached
    std::size_t ids = 6000;  // of a round
};

struct piece_threw {};

// What all have: the books, and the body of a piece. A piece posts others where its scheduler takes posts from tasks.
template <class Desk>
class common_desk {
public:
    common_desk(const setting& s, books& b) : setting_(s), books_(b) {}
    books& its_books() { return books_; }
    void body(std::size_t id) {
        books_.took(id);
        if constexpr (Desk::tasks_post) {
            if (id % 3 == 0) {
                dice random(id);
                for (int n = 0; n != 2; ++n) (void)one(random);
            }
        }
        if (setting_.throws && id % 97 == 0) throw piece_threw();
    }
    void request_stop(stop_mode how) {
        stopped_ = true;
        if (how == stop_mode::discard) drops_ = true;
        self().stop_it(how);
    }
    bool may_drop() const { return drops_.load(); }
    bool stop_asked() const { return stopped_.load(); }
    bool post(dice& random) {
        bool accepted = true;
        for (unsigned n = setting_.full ? 600 : 1 + random.below(8); n != 0; --n) accepted &= one(random);
        return accepted;
    }
    void churn() {}
    std::string failure() const { return ""; }  // why its workers could not run

    static constexpr bool tasks_post = true;
    // A drain drops timers that are not due: to see all pieces run, a round waits for them before it asks for one.
    static constexpr bool waits_first = false;

protected:
    // A piece of its own number, handed to `take`, which says whether it was accepted. Without memory it was not.
    template <class Take>
    bool posted(Take take, answer yes_means = answer::accepted) {
        std::size_t id = 0;
        if (!books_.fresh(1, id)) return false;
        bool yes = false;
        try {
            yes = take(piece<Desk>(self(), id));
        } catch (const std::bad_alloc&) {
        } catch (const std::system_error&) {
        }
        books_.answered(id, yes ? yes_means : answer::refused);
        return yes;
    }
    // No memory is no reason for a poster to go.
    bool one(dice& random) {
        return self().post_one(random) ||
               (!books_.all_used() && books_.refusals() < refusals_that_end && !stop_asked());
    }
    worker_parameters parameters() const {
        worker_parameters p;
        if (!setting_.spins) p.looks_before_sleep = 0, p.naps = 0, p.steal_rounds = 1;
        return p;
    }
    std::int64_t linger_ns() const { return setting_.spins ? 100'000 : 0; }
    static std::string told(const worker_counters& c) {
        return "run " + std::to_string(c.run) + ", discarded " + std::to_string(c.discarded) + ", parked " +
               std::to_string(c.parked) + ", woken " + std::to_string(c.woken) + ", stolen " + std::to_string(c.stolen);
    }

    const setting& setting_;
    books& books_;

private:
    static constexpr std::uint64_t refusals_that_end = 2000;
    Desk& self() { return static_cast<Desk&>(*this); }
    std::atomic<bool> drops_ = false, stopped_ = false;
};

class bare_pool_desk : public common_desk<bare_pool_desk> {
public:
    static constexpr std::string_view name = "bare_pool";
    bare_pool_desk(const setting& s, books& b)
        : common_desk(s, b), pool_(s.workers, [](const std::exception_ptr&) {}, parameters()) {}
    bool post_one(dice&) {
        return posted([&](auto p) { return pool_.post(std::move(p)); });
    }
    void stop_it(stop_mode how) { pool_.request_stop(how); }
    void end(stop_mode how) { pool_.stop(how); }
    std::uint64_t sleeps() const { return pool_.counters().parked; }
    std::string describe() const { return told(pool_.counters()); }

private:
    bare_pool pool_;
};

class global_queue_desk : public common_desk<global_queue_desk> {
public:
    static constexpr std::string_view name = "global_queue";
    global_queue_desk(const setting& s, books& b) : common_desk(s, b), queue_({.workers = s.workers}) {
        queue_.start();
    }
    bool post_one(dice&) {
        return posted([&](auto p) { return queue_.post(std::move(p)); });
    }
    void stop_it(stop_mode how) { queue_.request_stop(how); }
    void end(stop_mode how) {
        queue_.request_stop(how);
        queue_.join();
    }
    std::uint64_t sleeps() const { return 0; }  // it does not count them
    std::string describe() const { return "global_queue"; }

private:
    global_queue queue_;
};

class coro_pool_desk : public common_desk<coro_pool_desk> {
public:
    static constexpr std::string_view name = "coro_pool";
    coro_pool_desk(const setting& s, books& b)
        : common_desk(s, b),
          pool_({.workers = s.workers, .linger_ns = linger_ns(), .on_exception = [](const std::exception_ptr&) {}}) {
        (void)pool_.start();
    }
    bool post_one(dice& random) {
        const bool yields = random.below(4) == 0;
        return posted([&](auto p) { return pool_.spawn(coroutine(std::move(p), yields)); });
    }
    void stop_it(stop_mode how) { pool_.request_stop(of(how)); }
    void end(stop_mode how) { pool_.stop(of(how)); }
    std::uint64_t sleeps() const { return pool_.counters().parked; }
    std::string describe() { return told(pool_.counters()) + ", " + std::to_string(pool_.report().living) + " live"; }

private:
    static co_stop of(stop_mode how) { return how == stop_mode::drain ? co_stop::drain : co_stop::cancel; }
    static co_task<> coroutine(piece<coro_pool_desk> p, bool yields) {
        if (yields) co_await yield_turn();
        p();
    }
    coro_pool pool_;
};

// A call of run for each piece, or a loop over several; a stop cuts the loops.
class fork_join_desk : public common_desk<fork_join_desk> {
public:
    static constexpr std::string_view name = "fork_join";
    static constexpr bool tasks_post = false;
    fork_join_desk(const setting& s, books& b)
        : common_desk(s, b), pool_({.workers = s.workers, .linger_ns = linger_ns()}) {}
    bool post_one(dice& random) {
        const std::size_t n = setting_.full ? 300 : 1 + random.below(40);
        std::size_t first = 0;
        if (stop_.stop_requested() || !its_books().fresh(n, first)) return false;
        bool whole = false, called = true;
        try {
            whole = pool_.run([&](auto& w) {
                return parallel_for(w, first, first + n, [this](std::size_t id) { body(id); },
                                    {.grain = 1, .stop = stop_.get_token()});
            });
        } catch (const piece_threw&) {
        } catch (const std::bad_alloc&) {
            called = false;
        }
        for (std::size_t id = first; id != first + n; ++id) {
            its_books().answered(id, whole ? answer::accepted : called ? answer::loose : answer::refused);
            its_books().ended(id);
        }
        return true;
    }
    void stop_it(stop_mode) { stop_.request_stop(); }
    void end(stop_mode) {}
    std::uint64_t sleeps() const { return pool_.counters().parked; }
    std::string describe() const {
        const auto c = pool_.counters();
        return "roots " + std::to_string(c.roots) + ", parked " + std::to_string(c.parked) + ", woken " +
               std::to_string(c.woken);
    }

private:
    std::stop_source stop_;
    fork_join_pool pool_;
};

// A piece is a process of one step.
class processes_desk : public common_desk<processes_desk> {
public:
    static constexpr std::string_view name = "processes";
    processes_desk(const setting& s, books& b)
        : common_desk(s, b), all_({.workers = s.workers, .parameters = parameters(), .force_ns = 60'000'000'000}) {}
    bool post_one(dice&) {
        return posted(
            [&](auto p) { return static_cast<bool>(all_.spawn(std::make_unique<of_one_step>(std::move(p)))); });
    }
    void stop_it(stop_mode how) {
        if (how == stop_mode::discard) all_.request_stop();
    }
    void end(stop_mode how) {
        if (how == stop_mode::drain && !may_drop())
            all_.join();
        else
            (void)all_.stop();
    }
    std::uint64_t sleeps() const { return all_.counters().parked; }
    std::string describe() const {
        const auto c = all_.counters();
        return "spawned " + std::to_string(c.spawned) + ", living " + std::to_string(c.living) + ", parked " +
               std::to_string(c.parked);
    }

private:
    struct of_one_step : process {
        explicit of_one_step(piece<processes_desk> p) : p_(std::move(p)) {}
        init_answer init(context&, std::string_view, payload) override { return init_answer::ready; }
        void step(events&, output& out) override {
            p_();
            out.finish();
        }
        piece<processes_desk> p_;
    };
    processes all_;
};

// Every piece runs after the one that its poster submitted before.
class task_graph_desk : public common_desk<task_graph_desk> {
public:
    static constexpr std::string_view name = "task_graph";
    static constexpr bool tasks_post = false;
    task_graph_desk(const setting& s, books& b)
        : common_desk(s, b),
          graph_(
              {.workers = {s.workers}, .window = s.full ? 4U : 64U, .dependencies = 256, .several_submitters = true}) {}
    bool post_one(dice&) {
        return posted([&](auto p) {
            try {
                (void)graph_.submit(std::move(p));
                return true;
            } catch (const std::logic_error&) {  // it is closed
                return false;
            }
        });
    }
    void stop_it(stop_mode how) { end(how); }
    void end(stop_mode) {
        try {
            (void)graph_.close();
        } catch (const std::bad_alloc&) {  // for its report; the graph is closed
        }
    }
    std::uint64_t sleeps() const { return graph_.counters(0).parked; }
    std::string describe() const {
        const auto p = graph_.progress();
        return "submitted " + std::to_string(p.submitted) + ", begun " + std::to_string(p.begun);
    }

private:
    task_graph graph_;
};

// Posts of all kinds, timers, a descriptor that becomes readable again and again, workers that come and go.
class hive_desk : public common_desk<hive_desk> {
public:
    static constexpr std::string_view name = "hive";
    static constexpr bool waits_first = true;
    hive_desk(const setting& s, books& b)
        : common_desk(s, b),
          hive_({.io_workers = s.workers,
                 .compute_workers = 1,
                 .parameters = numbers(),
                 .on_exception = [](const std::exception_ptr&) {}}),
          thread_([this] { run(); }) {
        try {
            (void)hive_.post_micro([this] { watch(); });
        } catch (const std::bad_alloc&) {
        }
    }
    ~hive_desk() {
        if (thread_.joinable()) end(stop_mode::discard);
        ::close(source_.descriptor());
    }
    bool post_one(dice& random) {
        if (random.below(8) == 0) source_.tell();
        switch (random.below(8)) {
            case 0:
                return posted([&](auto p) { return hive_.post_compute(std::move(p)); });
            case 1:
                return posted(
                    [&](auto p) { return hive_.post_to_worker(random.below(setting_.workers), std::move(p)); });
            case 2:
                return posted(
                    [&](auto p) {
                        return bool(hive_.post_delayed(std::move(p), std::chrono::microseconds(random.below(200))));
                    },
                    answer::loose);
            default:
                return posted([&](auto p) { return hive_.post_micro(std::move(p)); });
        }
    }
    void churn() {
        try {
            if (const auto id = hive_.attach_io_worker()) (void)hive_.detach_io_worker(*id);
            if (const auto id = hive_.attach_compute_worker()) (void)hive_.detach_compute_worker(*id);
        } catch (const std::bad_alloc&) {
        } catch (const std::system_error&) {
        }
    }
    std::string failure() const { return failure_; }
    void stop_it(stop_mode how) { hive_.request_stop(how); }
    void end(stop_mode how) {
        // A lost event is a hang, which the watchdog tells.
        while (how == stop_mode::drain && !stop_asked() && source_.has_unread()) sleep_seconds(50e-6);
        hive_.request_stop(how);
        thread_.join();
    }
    std::uint64_t sleeps() const { return hive_.total(&worker_counters::parked); }
    std::string describe() const {
        std::string all;
        for (const worker_counters& c : hive_.snapshot()) {
            if (!all.empty()) all += "\n";
            all += (c.kind == worker_kind::io ? "io " : "compute ") + std::to_string(c.slot) + ": " + told(c);
        }
        return all;
    }

private:
    struct a_source final : descriptor_source {
        a_source() : descriptor_source(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
        void on_ready(readiness) noexcept override {
            std::uint64_t n = 0;
            if (::read(descriptor(), &n, sizeof n) == sizeof n) told += n;
        }
        void on_gone(gone) noexcept override { watched = false; }
        void tell() {
            const std::uint64_t one = 1;
            if (::write(descriptor(), &one, sizeof one) == sizeof one) ++written;
        }
        bool has_unread() const { return watched && told != written; }
        std::atomic<std::uint64_t> told = 0, written = 0;
        std::atomic<bool> watched = false;
    };
    void watch() {
        try {
            source_.watched = hive_.watch(source_) == watch_result::watched;
        } catch (const std::bad_alloc&) {
        } catch (const std::system_error&) {
        }
    }
    void run() {
        try {
            hive_.run();
        } catch (const std::exception&
                     e) {  // a thread could not be started, or there was no memory: the hive has dropped all
            one_in = 0, allocations_left = none_fails;
            failure_ = e.what();
            request_stop(stop_mode::discard);
        }
    }
    hive_parameters numbers() const {
        hive_parameters p;
        if (!setting_.spins) p.looks_before_sleep = 0, p.naps = 0, p.steal_rounds = 1;
        return p;
    }
    a_source source_;
    std::string failure_;
    hive hive_;
    std::thread thread_;
};

}  // namespace apiary::night
