// moodycamel::ConcurrentQueue in sizes that `prove` has no time for; with blocks of two elements, as in ../moodycamel.cpp.
#include <apiary/check.hpp>

#if __has_include(<concurrentqueue/moodycamel/concurrentqueue.h>)  // Debian 13, Ubuntu 24.04
#include <concurrentqueue/moodycamel/blockingconcurrentqueue.h>
#else
#include <concurrentqueue/blockingconcurrentqueue.h>
#endif

#include <thread>

namespace {
struct small : moodycamel::ConcurrentQueueDefaultTraits {
    static const size_t BLOCK_SIZE = 2;
    static const size_t EXPLICIT_INITIAL_INDEX_SIZE = 2;
    static const size_t IMPLICIT_INITIAL_INDEX_SIZE = 2;
    static const size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 4;
    static const int MAX_SEMA_SPINS = 1;
};
using queue = moodycamel::ConcurrentQueue<int, small>;

void all_are_there(queue& q, int sum, int expected) {
    for (int v = 0; q.try_dequeue(v);) sum += v;
    apiary::check(sum == expected, "lost or doubled");
}
}  // namespace

APIARY_SCENARIO(long_three_producers, "moodycamel_token_of_two_threads") {
    queue q(8);
    const auto producer = [&](int v) {
        const moodycamel::ProducerToken mine(q);
        q.enqueue(mine, v);
    };
    std::thread a(producer, 1), b(producer, 2), c(producer, 4);
    a.join();
    b.join();
    c.join();
    all_are_there(q, 0, 7);
}

// Each producer's own two come in order.
APIARY_SCENARIO(long_two_by_two, "moodycamel_token_of_two_threads") {
    queue q(8);
    const auto producer = [&](int first) {
        const moodycamel::ProducerToken mine(q);
        q.enqueue(mine, first);
        q.enqueue(mine, first + 1);
    };
    std::thread a(producer, 1), b(producer, 3);
    int got[2] = {};
    for (int& v : got) (void)q.try_dequeue(v);
    apiary::check(got[0] != 2 && got[0] != 4, "out of order");
    apiary::check(got[0] == 0 || got[0] != got[1], "doubled");
    a.join();
    b.join();
    all_are_there(q, got[0] + got[1], 10);
}

// Three in one block and the next, two that take.
APIARY_SCENARIO(long_two_consumers, "moodycamel_token_of_two_threads") {
    queue q(4);
    const moodycamel::ProducerToken mine(q);
    int got[2] = {};
    std::thread a([&] { (void)q.try_dequeue(got[0]); }), b([&] { (void)q.try_dequeue(got[1]); });
    for (int k = 1; k <= 3; ++k) q.enqueue(mine, k);
    a.join();
    b.join();
    apiary::check(got[0] == 0 || got[0] != got[1], "doubled");
    all_are_there(q, got[0] + got[1], 6);
}

APIARY_SCENARIO(long_blocking_two_consumers, "moodycamel_blocking_queue_waits_for_more") {
    moodycamel::BlockingConcurrentQueue<int, small> q(4);
    int got[2] = {};
    std::thread a([&] { q.wait_dequeue(got[0]); }), b([&] { q.wait_dequeue(got[1]); });
    q.enqueue(1);
    q.enqueue(2);
    a.join();
    b.join();
    apiary::check(got[0] + got[1] == 3 && got[0] != got[1], "lost or doubled");
}

APIARY_SCENARIO(long_semaphore_of_three, "moodycamel_semaphore_of_two_places") {
    moodycamel::LightweightSemaphore s(1, 1);
    int held = 0;
    const auto in_turn = [&] {
        apiary::check(s.wait(), "gave up");
        ++held;
        s.signal();
    };
    std::thread a(in_turn), b(in_turn), c(in_turn);
    a.join();
    b.join();
    c.join();
    apiary::check(held == 3 && s.availableApprox() == 1, "a signal was lost or doubled");
}
