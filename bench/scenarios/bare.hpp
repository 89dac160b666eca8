// The bare controls: the work of a scenario, done by threads that have no scheduler.
//
// They show how fast this machine can do the same work. Tasks, clock reads and ledger are the same, but nothing is
// queued, shared out or looked for, since every thread knows its tasks beforehand. A runtime stands above its control
// by the cost of scheduling. A control is no lower bound: it does not balance (a thread that others displace keeps its
// share), and it sleeps as a runtime may.
//
// Threads. measure: the main thread. The other threads of a control are its own and end with the run.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "scenarios/floors.hpp"
#include "scenarios/post_latency.hpp"
#include "scenarios/steal_pressure.hpp"
#include "scenarios/timer_lateness.hpp"

namespace apiary::bench {

struct no_runtime {};

// N threads, each of which has every N-th child. The first runs the root: it wakes the others and does its share.
class bare_steal_pressure {
public:
    static report measure(const run_options& options) {
        if (options.param("ops") < options.workers)
            throw unsupported_here("of " + std::to_string(options.param("ops")) +
                                   " children each thread should have one");
        steal_pressure::family f(options);
        team threads(f, options.workers);
        no_runtime none;
        return steal_pressure::measure_family(f, none, options, [&](std::uint64_t ops) { threads.begin(ops); });
    }

private:
    class team {
    public:
        team(steal_pressure::family& f, unsigned size) : family_(f), size_(size) {
            for (unsigned self = 0; self < size; ++self) threads_.emplace_back([this, self] { work(self); });
        }
        ~team() { begin(0); }
        team(const team&) = delete;
        team& operator=(const team&) = delete;

        // Starts the next block; 0 ends the team. The ledger says when the block is over: each thread had a child, so
        // none reads ops_ any more.
        void begin(std::uint64_t ops) noexcept {
            ops_ = ops;
            release(root_);
        }

    private:
        // The number of blocks that have been released to the waiting threads. They sleep, as a runtime's workers do
        // between blocks.
        struct alignas(cache_line) gate {
            std::atomic<std::uint32_t> released{0};
        };

        static void release(gate& g) noexcept {
            g.released.fetch_add(1, std::memory_order_release);
            g.released.notify_all();
        }

        void work(unsigned self) noexcept {
            gate& mine = self == 0 ? root_ : others_;
            for (std::uint32_t done = 0;; ++done) {
                mine.released.wait(done, std::memory_order_acquire);
                const std::uint64_t ops = ops_;
                if (self == 0) {
                    family_.root_begins();
                    release(others_);
                }
                if (ops == 0) return;
                for (std::uint64_t i = self; i < ops; i += size_) family_.child(i);
            }
        }

        steal_pressure::family& family_;
        const unsigned size_;
        std::uint64_t ops_ = 0;  // by the main thread, before it releases the root
        gate root_, others_;
        std::vector<std::jthread> threads_;
    };
};

// One thread that sleeps until the next timer is due. As all delays are equal, timers are due in the order of their
// arming.
class bare_timer_lateness {
public:
    static report measure(const run_options& options) {
        timer_lateness::timers all(options);
        std::vector<std::int64_t> due(all.ops);
        std::atomic<std::uint32_t> armed{0};
        set_timer_slack_1ns();  // the sleeper inherits it
        const std::jthread sleeper([&] {
            armed.wait(0, std::memory_order_acquire);
            for (std::uint64_t i = 0; i < all.ops; ++i) {
                if (now_ns() < due[i]) sleep_until_ns(due[i]);  // a sleep into the past is an interrupt all the same
                all.fired(i, due[i]);
                if (i + all.pending < all.ops) due[i + all.pending] = all.due();
                all.complete(i);
            }
        });
        all.run([&] {
            for (std::uint64_t i = 0; i < all.pending; ++i) due[i] = all.due();
            armed.store(1, std::memory_order_release);
            armed.notify_one();
        });
        return all.result();
    }
};

// One thread that sleeps on a futex, woken for each post.
class bare_post_latency {
public:
    static report measure(const run_options& options) {
        if (options.param("respawners") != 0)
            throw unsupported_here("one thread cannot run other tasks beside the posts");
        open_loop loop(options);
        futex_channel posted;
        const std::jthread woken([&, n = options.plan.size()] {
            for (std::size_t done = 0; done < n;)
                for (const std::size_t sent = posted.receive(); done < sent; ++done) loop.finish(done);
        });
        loop.run([&](std::size_t i) { posted.send(static_cast<std::uint32_t>(i + 1)); });
        return loop.result(no_runtime{});
    }
};

// The entry of a scenario whose control this is: its name, parameters and row.
template <class Scenario, class Control>
[[nodiscard]] constexpr scenario_entry bare_entry() {
    return {Scenario::name, Scenario::open_loop, Scenario::parameters, &Control::measure};
}

}  // namespace apiary::bench
