// The injector of open-loop scenarios: releases work at the times of a plan, on a thread of its own.
//
// It sleeps until spin_ns before the next intended time, looks at the clock for the rest, and releases everything that
// is due, late or not. The latency of a task counts from the intended time all the same. The delay that the injector
// itself added is recorded for each post, so that open_loop.hpp can tell which figures the injector made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <apiary/bench/host.hpp>
#include <apiary/bench/ledger.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary::bench {

// The first 10 % of n samples are left out of histograms, rounded down.
[[nodiscard]] constexpr std::size_t discarded(std::size_t n) noexcept { return n / 10; }

// The injector's own lateness, post after post. A post waits for the posts before it, and the time that these took is
// the runtime's: it counts as latency, not as lateness. The rest is the delay that an injector which never oversleeps
// and always runs would not have added. An injector that other threads may displace in the midst of a post cannot tell
// the two apart: all of the delay counts as its own.
class own_lateness {
public:
    explicit own_lateness(bool undisplaced) : undisplaced_(undisplaced) {}

    // The lateness of a post that was released at injected_ns and whose call returned at back_ns.
    [[nodiscard]] std::int64_t of(std::int64_t intended_ns, std::int64_t injected_ns, std::int64_t back_ns) noexcept {
        const std::int64_t ideal = std::max(intended_ns, free_);
        if (undisplaced_) free_ = ideal + (back_ns - injected_ns);
        return injected_ns - ideal;
    }

private:
    const bool undisplaced_;
    std::int64_t free_ = 0;  // when an injector that is never late would have been back from the post before
};

// Processor time of the injector itself: its sleeps and its looks at the clock. The processor time of a post is the
// runtime's. A look of a microsecond or more was interrupted: by the kernel, for some ten microseconds that it charges
// to the thread, or by another thread, if one may displace the injector. So an injector that others may displace counts
// only looks below longest_look_ns, any other one those below longest_interrupt_ns.
class own_cost {
public:
    static constexpr std::int64_t longest_look_ns = 1000, longest_interrupt_ns = 100'000;

    explicit own_cost(bool undisplaced) : undisplaced_(undisplaced) {}

    // Adds the processor time of a sleep.
    void slept(std::int64_t cpu_ns) noexcept { ns_ += cpu_ns; }

    // Adds a look at the clock that took so long.
    void looked(std::int64_t ns) noexcept {
        if (ns < (undisplaced_ ? longest_interrupt_ns : longest_look_ns)) ns_ += ns;
    }

    // The injector's own share, at most the processor time that its thread has used in all.
    [[nodiscard]] std::int64_t of(std::int64_t thread_ns) const noexcept { return std::min(ns_, thread_ns); }

private:
    const bool undisplaced_;
    std::int64_t ns_ = 0;
};

struct injection {
    std::int64_t zero_ns = 0;            // the start of the measurement, now_ns
    std::vector<std::int64_t> lateness;  // the injector's own, for each post
    std::int64_t cost_ns = 0;            // processor time of the injector itself
    bool undisplaced = false;            // no thread of ordinary priority ran in its place
};

// Sleeping costs a machine like this 20 to 50 us beyond the time asked for, most of the time.
inline constexpr std::int64_t injector_spin_ns = 80'000;

// How an injector waits that has nothing else to do. One that has may bring a wait of its own, and with it
// `void is_late()`: called before a release that is due already, where the other two are not called.
struct idle_wait {
    void sleep_until(std::int64_t due_ns) noexcept { sleep_until_ns(due_ns); }
    void look() noexcept { real_sync::relax(); }  // between two looks at the clock
};

// Calls release(i) for each i of the plan, at or after zero + plan[i]. Call it on a thread that ends afterwards: it
// raises the thread's priority. With one processor for all, looking at the clock would keep the runtime from running.
template <class Release, class Wait = idle_wait>
[[nodiscard]] injection inject(std::span<const std::int64_t> plan, Release release, Wait wait = {},
                               bool looks = usable_processors() > 1) {
    // The measurement starts this much later: the injector should be asleep when the first time comes.
    constexpr std::int64_t lead_ns = 10'000'000;
    injection done;
    done.lateness.resize(plan.size());
    set_timer_slack_1ns();
    done.undisplaced = raise_priority();
    const std::int64_t margin_ns = looks ? injector_spin_ns : 0;
    own_lateness late(done.undisplaced);
    own_cost cost(done.undisplaced);
    done.zero_ns = now_ns() + lead_ns;
    std::int64_t now = now_ns();
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const std::int64_t intended = done.zero_ns + plan[i];
        if (now < intended - margin_ns) {
            const std::int64_t before = thread_cpu_ns();
            wait.sleep_until(intended - margin_ns);
            cost.slept(thread_cpu_ns() - before);
            now = now_ns();
        } else if constexpr (requires { wait.is_late(); }) {
            if (now >= intended) {
                wait.is_late();
                now = now_ns();
            }
        }
        while (now < intended) {
            wait.look();
            const std::int64_t look = now_ns();
            cost.looked(look - now);
            now = look;
        }
        release(i);
        const std::int64_t back = now_ns();
        done.lateness[i] = late.of(intended, now, back);
        now = back;
    }
    done.cost_ns = cost.of(thread_cpu_ns());
    return done;
}

// The same on a new thread; returns when the last task has been released.
template <class Release>
[[nodiscard]] injection inject_from_new_thread(std::span<const std::int64_t> plan, Release release) {
    injection done;
    std::exception_ptr failure;
    std::thread([&] {
        ledger::this_thread_posts();
        try {
            done = inject(plan, release);
        } catch (...) {
            failure = std::current_exception();
        }
    }).join();
    if (failure) std::rethrow_exception(failure);
    return done;
}

}  // namespace apiary::bench
