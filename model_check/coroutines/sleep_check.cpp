// Sleeping on a timer thread: the deadline against a cancel and against the end of the service, and
// the wake of the thread.
#include <array>
#include <atomic>
#include <chrono>

#include <apiary/coroutines/sleeping.hpp>
#include <apiary/coroutines/timer_thread.hpp>

#include "coroutine_scenario.hpp"

namespace sleep_check {
namespace {

using namespace apiary;
using namespace apiary::model;

template <class Sync>
struct sleeping_scenario : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    using service = timer_thread<Sync, parker_driver<Sync, typename Sync::parker>>;
    service timers;
    stop_hooks<Sync> stop;
    std::atomic<int> woke = 0, cancelled = 0;  // std::atomic: the oracle is no part of what is checked

    coroutine<Sync> sleeps(typename base::place) {
        const awaited how = co_await sleep_for(timers, std::chrono::nanoseconds(10));
        ++(how == awaited::done ? woke : cancelled);
    }
    void after() { Sync::law(woke + cancelled == 1, "a sleep did not end once"); }
};

template <class Sync>
struct deadline_meets_a_cancel : sleeping_scenario<Sync> {
    static constexpr const char* what = "a coroutine that sleeps is cancelled while its deadline comes: it wakes once";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "timer_thread.cancelled_too_late"};
    void before() { this->sleeps(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 1) {
            this->stop.ask();
            return this->timers.stop();
        }
        this->timers.run();
    }
};
APIARY_CHECK(deadline_meets_a_cancel);

template <class Sync>
struct sleep_begins_while_the_thread_waits : sleeping_scenario<Sync> {
    static constexpr const char* what =
        "a coroutine falls asleep, and the service ends after that: the thread sees the deadline or the end";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back"};
    void thread(unsigned i) {
        if (i == 0) return this->timers.run();
        this->sleeps(this->here());
        this->timers.stop();
    }
};
APIARY_CHECK(sleep_begins_while_the_thread_waits);

// Nobody ends the service before the sleep: without the wake the thread would wait for ever.
template <class Sync>
struct earliest_deadline_wakes_the_thread : sleeping_scenario<Sync> {
    static constexpr const char* what =
        "the thread waits without a deadline when a coroutine falls asleep: it is woken for it";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"sleep.ended_the_service"};
    coroutine<Sync> sleeps_and_ends(typename coroutine_scenario<Sync>::place) {
        const awaited how = co_await sleep_for(this->timers, std::chrono::nanoseconds(10));
        ++(how == awaited::done ? this->woke : this->cancelled);
        Sync::reach("sleep.ended_the_service");
        this->timers.stop();
    }
    void thread(unsigned i) {
        if (i == 0) return this->timers.run();
        sleeps_and_ends(this->here());
    }
    void after() {
        sleeping_scenario<Sync>::after();
        Sync::law(this->woke == 1, "cancelled by nobody");
    }
};
APIARY_CHECK(earliest_deadline_wakes_the_thread);

template <class Sync>
struct sleep_meets_the_end : sleeping_scenario<Sync> {
    static constexpr const char* what =
        "a coroutine falls asleep while the service ends: it is told, before or after the end";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.brought_back", "awaiter.went_on"};
    void thread(unsigned i) {
        if (i == 0)
            this->timers.run();
        else if (i == 1)
            this->timers.stop();
        else
            this->sleeps(this->here());
    }
};
APIARY_CHECK(sleep_meets_the_end);

// A stop touches nothing after the thread can see it.
template <class Sync>
struct stopped_service_goes {
    static constexpr const char* what =
        "a timer service is stopped, and the thread that has run it destroys it before the stop returns";
    static constexpr const char* exhibit = "b25_latch_read_after_set";
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    using service = typename sleeping_scenario<Sync>::service;
    service* timers = nullptr;
    void before() { timers = Sync::template create<service>(); }
    void thread(unsigned i) {
        if (i == 1) return timers->stop();
        timers->run();
        Sync::destroy(timers);
    }
};
APIARY_CHECK(stopped_service_goes);

}  // namespace
}  // namespace sleep_check
