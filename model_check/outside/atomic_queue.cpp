// atomic_queue of libatomic-queue-dev, unchanged.
#include <apiary/check.hpp>

#include <atomic_queue/atomic_queue.h>

#include <thread>

namespace {
struct item {
    int value = 0;
};
}  // namespace

// The element is the pointer, an atomic; what it points to is handed over, too.
APIARY_FAILING_SCENARIO(atomic_queue_of_pointers, "data race") {
    static atomic_queue::AtomicQueue<item*, 2> q;
    std::thread a([] { q.push(new item{7}); });
    const item* const got = q.pop();
    apiary::check(got->value == 7, "not what was pushed");
    a.join();
    delete got;
}

// The same of its queue for elements that are no atomics, whose states are acquired.
APIARY_SCENARIO(atomic_queue_2_of_pointers, "atomic_queue_of_pointers") {
    static atomic_queue::AtomicQueue2<item*, 2> q;
    std::thread a([] { q.push(new item{7}); });
    const item* const got = q.pop();
    apiary::check(got->value == 7, "not what was pushed");
    a.join();
    delete got;
}

// Three numbers through two slots: the elements are all that is handed over.
APIARY_SCENARIO(atomic_queue_comes_round, "atomic_queue_of_pointers") {
    static atomic_queue::AtomicQueue<int, 2> q;
    std::thread producer([] {
        for (int k = 1; k <= 3; ++k) q.push(k);
    });
    for (int k = 1; k <= 3; ++k) apiary::check(q.pop() == k, "out of order");
    producer.join();
}
