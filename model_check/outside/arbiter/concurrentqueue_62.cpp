// concurrentqueue 62, with blocks of two: two take what stands in the first block, and a third value comes into the same bytes;
// or all that is pushed has its own place.
#include <apiary/check.hpp>

#include <concurrentqueue.h>

#include <thread>

namespace {
struct blocks_of_two : moodycamel::ConcurrentQueueDefaultTraits {
    static const size_t BLOCK_SIZE = 2;
    static const size_t IMPLICIT_INITIAL_INDEX_SIZE = 2;
    static const size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 4;
};
using queue = moodycamel::ConcurrentQueue<int, blocks_of_two>;
}  // namespace

APIARY_SCENARIO(block_comes_back) {
    queue q(2);
    q.enqueue(1);
    q.enqueue(2);
    int got[2] = {0, 0};
    std::thread a([&] { (void)q.try_dequeue(got[0]); }), b([&] { (void)q.try_dequeue(got[1]); });
    q.enqueue(3);
    a.join();
    b.join();
}
APIARY_SCENARIO(no_block_comes_back) {
    queue q(4);
    int got = 0;
    std::thread a([&] { (void)q.try_dequeue(got); });
    q.enqueue(1);
    a.join();
}
