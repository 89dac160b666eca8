// processes: a scheduler of a great many light processes that send each other messages.
//
//     apiary::processes all({.workers = 2});
//     const auto made = all.spawn(std::make_unique<counter>(), "count");
//     all.send(made.id, 42);
//     const auto report = all.stop();               // all are told to end; join() waits until they have by themselves
//
// When to use it. For up to millions of things that wait for messages, each with a state that no lock guards. When not:
// for callables that wait for nothing (hive), to divide one computation (fork_join), or if steps block.
//
// Threads. stop and join: any thread but a worker, several at a time; each stop keeps its own deadline, even while a
//          join waits. All else, except construction and destruction: any thread, also in a step (process_core.hpp).
// Idle.    A worker that finds no process to run sleeps.
// Errors.  Construction: std::invalid_argument if a number is out of range, std::system_error if a thread cannot be
//          started. stop and join on a worker: std::logic_error, since they would wait for their caller.
// Memory.  Without memory a spawn, a send or a call is refused. stop then ends everything and throws std::bad_alloc
//          because there is no memory for its report; a later stop returns the report. README.md, "Bad input", has the
//          rest.
// Ends.    The destructor calls stop(stop_ns), and then waits for each step that has not returned, and for offloaded
//          calls. Precondition: no other thread is in a call, or will make one; this includes request_stop.
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
    // For `processes all({})`, which would otherwise be ambiguous: {} could also be a `processes` to copy.
    explicit basic_processes(std::initializer_list<nothing>) : basic_processes() {}
    ~basic_processes() { end(); }

    unsigned workers() const { return core::crew().table().size(); }

    // Refuses spawns from outside, asks every process to end, and waits up to `ns`. Then it ends the remaining
    // processes without a step, and waits up to `force_ns`. If the report is not `over`, a step has not returned or an
    // offloaded call is unfinished; nothing is lost then, and a later call continues.
    process_stop_report stop(std::int64_t ns) {
        refuse_workers();
        stop_until(deadline(ns));
        return core::report();
    }
    process_stop_report stop() { return stop(stop_ns_); }
    // Refuses spawns from outside, and waits until all processes have ended by themselves.
    void join() {
        refuse_workers();
        core::close_the_door();
        (void)core::wait_until(Sync::forever);
        join_threads();
    }

    // Writes the workers' trace as elements of Chrome's traceEvents. Precondition: a join, or a stop whose report is
    // `over`, has returned. Only if the policy has a trace (process_config.hpp).
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
    // As stop, but without a report, which would need memory.
    void end() {
        refuse_workers();
        stop_until(deadline(stop_ns_));
        (void)core::wait_until(Sync::forever);
        join_threads();
        watcher_.join();
    }
    // Precondition: nothing lives, so the threads are about to end.
    void join_threads() {
        const typename Sync::lock one_at_a_time(join_mutex_);
        threads_.join();
    }
    // Reports each stalled step once. `told`: for each worker, the process that was reported last. Without memory a
    // look is skipped.
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
    typename process_parts<Sync>::threads threads_, watcher_;  // watcher_: the thread that looks for stalled steps
};

using processes = basic_processes<>;
using processes_config = basic_process_config<>;

}  // namespace apiary
