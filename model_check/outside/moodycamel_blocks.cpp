// moodycamel::ConcurrentQueue of libconcurrentqueue-dev, unchanged: a block that was emptied is used again. Of the version of
// Debian 12 alone, since later ones mend it; hence apart from moodycamel.cpp.
#include <apiary/check.hpp>

#include <concurrentqueue/concurrentqueue.h>

#include <thread>

namespace {
template <std::size_t Size>
struct blocks_of : moodycamel::ConcurrentQueueDefaultTraits {
    static const size_t BLOCK_SIZE = Size;
    static const size_t IMPLICIT_INITIAL_INDEX_SIZE = 2;
    static const size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 4;
};
// Two take what stands in the first block. If it held no more, the third value comes into the same bytes.
template <std::size_t Size>
void two_take_and_one_comes() {
    moodycamel::ConcurrentQueue<int, blocks_of<Size>> q(2);
    q.enqueue(1);
    q.enqueue(2);
    int got[2] = {0, 0};
    std::thread a([&] { (void)q.try_dequeue(got[0]); }), b([&] { (void)q.try_dequeue(got[1]); });
    q.enqueue(3);
    a.join();
    b.join();
    apiary::check(got[0] != got[1] || got[0] == 0, "doubled");
}
}  // namespace
APIARY_FAILING_SCENARIO(moodycamel_block_comes_back, "data race") { two_take_and_one_comes<2>(); }
APIARY_SCENARIO(moodycamel_block_of_32, "moodycamel_block_comes_back") { two_take_and_one_comes<32>(); }
