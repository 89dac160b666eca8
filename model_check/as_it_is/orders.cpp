// Which orders of unmodified code are needed, and what scenarios never reached: what the advice of --mutate-all and --reach are
// shown and tested on (orders_test.py).
#include <apiary/check.hpp>

#include <thread>
#include <tuple>
#include <utility>

#include "box_and_gate.hpp"
#include "textbook_queues.hpp"

APIARY_SCENARIO(bounded_queue_hands_over, "ring_hands_over_weakly") {
    textbook::bounded_queue<int, 2> q;
    std::jthread producer([&] {
        for (int i = 1; i != 4; ++i) (void)q.try_push(i);
    });
    std::jthread consumer([&] {
        int last = 0;
        for (int i = 0, x = 0; i != 2; ++i)
            if (q.try_pop(x)) {
                apiary::check(x > last, "values come in the order of their pushes");
                last = x;
            }
    });
}

APIARY_SCENARIO(bounded_queue_of_two_producers, "ring_hands_over_weakly") {
    textbook::bounded_queue<int, 2> q;
    {
        std::jthread one([&] { (void)q.try_push(1); }), two([&] { (void)q.try_push(2); });
    }
    int x = 0, y = 0;
    apiary::check(q.try_pop(x) && q.try_pop(y) && x + y == 3, "both values are there, once each");
}

APIARY_SCENARIO(bounded_queue_of_two_consumers, "ring_hands_over_weakly") {
    textbook::bounded_queue<int, 2> q;
    int x = 0, y = 0;
    bool first = false, second = false;
    {
        std::jthread one([&] { first = q.try_pop(x); }), two([&] { second = q.try_pop(y) && q.try_push(3); });
        (void)q.try_push(1);
        (void)q.try_push(2);
    }
    apiary::check(!(first && second) || x != y, "no value is taken twice");
}

APIARY_FAILING_SCENARIO(ring_hands_over_weakly, "data race") {
    textbook::ring_with_a_weak_order<int, 2> q;
    std::jthread producer([&] { (void)q.try_push(1); });
    std::jthread consumer([&] {
        int x = 0;
        if (q.try_pop(x)) apiary::check(x == 1, "what was pushed comes out");
    });
}

// A message that is published twice over, by a fence and by the store's own order: each may go, and not both.
namespace {
struct published {
    int data = 0;
    std::atomic<int> flag{0};
};
void publish_twice_over(published& m) {
    m.data = 42;
    std::atomic_thread_fence(std::memory_order_release);  // first
    m.flag.store(1, std::memory_order_release);           // second
}
}  // namespace

APIARY_SCENARIO(published_twice_over, "ring_hands_over_weakly") {
    published m;
    std::jthread writer([&] { publish_twice_over(m); });
    std::jthread reader([&] {
        if (m.flag.load(std::memory_order_acquire) == 1) apiary::check(m.data == 42, "the message is there");
    });
}

// Each reaches more of box_and_gate.hpp than the one before it.
namespace {
void fill(int times) {
    textbook::box b;
    std::jthread filler([&] {
        for (int i = 0; i != times; ++i) b.put(i);
    });
}
}  // namespace
APIARY_SCENARIO(box_is_filled, "ring_hands_over_weakly") { fill(1); }
APIARY_SCENARIO(box_is_filled_twice, "ring_hands_over_weakly") { fill(2); }
APIARY_SCENARIO(box_is_filled_three_times, "ring_hands_over_weakly") { fill(3); }

APIARY_SCENARIO(gate_stands_open, "ring_hands_over_weakly") {
    textbook::gate g;
    g.open();
    std::jthread visitor([&] { g.pass(); });
}
APIARY_SCENARIO(gate_may_be_shut, "ring_hands_over_weakly") {
    textbook::gate g;
    std::jthread visitor([&] { g.pass(); });
    g.open();
}

namespace {
void pass(int times) {
    textbook::turnstile t;
    std::jthread visitor([&] {
        for (int i = 0; i != times; ++i) t.pass();
    });
}
}  // namespace
APIARY_SCENARIO(turnstile_lets_three_in, "ring_hands_over_weakly") { pass(3); }
APIARY_SCENARIO(turnstile_comes_round, "ring_hands_over_weakly") { pass(4); }
APIARY_SCENARIO(turnstile_comes_round_late, "ring_hands_over_weakly") {
    textbook::turnstile t;
    textbook::meter m;
    std::jthread visitor([&] {
        t.pass();
        t.pass();
        for (int i = 0; i != 300; ++i) m.tick();
        t.pass();
        t.pass();
    });
}
// Nothing tells the one that clears it that it has counted.
APIARY_SCENARIO(meter_is_cleared, "ring_hands_over_weakly") {
    textbook::meter m;
    std::jthread counts([&] {
        m.tick();
        m.tick();
    });
    m.clear();
}

APIARY_SCENARIO(till_of_one_customer, "ring_hands_over_weakly") {
    textbook::till t;
    { std::jthread one([&] { t.pay(1); }); }
    t.pay(2);
}
APIARY_SCENARIO(till_of_two_customers, "ring_hands_over_weakly") {
    textbook::till t;
    std::jthread one([&] { t.pay(1); });
    t.pay(2);
}
APIARY_SCENARIO(lamp_burns_out, "ring_hands_over_weakly") {
    textbook::lamp l;
    std::thread a([&] {
        l.light();
        l.burn_out();
    });
    a.join();
}

// One line of the source, and many operations of the program: twenty instances of a template, and a macro.
namespace {
template <int N>
struct instance {
    int data = 0;
    std::atomic<int> flag{0};
    void hand_over() {
        data = N;
        flag.store(1, std::memory_order_release);  // of each instance
    }
    [[nodiscard]] bool has_come() { return flag.load(std::memory_order_acquire) == 0 || data == N; }
};
template <int... N>
void each_hands_over(std::integer_sequence<int, N...>) {
    std::tuple<instance<N>...> all;
    std::jthread writer([&] { (std::get<instance<N>>(all).hand_over(), ...); });
    std::jthread reader([&] { apiary::check(std::get<instance<sizeof...(N) - 1>>(all).has_come(), "the message is there"); });
}

// The line of an operation in a macro is the one that uses the macro.
#define HAND_OVER(to, flag, value) ((to) = (value), (flag).store(1, std::memory_order_release))
#define COUNT_TWICE(n) ((n).fetch_add(1, std::memory_order_acq_rel), (n).fetch_add(1, std::memory_order_acq_rel))
}  // namespace

APIARY_SCENARIO(twenty_instances_hand_over, "ring_hands_over_weakly") {
    each_hands_over(std::make_integer_sequence<int, 20>());
}
APIARY_SCENARIO(macro_hands_over, "ring_hands_over_weakly") {
    published first, second;
    std::atomic<int> count{0};
    std::jthread writer([&] {
        HAND_OVER(first.data, first.flag, 1);    // of the first
        HAND_OVER(second.data, second.flag, 2);  // of the second
        COUNT_TWICE(count);                      // both
    });
    std::jthread reader([&] {
        if (first.flag.load(std::memory_order_acquire) == 1) apiary::check(first.data == 1, "the message is there");
        second.flag.load(std::memory_order_relaxed);
    });
}
