// What the checks of timers that are given other times share: one timer for the time 100, what was noted for it, what
// its callable saw, and the laws of both.
#pragma once

#include <apiary/schedulers/hive/delayed.hpp>
#include <apiary/tasks/task_storage.hpp>

namespace apiary {

// Scenario::runs_at() is the time at which the callable runs.
template <class Sync, class Scenario>
struct timer_record {
    using storage = heap_storage<Sync>;

    // Its cells are touched by the thread that ends the callable: two of them are a race.
    struct callable {
        Scenario* s;
        explicit callable(Scenario* scenario) : s(scenario) {}
        callable(callable&& other) noexcept : s(std::exchange(other.s, nullptr)) {}
        callable& operator=(callable&&) = delete;
        ~callable() {
            if (s == nullptr) return;
            s->destroyed.write(s->destroyed.read() + 1);
            s->seen = s->left.load(std::memory_order_relaxed);
        }
        void operator()() {
            s->ran.write(s->ran.read() + 1);
            s->ran_at = s->runs_at();
        }
    };

    typename Sync::template cell<int> ran{0}, destroyed{0};
    typename Sync::template atomic<int> left;  // stored before each call that gives the timer another time
    delayed_handle<Sync> handle;
    bool cancelled = false;
    int noted = 0, seen = 0;             // noted: the last call that succeeded
    std::int64_t ran_at = 0, due = 100;  // due: the time that it gave

    void before() { ran.write(0), destroyed.write(0), left.store(0, std::memory_order_relaxed); }
    task<Sync>* made() {
        auto* const block = Sync::template create<delayed_callable<callable, Sync>>(
            std::int64_t{100}, callable(static_cast<Scenario*>(this)));
        handle = delayed_handle<Sync>(block);
        return storage::make(delayed_entry<Sync>(block));
    }
    // ---- In after().
    void ended_once(bool was_dropped) {
        const int runs = ran.read();
        Sync::law(runs == (cancelled || was_dropped ? 0 : 1), "a timer ran and was cancelled, or neither");
        Sync::law(destroyed.read() == 1, "the callable was not destroyed once");
        Sync::law(runs == 0 || ran_at >= due, "a timer that was put off began before its new time");
        Sync::law(seen >= noted, "the callable does not see what came before the call that put it off");
    }
};

}  // namespace apiary
