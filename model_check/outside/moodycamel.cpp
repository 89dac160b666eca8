// moodycamel::ConcurrentQueue of libconcurrentqueue-dev, unchanged; with blocks of two elements,
// which is a parameter of its own.
#include <apiary/check.hpp>

#if __has_include(<concurrentqueue/moodycamel/concurrentqueue.h>)  // Debian 13, Ubuntu 24.04
#include <concurrentqueue/moodycamel/blockingconcurrentqueue.h>
#include <concurrentqueue/moodycamel/concurrentqueue.h>
#include <concurrentqueue/moodycamel/lightweightsemaphore.h>
#else
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <concurrentqueue/concurrentqueue.h>
#include <concurrentqueue/lightweightsemaphore.h>
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

namespace {
using semaphore = moodycamel::LightweightSemaphore;
void hands_over(bool writes_first) {
    semaphore s(0, 1);
    int data = 0;
    std::thread a([&] {
        if (writes_first) data = 1;
        s.signal();
        if (!writes_first) data = 1;
    });
    apiary::check(s.wait() && data == 1, "waited for the signal in vain");
    a.join();
}
void hold_in_turn(int count) {
    semaphore s(count, 1);
    int held = 0;
    const auto in_turn = [&] {
        apiary::check(s.wait(), "gave up");
        ++held;
        s.signal();
    };
    std::thread a(in_turn), b(in_turn);
    a.join();
    b.join();
    apiary::check(held == 2 && int(s.availableApprox()) == count, "a signal was lost or doubled");
}
}  // namespace

APIARY_SCENARIO(moodycamel_semaphore_hands_over, "moodycamel_semaphore_signalled_too_early") { hands_over(true); }
APIARY_FAILING_SCENARIO(moodycamel_semaphore_signalled_too_early, "data race") { hands_over(false); }
APIARY_SCENARIO(moodycamel_semaphore_in_turn, "moodycamel_semaphore_of_two_places") { hold_in_turn(1); }
APIARY_FAILING_SCENARIO(moodycamel_semaphore_of_two_places, "data race") { hold_in_turn(2); }

namespace {
using blocking_queue = moodycamel::BlockingConcurrentQueue<int, small>;
// The consumer waits for as many as are put in, or for one more.
void waits_for(int more) {
    blocking_queue q(4);
    std::thread producer([&] {
        const moodycamel::ProducerToken mine(q);
        q.enqueue(mine, 1);
        q.enqueue(mine, 2);
    });
    int last = 0;
    for (int k = 0; k < 2 + more; ++k) {
        int v = 0;
        q.wait_dequeue(v);
        apiary::check(v == last + 1, "out of order");
        last = v;
    }
    producer.join();
    apiary::check(!q.try_dequeue(last), "doubled");
}
}  // namespace
APIARY_SCENARIO(moodycamel_blocking_queue, "moodycamel_blocking_queue_waits_for_more") { waits_for(0); }
APIARY_FAILING_SCENARIO(moodycamel_blocking_queue_waits_for_more, "deadlock") { waits_for(1); }
