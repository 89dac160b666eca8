// Select: several lists, one claim. What arms that lost would have taken stays where it was, and none touches a frame that goes.
#include <array>
#include <atomic>
#include <chrono>

#include <apiary/coroutines/async_event.hpp>
#include <apiary/coroutines/async_semaphore.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/select.hpp>
#include <apiary/coroutines/timer_thread.hpp>

#include "coroutine_scenario.hpp"

namespace select_check {
namespace {

using namespace apiary;
using namespace apiary::model;

constexpr std::chrono::nanoseconds soon(10);

template <class Sync>
struct select_scenario : coroutine_scenario<Sync> {
    using base = coroutine_scenario<Sync>;
    timer_thread<Sync, parker_driver<Sync, typename Sync::parker>> timers;
    channel<int, Sync> a{1}, b{1};
    stop_hooks<Sync> stop;
    // std::atomic: the oracle is no part of what is checked.
    std::atomic<int> sent_a = 0, sent_b = 0, from_a = 0, from_b = 0, other = 0;
    int selects_made = 1;

    coroutine<Sync> selects(typename base::place) {
        const auto r = co_await select(a.receive(), b.receive());
        ++(r.index() == 0 ? from_a : r.index() == 1 ? from_b : other);
    }
    coroutine<Sync> selects_the_other_way(typename base::place) {
        const auto r = co_await select(b.receive(), a.receive());
        ++(r.index() == 1 ? from_a : r.index() == 0 ? from_b : other);
    }
    coroutine<Sync> selects_for(typename base::place) {
        const auto r = co_await select(a.receive(), b.receive(), apiary::after(timers, soon));
        ++(r.index() == 0 ? from_a : r.index() == 1 ? from_b : other);
    }
    void sends_a() {
        if (a.try_send(1) == awaited::done) ++sent_a;
    }
    void sends_b() {
        if (b.try_send(2) == awaited::done) ++sent_b;
    }
    void after() {
        Sync::law(from_a + from_b + other == selects_made, "a select did not end once");
        Sync::law(from_a + (a.try_receive() ? 1 : 0) == sent_a, "a value of the first was lost, or came twice");
        Sync::law(from_b + (b.try_receive() ? 1 : 0) == sent_b, "a value of the second was lost, or came twice");
    }
};

template <class Sync>
struct two_sends_meet_the_time : select_scenario<Sync> {
    static constexpr const char* what = "values come to two channels and a time to the select of them: one arm wins";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.passed_over", "select.first", "select.second", "select.time",
                                           "wait_limit.waited_for_the_job"};
    void before() { this->selects_for(this->here()); }
    void thread(unsigned i) {
        if (i == 0) return this->timers.run();
        if (i == 1) return this->sends_a();
        this->sends_b();
        this->timers.stop();
    }
    void after() {
        select_scenario<Sync>::after();
        Sync::reach(this->other == 1 ? "select.time" : this->from_a == 1 ? "select.first" : "select.second");
    }
};
APIARY_CHECK(two_sends_meet_the_time);

template <class Sync>
struct select_begins_while_both_come : select_scenario<Sync> {
    static constexpr const char* what = "a select joins its lists while values come to both: it has one of them";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.passed_over", "channel.arm_need_not_wait", "awaiter.went_on"};
    void thread(unsigned i) {
        if (i == 0)
            this->selects(this->here());
        else if (i == 1)
            this->sends_a();
        else
            this->sends_b();
    }
    void after() {
        select_scenario<Sync>::after();
        Sync::law(this->other == 0, "no arm, and nobody asked for a stop");
    }
};
APIARY_CHECK(select_begins_while_both_come);

template <class Sync>
struct two_selects_crosswise : select_scenario<Sync> {
    static constexpr const char* what = "two selects of the same channels in opposite orders, and two values: each has one";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"waiter.brought_back", "waiter.passed_over"};
    void before() {
        this->selects_made = 2;
        this->selects(this->here());
        this->selects_the_other_way(this->here());
    }
    void thread(unsigned i) {
        if (i == 0)
            this->sends_a();
        else
            this->sends_b();
    }
    void after() {
        select_scenario<Sync>::after();
        Sync::law(this->from_a + this->from_b == 2, "a value lies there, and a select waits for ever");
    }
};
APIARY_CHECK(two_selects_crosswise);

template <class Sync>
struct stop_meets_a_select : select_scenario<Sync> {
    static constexpr const char* what = "a stop is asked for while a value comes to a select: it has it, or is told";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"select.cancelled_too_late", "waiter.passed_over"};
    void before() { this->selects(this->here(this->stop)); }
    void thread(unsigned i) {
        if (i == 0)
            this->stop.ask();
        else
            this->sends_b();
    }
};
APIARY_CHECK(stop_meets_a_select);

template <class Sync>
struct permit_meets_an_event : coroutine_scenario<Sync> {
    static constexpr const char* what =
        "a select joins a semaphore and an event while a permit is released and the event set: the permit is held or free";
    static constexpr unsigned threads = 3;
    static constexpr std::array must_reach{"waiter.passed_over", "select.permit", "select.event"};
    using base = coroutine_scenario<Sync>;
    async_event<Sync> e;
    async_semaphore<Sync> s{0};
    std::atomic<int> permits = 0, events = 0;
    coroutine<Sync> selects(typename base::place) {
        const auto r = co_await select(e.wait(), s.acquire_permit());
        ++(r.index() == 1 ? permits : events);
    }
    void thread(unsigned i) {
        if (i == 0)
            selects(this->here());
        else if (i == 1)
            s.release();
        else
            e.set();
    }
    void after() {
        Sync::law(permits + events == 1, "a select did not end once");
        Sync::law(s.available() == 1, "a permit was lost, or made");
        Sync::reach(permits == 1 ? "select.permit" : "select.event");
    }
};
APIARY_CHECK(permit_meets_an_event);

}  // namespace
}  // namespace select_check
