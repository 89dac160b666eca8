// Which orders of unmodified code are needed: what the advice of --mutate-all is shown and tested on (orders_test.py).
#include <apiary/check.hpp>

#include <thread>

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
