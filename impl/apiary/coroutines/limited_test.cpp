// Waits with a limit and the first of several: step by step on one thread, whose clock the test moves; and a ledger on
// real threads, of values and permits in a tight race with their times.
#include <apiary/coroutines/async_event.hpp>
#include <apiary/coroutines/async_mutex.hpp>
#include <apiary/coroutines/channel.hpp>
#include <apiary/coroutines/select.hpp>
#include <apiary/coroutines/sleeping.hpp>
#include <apiary/coroutines/timer_thread.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <apiary/testing/plain_coroutine.hpp>

namespace limited_test {
namespace {

using namespace std::chrono_literals;
using apiary::after;
using apiary::async_event;
using apiary::async_mutex;
using apiary::async_semaphore;
using apiary::awaited;
using apiary::channel;
using apiary::coroutine_place;
using apiary::manual_clock;
using apiary::parker_driver;
using apiary::plain_coroutine;
using apiary::real_sync;
using apiary::resume_later;
using apiary::select;
using apiary::timer_thread;

using stepped = timer_thread<real_sync, parker_driver<>, manual_clock<>>;
using ints = channel<int>;
using permits = async_semaphore<>;
using lines = std::vector<std::string>;

std::string told(awaited how) {
    static const std::array words{"done", "cancelled", "closed", "would wait", "timed out"};
    return words.at(static_cast<std::size_t>(how));
}
std::string told(const apiary::received<int>& r) { return r ? "got " + std::to_string(*r.value) : told(r.how); }

// A home, a clock that stands still, and what was said.
struct limits : testing::Test {
    resume_later home;
    stepped timers;
    apiary::stop_hooks<> stop;
    lines l;

