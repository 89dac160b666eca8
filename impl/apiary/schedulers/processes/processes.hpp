// processes: a scheduler of a great many light processes that send each other messages.
//
//     apiary::processes all({.workers = 2});
//     const auto made = all.spawn(std::make_unique<counter>(), "count");
//     all.send(made.id, 42);
//     const auto report = all.stop();               // all are told to end; join() waits until they have by themselves
//
// When to use it. For a million things that wait for messages, each with a state of its own that no lock guards. When not: for
// callables that wait for nothing (hive), for a computation to be divided (fork_join), or where steps block.
//
// Threads. stop and join: any thread but a worker, also at a time; each stop keeps its own deadline, also beside a join. The
//          rest, but construction and destruction: any thread, also in a step (process_core.hpp).
// Idle.    A worker that finds no process to run sleeps.
// Errors.  Construction: std::invalid_argument when a number is out of range, std::system_error when a thread cannot be
//          started. stop and join on a worker: std::logic_error, since they would wait for their caller.
// Memory.  A spawn, send or call for which there is none is refused, and stop without any throws std::bad_alloc when all has been
//          stopped, for the report: a later call has it. README.md, "Bad input", has the rest.
// Ends.    The destructor is stop(stop_ns), and waits for steps that do not return as long as they take. Precondition: no other
//          thread is in a call, also of request_stop, or comes with one. For what was offloaded the end waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <apiary/schedulers/processes/process_core.hpp>
#include <apiary/sync/processors.hpp>

namespace apiary {

template <class Sync = real_sync>
class basic_processes : public process_core<Sync> {
    using core = process_core<Sync>;
    struct nothing {};

public:
    explicit basic_processes(const basic_process_config<Sync>& config = {})
        : core(number_of(config.workers), checked(config)), stop_ns_(config.stop_ns), force_ns_(config.force_ns) {
        start_all(
            threads_, workers(), [this](unsigned i) { threads_.start([this, i] { run_worker(i); }); },
            [this] { core::request_stop(); });
        if (config.on_stall && config.stall_ns > 0)
            start_all(
                watcher_, 1,
                [&](unsigned) {
                    watcher_.start([this, ns = config.stall_ns, tell = config.on_stall,
                                    told = std::vector<pid>(workers())]() mutable { watch(ns, tell, told); });
                },
                [this] {
                    core::request_stop();
                    threads_.join();
                });
    }
    // What `processes all({})` calls. Without it {} might as well be a `processes` to be copied, and nothing would compile.
    explicit basic_processes(std::initializer_list<nothing>) : basic_processes() {}
    ~basic_processes() { end(); }

    unsigned workers() const { return core::crew().table().size(); }

    // No more spawns from outside. Every process is told to end, and has so long to do so; then those that are left are ended,
    // without a step, and have `force_ns`. Not over: a step has not returned. Nothing is lost then, and a later call goes on.
    process_stop_report stop(std::int64_t ns) {
        refuse_workers();
        stop_until(deadline(ns));
        return core::report();
    }
    process_stop_report stop() { return stop(stop_ns_); }
    // No more spawns from outside; until all have ended by themselves.
    void join() {
        refuse_workers();
        core::close_the_door();
        (void)core::wait_until(Sync::forever);
        join_threads();
    }

    // Writes what the workers did, as elements of Chrome's traceEvents. Precondition: a join, or a stop that says that
    // it is over, has returned. Only under a policy that is traced (process_config.hpp).
    void write_trace(std::ostream& out) const
        requires(process_parts<Sync>::trace::on)
    {
        for (unsigned i = 0; i != core::crew().table().size(); ++i)
            core::crew().table()[i]->events().write(out, i + 1, "process", i);
    }

private:
    static constexpr unsigned max_workers = core::crew_type::max_workers;

    static unsigned number_of(unsigned workers) {
        if (workers != 0) return workers;
        return std::min(default_workers(), max_workers);
    }
    static const basic_process_config<Sync>& checked(const basic_process_config<Sync>& c) {
        if (c.workers > max_workers)
            throw std::invalid_argument("processes: workers is " + std::to_string(c.workers) + "; it can be 1 to " +
                                        std::to_string(max_workers) + ", or 0 for the number of processors");
        if (c.handlers.contains(core::sleep_command))
            throw std::invalid_argument("processes: a handler for sleep_command, which is built in");
        for (const auto& [id, handler] : c.handlers)
            if (!handler)
                throw std::invalid_argument("processes: the handler of command " + std::to_string(id) + " is empty");
        if (c.stall_ns < 0) throw std::invalid_argument("processes: stall_ns is negative");
        if (c.stop_ns < 0 || c.force_ns < 0) throw std::invalid_argument("processes: stop_ns or force_ns is negative");
        return c;
    }
    void refuse_workers() {
        if (core::current() != nullptr)
            throw std::logic_error(
                "processes: stop or join on a worker would wait for itself; request_stop() does not wait");
    }
    std::int64_t deadline(std::int64_t ns) const {
        const std::int64_t now = core::now_ns();
        return ns < Sync::forever - now ? now + ns : Sync::forever;
    }
    void run_worker(unsigned i) {
        auto* const w = core::crew().table()[i];
        Sync::set_current(w);
        w->run();
    }
    void stop_until(std::int64_t deadline_ns) {
        core::request_stop();
        if (!core::wait_until(deadline_ns)) {
            core::force();
            (void)core::wait_until(deadline(force_ns_));
        }
        if (core::over()) join_threads();
    }
    // As stop, but without a report, which takes memory.
    void end() {
        refuse_workers();
        stop_until(deadline(stop_ns_));
        (void)core::wait_until(Sync::forever);
        join_threads();
        watcher_.join();
    }
    // Nothing lives: they are about to end.
    void join_threads() {
        const typename Sync::lock one_at_a_time(join_mutex_);
        threads_.join();
    }
    // Each step that stalls is named once. `told`: by worker, the step that was named last. A look without memory sees nothing.
    void watch(std::int64_t ns, const std::function<void(const stalled_step&)>& tell, std::vector<pid>& told) {
        while (!core::over()) {
            std::vector<stalled_step> seen;
            try {
                seen = core::stalled(ns);
            } catch (const std::bad_alloc&) {
                Sync::sleep_ns(10'000'000);
                continue;
            }
            for (unsigned w = 0; w != told.size(); ++w) {
                const auto s = std::find_if(seen.begin(), seen.end(), [w](const stalled_step& x) { return x.worker == w; });
                const pid now = s != seen.end() ? s->id : pid{};
                if (now && told[w] != now) tell(*s);
                told[w] = now;
            }
        }
    }

    const std::int64_t stop_ns_, force_ns_;
    typename Sync::mutex join_mutex_;
    typename process_parts<Sync>::threads threads_, watcher_;  // the watcher: of steps that do not return
};

using processes = basic_processes<>;
using processes_config = basic_process_config<>;

}  // namespace apiary
