// moodycamel::ConcurrentQueue of libconcurrentqueue-dev, unchanged; with blocks of two elements,
// which is a parameter of its own.
#include <apiary/check.hpp>

#if __has_include(<concurrentqueue/moodycamel/concurrentqueue.h>)  // Debian 13, Ubuntu 24.04
#include <concurrentqueue/moodycamel/concurrentqueue.h>
#else
#include <concurrentqueue/concurrentqueue.h>
#endif

#include <thread>

namespace {
struct small : moodycamel::ConcurrentQueueDefaultTraits {
    static const size_t BLOCK_SIZE = 2;
    static const size_t EXPLICIT_INITIAL_INDEX_SIZE = 2;
    static const size_t IMPLICIT_INITIAL_INDEX_SIZE = 2;
    static const size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 4;
};
using queue = moodycamel::ConcurrentQueue<int, small>;

// What is left, and what was taken, is 1 and 2, once each.
void both_are_there(queue& q, int taken) {
    int sum = taken, left = 0;
    for (int v = 0; q.try_dequeue(v); ++left) sum += v;
    apiary::check(sum == 3 && left == (taken == 0 ? 2 : 1), "lost or doubled");
}
}  // namespace

APIARY_SCENARIO(moodycamel_two_by_one_producer, "moodycamel_token_of_two_threads") {
    queue q(4);
    std::thread producer([&] {
        const moodycamel::ProducerToken mine(q);
        q.enqueue(mine, 1);
        q.enqueue(mine, 2);
    });
    int got = 0;
    if (q.try_dequeue(got)) apiary::check(got == 1, "out of order");
    producer.join();
    both_are_there(q, got);
}

APIARY_SCENARIO(moodycamel_two_producers, "moodycamel_token_of_two_threads") {
    queue q(4);
    std::thread a([&] { q.enqueue(1); }), b([&] { q.enqueue(2); });
    int got = 0;
    if (q.try_dequeue(got)) apiary::check(got == 1 || got == 2, "what nobody enqueued");
    a.join();
    b.join();
    both_are_there(q, got);
}

APIARY_FAILING_SCENARIO(moodycamel_token_of_two_threads, "data race") {
    queue q(4);
    const moodycamel::ProducerToken shared(q);
    std::thread a([&] { q.enqueue(shared, 1); }), b([&] { q.enqueue(shared, 2); });
    a.join();
    b.join();
}