    coroutine_place<> here() { return {home}; }
    coroutine_place<> stoppable() { return {home, &stop}; }
    void time_is(std::int64_t ns) {
        timers.clock().set(ns);
        (void)timers.run_due();
        (void)home.run_all();
    }
    bool no_timer() {
        timers.clock().set(INT64_MAX - 1);
        return timers.run_due() == INT64_MAX && home.waiting.empty();
    }
};

template <class Delay>
plain_coroutine<> receives(coroutine_place<>, ints& c, stepped& t, Delay delay, lines& l) {
    const auto r = co_await c.receive_for(t, delay);
    l.push_back(told(r));
}
plain_coroutine<> sends(coroutine_place<>, channel<std::unique_ptr<int>>& c, stepped& t, lines& l) {
    auto mine = std::make_unique<int>(1);
    const awaited how = co_await c.send_for(t, mine, 10ns);
    l.push_back(told(how) + (mine ? ", kept" : ", gone"));
}
plain_coroutine<> sends_plainly(coroutine_place<>, ints& c, int v) { (void)co_await c.send(v); }
plain_coroutine<> acquires(coroutine_place<>, permits& s, stepped& t, lines& l, async_event<>* until = nullptr) {
    auto p = co_await s.acquire_for(t, 10ns);
    l.push_back(told(p.how));
    if (p && until != nullptr) (void)co_await until->wait();
}

TEST_F(limits, a_value_in_time_is_received_and_its_timer_goes) {
    ints c(1);
    receives(here(), c, timers, 10ns, l);
    EXPECT_EQ(c.try_send(7), awaited::done);
    EXPECT_EQ(home.run_all(), 1U);
    EXPECT_EQ(l, (lines{"got 7"}));
    EXPECT_TRUE(no_timer());
}
TEST_F(limits, a_value_that_comes_too_late_stays_in_the_channel) {
    ints c(1);
    receives(here(), c, timers, 10ns, l);
    time_is(9);
    EXPECT_TRUE(l.empty());
    time_is(10);
    EXPECT_EQ(l, (lines{"timed out"}));
    EXPECT_EQ(c.try_send(7), awaited::done);
    EXPECT_EQ(c.size(), 1U);
}
TEST_F(limits, what_is_served_and_has_not_gone_on_is_served_though_its_time_comes) {
    ints c(1);
    receives(here(), c, timers, 10ns, l);
    EXPECT_EQ(c.try_send(7), awaited::done);
    time_is(10);
    EXPECT_EQ(l, (lines{"got 7"}));
}
TEST_F(limits, no_delay_is_one_look) {
    ints c(0);
    receives(here(), c, timers, 0ns, l);
    receives(here(), c, timers, -5s, l);
    receives(here(), c, timers, std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()), l);
    sends_plainly(here(), c, 7);
    receives(here(), c, timers, -1h, l);  // sees the sender that waits, though nothing lies there
    EXPECT_EQ(l, (lines{"timed out", "timed out", "timed out", "got 7"}));
    EXPECT_EQ(home.run_all(), 1U);
    permits s(1);
    const auto held = s.try_acquire();
    [](coroutine_place<>, permits& of, stepped& t, lines& say) -> plain_coroutine<> {
        auto p = co_await of.acquire_until(t, 0);
        say.push_back(told(p.how));
    }(here(), s, timers, l);
    EXPECT_TRUE(held);
    EXPECT_EQ(l.back(), "timed out");
    EXPECT_TRUE(no_timer());
}
// The second wait begins at 9, and has what is left.
TEST_F(limits, one_deadline_holds_for_several_waits) {
    ints c(1);
    async_mutex<> m;
    const auto held = m.try_lock();
    enum class second { receives, locks, selects };
    const auto waits = [&](coroutine_place<>, second what) -> plain_coroutine<> {
        const std::int64_t deadline = 10;
        const auto first = co_await c.receive_until(timers, deadline);
        l.push_back(told(first));
        if (what == second::receives) {
            const auto r = co_await c.receive_until(timers, deadline);
            l.push_back(told(r));
        } else if (what == second::locks) {
            auto r = co_await m.lock_until(timers, deadline);
            l.push_back(told(r.how));
        } else {
            auto r = co_await select(c.receive(), apiary::at_time(timers, deadline));
            l.push_back(r.index() == 1 ? told(std::get<1>(r)) : "received");
        }
    };
    for (const second what : {second::receives, second::locks, second::selects}) {
        timers.clock().set(0);
        waits(here(), what);
        timers.clock().set(9);
        EXPECT_EQ(c.try_send(7), awaited::done);
        home.run_all();
        EXPECT_EQ(l.back(), "got 7");
        time_is(10);
        EXPECT_EQ(l.back(), what == second::selects ? "done" : "timed out");
    }
    EXPECT_TRUE(held);
    EXPECT_EQ(l.size(), 6U);
    EXPECT_TRUE(no_timer());
}
TEST_F(limits, a_delay_beyond_the_clock_is_no_limit) {
    ints c(1);
    timers.clock().set(5);
    receives(stoppable(), c, timers, std::chrono::hours::max(), l);
    receives(stoppable(), c, timers, std::chrono::nanoseconds::max(), l);
    receives(stoppable(), c, timers, std::chrono::duration<double>(1e300), l);
    time_is(INT64_MAX - 1);
    EXPECT_TRUE(l.empty());
    stop.ask();
    EXPECT_EQ(home.run_all(), 3U);
    EXPECT_EQ(l, (lines{"cancelled", "cancelled", "cancelled"}));
}
TEST_F(limits, a_close_a_stop_and_the_end_of_the_service_end_it) {
    ints c(1);
    receives(here(), c, timers, 10ns, l);
    receives(stoppable(), c, timers, 10ns, l);
    stop.ask();
    home.run_all();
    EXPECT_EQ(l, (lines{"cancelled"}));
    receives(stoppable(), c, timers, 10ns, l);
    EXPECT_EQ(l, (lines{"cancelled", "cancelled"})) << "after a stop, at once";
    EXPECT_EQ(c.try_send(7), awaited::done);
    home.run_all();
    EXPECT_EQ(l.back(), "got 7") << "the one that is still there";
    receives(here(), c, timers, 10ns, l);
    timers.stop();
    timers.run();
    home.run_all();
    EXPECT_EQ(l.back(), "cancelled");
    receives(here(), c, timers, 10ns, l);
    EXPECT_EQ(l.back(), "cancelled") << "a service that has ended, at once";
    EXPECT_EQ(c.try_send(8), awaited::done);
    receives(here(), c, timers, 10ns, l);
    EXPECT_EQ(l.back(), "got 8") << "what can be had needs no service";
}
TEST_F(limits, a_close_is_told_as_closed) {
    ints c(1);
    receives(here(), c, timers, 10ns, l);
    EXPECT_TRUE(c.close());
    time_is(10);
    EXPECT_EQ(l, (lines{"closed"}));
}
TEST_F(limits, what_was_not_sent_in_time_is_the_sender_s) {
    channel<std::unique_ptr<int>> c(0);
    sends(here(), c, timers, l);
    time_is(10);
    EXPECT_EQ(l, (lines{"timed out, kept"}));
    EXPECT_EQ(c.try_receive().how, awaited::would_wait);
    timers.clock().set(0);
    sends(here(), c, timers, l);
    EXPECT_TRUE(c.try_receive());
    home.run_all();
    EXPECT_EQ(l.back(), "done, gone");
    const auto until = [](coroutine_place<>, ints& to, stepped& t, std::int64_t deadline, lines& say) -> plain_coroutine<> {
        const awaited how = co_await to.send_until(t, 7, deadline);
        say.push_back(told(how));
    };
    ints d(1);
    until(here(), d, timers, 0, l);
    EXPECT_EQ(l.back(), "done") << "there is room";
    until(here(), d, timers, 0, l);
    EXPECT_EQ(l.back(), "timed out");
    until(here(), d, timers, 10, l);
    time_is(10);
    EXPECT_EQ(l.back(), "timed out");
    EXPECT_EQ(d.size(), 1U);
}
TEST_F(limits, an_event_with_a_limit) {
    async_event<> e;
    const auto waits = [](coroutine_place<>, async_event<>& of, stepped& t, lines& say) -> plain_coroutine<> {
        const awaited how = co_await of.wait_for(t, 10ns);
        say.push_back(told(how));
    };
    waits(here(), e, timers, l);
    time_is(10);
    waits(here(), e, timers, l);
    e.set();
    home.run_all();
    EXPECT_EQ(l, (lines{"timed out", "done"}));
    EXPECT_TRUE(no_timer());
}
TEST_F(limits, a_permit_goes_back_with_its_guard) {
    permits s(1);
    async_event<> over;
    acquires(here(), s, timers, l, &over);
    EXPECT_EQ(s.available(), 0U);
    acquires(here(), s, timers, l);
    time_is(10);
    EXPECT_EQ(l, (lines{"done", "timed out"}));
    over.set();
    home.run_all();
    EXPECT_EQ(s.available(), 1U);
    auto p = permits::permit(awaited::timed_out);
    EXPECT_TRUE(s.try_acquire());
    p = permits::permit(s);
    EXPECT_TRUE(p);
    auto q = std::move(p);
    EXPECT_FALSE(p);
    q.release();
    q.release();
    EXPECT_EQ(s.available(), 1U);
}
TEST_F(limits, a_lock_with_a_limit) {
    async_mutex<> m;
    auto held = m.try_lock();
    const auto locks = [](coroutine_place<>, async_mutex<>& of, stepped& t, lines& say) -> plain_coroutine<> {
        auto mine = co_await of.lock_for(t, 10ns);
        say.push_back(told(mine.how) + (mine ? ", held" : ""));
    };
    locks(here(), m, timers, l);
    time_is(10);
    EXPECT_EQ(l, (lines{"timed out"}));
    locks(here(), m, timers, l);
    held.unlock();
    home.run_all();
    EXPECT_EQ(l.back(), "done, held");
    EXPECT_TRUE(m.try_lock()) << "unlocked with its holder";
}
TEST_F(limits, a_frame_that_goes_while_it_waits_leaves_list_and_timer) {
    ints c(1);
    permits s(1);
    receives(here(), c, timers, 10ns, l).frame.destroy();
    EXPECT_EQ(c.try_send(7), awaited::done);
    EXPECT_EQ(c.size(), 1U);
    EXPECT_TRUE(s.try_acquire());
    acquires(here(), s, timers, l).frame.destroy();
    s.release();
    EXPECT_EQ(s.available(), 1U);
    EXPECT_TRUE(no_timer());
    EXPECT_TRUE(l.empty());
}
TEST_F(limits, a_frame_that_is_dropped_behind_its_hand_over_gives_its_permit_back) {
    permits s(1);
    EXPECT_TRUE(s.try_acquire());
    acquires(here(), s, timers, l);
    s.release();
    EXPECT_EQ(s.available(), 0U);
    (void)home.next()->drop();
    EXPECT_EQ(s.available(), 1U);
    EXPECT_TRUE(no_timer());
}

// A service without memory: what it was told it has dropped by then, or not.
struct no_memory {
    using sync = real_sync;
    struct timed {};
    bool drops = false;
    bool serves_first = false;
    ints* to = nullptr;
    std::int64_t now_ns() const { return 0; }
    void at(std::int64_t, timed&, apiary::job<>& what) {
        if (to != nullptr) (void)to->try_send(7);
        if (drops) (void)what.drop();
        throw std::bad_alloc();
    }
    void cancel(timed&) noexcept {}
};

TEST_F(limits, no_memory_for_the_timer_leaves_the_list_and_loses_nothing) {
    for (const bool drops : {false, true}) {
        for (const bool selects : {false, true}) {
            ints c(1);
            no_memory service;
            service.drops = drops;
            const auto waits = [](coroutine_place<>, ints& from, no_memory& t, bool sel, lines& say) -> plain_coroutine<> {
                try {
                    if (sel) {
                        auto r = co_await select(from.receive(), after(t, 10ns));
                        say.push_back("arm " + std::to_string(r.index()));
                    } else {
                        const auto r = co_await from.receive_for(t, 10ns);
                        say.push_back(told(r));
                    }
                } catch (const std::bad_alloc&) {
                    say.push_back("no memory");
                }
            };
            waits(stoppable(), c, service, selects, l);
            EXPECT_EQ(l.back(), "no memory");
            EXPECT_EQ(c.try_send(1), awaited::done);
            EXPECT_EQ(c.size(), 1U);
            EXPECT_TRUE(c.try_receive());
            service.to = &c;
            waits(stoppable(), c, service, selects, l);
            home.run_all();
            EXPECT_EQ(l.back(), selects ? "arm 0" : "got 7") << "served before";
        }
    }
}

using two = channel<std::string>;
plain_coroutine<> selects(coroutine_place<>, ints& a, two& b, async_event<>& e, stepped& t, lines& l) {
    auto r = co_await select(a.receive(), b.receive(), e.wait(), after(t, 10ns));
    switch (r.index()) {
        case 0:
            co_return l.push_back("a: " + told(std::get<0>(r)));
        case 1:
            co_return l.push_back("b: " + (std::get<1>(r) ? *std::get<1>(r).value : told(std::get<1>(r).how)));
        case 2:
            co_return l.push_back("event");
        case 3:
            co_return l.push_back("time: " + told(std::get<3>(r)));
        default:
            l.push_back("no arm");
    }
}

struct selections : limits {
    ints a{1};
    two b{1};
    async_event<> e;
    auto begin() { return selects(stoppable(), a, b, e, timers, l); }
};

TEST_F(selections, the_first_that_is_served_wins_and_the_others_leave) {
    begin();
    EXPECT_EQ(b.try_send("x"), awaited::done);
    EXPECT_EQ(a.try_send(1), awaited::done) << "passes over the arm, which is still listed";
    e.set();
    EXPECT_EQ(a.size(), 1U);
    time_is(10);
    EXPECT_EQ(l, (lines{"b: x"}));
    EXPECT_EQ(a.try_receive().value, 1);
    begin();
    EXPECT_EQ(l.back(), "event");
    e.reset();
    timers.clock().set(0);
    begin();
    time_is(10);
    EXPECT_EQ(l.back(), "time: done");
    EXPECT_EQ(b.try_send("y"), awaited::done);
    EXPECT_EQ(b.size(), 1U) << "nobody waits there";
    EXPECT_TRUE(no_timer());
}
TEST_F(selections, of_those_that_can_be_had_the_first_argument_is_taken) {
    EXPECT_EQ(a.try_send(1), awaited::done);
    EXPECT_EQ(b.try_send("x"), awaited::done);
    e.set();
    time_is(20);
    for (int i = 0; i != 3; ++i) begin();
    e.reset();
    EXPECT_EQ(l, (lines{"a: got 1", "b: x", "event"}));
}
TEST_F(selections, a_closed_channel_is_an_arm_that_can_be_had) {
    begin();
    EXPECT_TRUE(b.close());
    home.run_all();
    begin();
    EXPECT_EQ(l, (lines{"b: closed", "b: closed"}));
}
TEST_F(selections, a_stop_is_no_arm_and_the_end_of_the_service_is_one) {
    begin();
    timers.stop();
    timers.run();
    home.run_all();
    EXPECT_EQ(l, (lines{"time: cancelled"}));
    begin();
    EXPECT_EQ(l.back(), "time: cancelled");
    stepped others;
    selects(stoppable(), a, b, e, others, l);
    stop.ask();
    home.run_all();
    selects(stoppable(), a, b, e, others, l);
    EXPECT_EQ(l, (lines{"time: cancelled", "time: cancelled", "no arm", "no arm"}));
    EXPECT_EQ(a.try_send(1), awaited::done);
    selects(stoppable(), a, b, e, others, l);
    EXPECT_EQ(l.back(), "a: got 1") << "what need not wait";
}
TEST_F(selections, a_plain_wait_behind_a_passed_over_arm_is_served) {
    begin();
    [](coroutine_place<>, ints& from, lines& say) -> plain_coroutine<> {
        const auto r = co_await from.receive();
        say.push_back("plain: " + told(r));
    }(here(), a, l);
    e.set();
    EXPECT_EQ(a.try_send(1), awaited::done);
    EXPECT_EQ(a.size(), 0U);
    home.run_all();
    EXPECT_EQ(l, (lines{"event", "plain: got 1"}));
}
TEST_F(selections, a_frame_that_goes_while_it_waits_leaves_all_lists) {
    begin().frame.destroy();
    EXPECT_EQ(a.try_send(1), awaited::done);
    EXPECT_EQ(a.size(), 1U);
    EXPECT_TRUE(no_timer());
    EXPECT_TRUE(l.empty());
}
TEST_F(selections, permits_and_locks_are_arms) {
    permits s(1);
    async_mutex<> m;
    const auto waits = [](coroutine_place<>, permits& of, async_mutex<>& of_m, stepped& t, lines& say) -> plain_coroutine<> {
        auto r = co_await select(of.acquire_permit(), of_m.lock(), after(t, 10ns));
        say.push_back(std::to_string(r.index()));
        (void)co_await apiary::sleep_for(t, 10ns);
    };
    waits(here(), s, m, timers, l);  // has the permit
    waits(here(), s, m, timers, l);  // has the lock
    waits(here(), s, m, timers, l);
    time_is(10);
    EXPECT_EQ(l, (lines{"0", "1", "2"}));
    EXPECT_EQ(s.available(), 1U);
    EXPECT_TRUE(m.try_lock());
    time_is(20);

    EXPECT_TRUE(s.try_acquire());
    auto held = m.try_lock();
    timers.clock().set(0);
    waits(here(), s, m, timers, l);
    s.release();
    EXPECT_EQ(s.available(), 0U) << "handed over";
    held.unlock();
    EXPECT_TRUE(m.try_lock()) << "passes over the arm";
    (void)home.next()->drop();
    EXPECT_EQ(s.available(), 1U) << "its frame went after the hand-over";
    EXPECT_TRUE(no_timer());
}
TEST_F(selections, twice_the_same_channel) {
    const auto waits = [](coroutine_place<>, ints& c, lines& say) -> plain_coroutine<> {
        auto r = co_await select(c.receive(), c.receive());
        say.push_back(std::to_string(r.index()) + ": " + told(std::get<0>(r)));
    };
    waits(here(), a, l);
    EXPECT_EQ(a.try_send(1), awaited::done);
    EXPECT_EQ(a.try_send(2), awaited::done);
    home.run_all();
    EXPECT_EQ(l, (lines{"0: got 1"}));
    EXPECT_EQ(a.size(), 1U);
}

// On real threads: the timer's, one that sends, and one that makes the coroutines go on.
struct ledger {
    std::atomic<int> received = 0, none = 0, live = 0;
    std::atomic<bool> held_twice = false;
    std::atomic<int> holders = 0;
};
plain_coroutine<> receives_all(coroutine_place<>, ints& a, ints& b, timer_thread<>& t, ledger& of, bool sel) {
    for (int i = 0;; ++i) {
        bool closed = false, got = false;
        if (sel) {
            auto r = co_await select(a.receive(), b.receive(), after(t, std::chrono::microseconds(i % 3)));
            const auto* v = std::get_if<0>(&r);
            if (v == nullptr) v = std::get_if<1>(&r);
            got = v != nullptr && *v;
            closed = v != nullptr && v->how == awaited::closed;
        } else {
            const auto r = co_await (i % 2 == 0 ? a : b).receive_for(t, std::chrono::microseconds(i % 3));
            got = static_cast<bool>(r);
            closed = r.how == awaited::closed;
        }
        if (got) ++of.received;
        if (closed) break;
        if (!got) ++of.none;
    }
    --of.live;
}
TEST(ledgers, every_value_that_is_sent_is_received_or_still_there) {
    apiary::resume_here<> home;
    timer_thread<> timers;
    ledger of;
    ints a(2), b(0);
    std::thread keeper([&] { timers.run(); });
    of.live = 4;
    std::vector<std::thread> starters;
    for (int i = 0; i != 2; ++i)
        starters.emplace_back([&, i] {
            receives_all({home}, a, b, timers, of, i == 0);
            receives_all({home}, a, b, timers, of, i != 0);
        });
    while (of.none == 0) std::this_thread::yield();
    int sent = 0;
    for (int i = 0; i != 4000; ++i) {
        if ((i % 2 == 0 ? a : b).try_send(i) == awaited::done) ++sent;
        if (i % 64 == 0) std::this_thread::yield();
    }
    a.close();
    b.close();
    while (of.live != 0) std::this_thread::yield();
    for (auto& t : starters) t.join();
    timers.stop();
    keeper.join();
    while (a.try_receive()) ++of.received;
    EXPECT_EQ(of.received, sent);
    EXPECT_GT(sent, 0);
}
plain_coroutine<> holds(coroutine_place<>, permits& s, timer_thread<>& t, ledger& of, bool sel) {
    for (int i = 0; i != 100; ++i) {
        std::optional<permits::permit> p;
        if (sel) {
            auto r = co_await select(s.acquire_permit(), after(t, std::chrono::microseconds(i % 4)));
            if (r.index() == 0) p.emplace(std::move(std::get<0>(r)));
        } else {
            p.emplace(co_await s.acquire_for(t, std::chrono::microseconds(i % 4)));
        }
        if (p && *p) {
            if (++of.holders != 1) of.held_twice = true;
            ++of.received;
            (void)co_await apiary::sleep_for(t, 20us);
            --of.holders;
        }
    }
    --of.live;
}
TEST(ledgers, a_permit_is_held_or_free) {
    apiary::resume_here<> home;
    timer_thread<> timers;
    ledger of;
    permits s(1);
    std::thread keeper([&] { timers.run(); });
    of.live = 4;
    std::thread other([&] {
        for (const bool sel : {false, true}) holds({home}, s, timers, of, sel);
    });
    for (const bool sel : {false, true}) holds({home}, s, timers, of, sel);
    while (of.live != 0) std::this_thread::yield();
    other.join();
    timers.stop();
    keeper.join();
    EXPECT_FALSE(of.held_twice);
    EXPECT_EQ(s.available(), 1U);
    EXPECT_GT(of.received, 0);
}

}  // namespace
}  // namespace limited_test
