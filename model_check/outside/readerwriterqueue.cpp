// moodycamel::ReaderWriterQueue of libreaderwriterqueue-dev, unchanged; its blocks hold one or two elements.
#include <apiary/check.hpp>

#include <readerwriterqueue/readerwritercircularbuffer.h>
#include <readerwriterqueue/readerwriterqueue.h>

#include <thread>

namespace {
using queue = moodycamel::ReaderWriterQueue<int, 2>;

void enqueues(queue& q, int how_many) {
    for (int k = 1; k <= how_many; ++k) q.enqueue(k);
}
}  // namespace

// The second element needs a new block, which is linked in while the other thread counts.
APIARY_FAILING_SCENARIO(readerwriterqueue_counted, "data race") {
    queue q(1);
    std::thread a([&] { enqueues(q, 2); });
    apiary::check(q.size_approx() <= 2, "more than there are");
    a.join();
}
APIARY_SCENARIO(readerwriterqueue_counted_in_its_block, "readerwriterqueue_counted") {
    queue q(1);
    std::thread a([&] { enqueues(q, 1); });
    apiary::check(q.size_approx() <= 1, "more than there are");
    a.join();
}

APIARY_SCENARIO(readerwriterqueue_grows, "readerwriterqueue_counted") {
    queue q(1);
    std::thread a([&] { enqueues(q, 3); });
    int last = 0;
    for (int k = 0, v = 0; k < 3; ++k)
        if (q.try_dequeue(v)) {
            apiary::check(v == last + 1, "out of order");
            last = v;
        }
    a.join();
}

// Two through a buffer of one, by waiting.
APIARY_SCENARIO(readerwriterqueue_circular_buffer, "readerwriterqueue_counted") {
    moodycamel::BlockingReaderWriterCircularBuffer<int> q(1);
    std::thread producer([&] {
        for (int k = 1; k <= 2; ++k) q.wait_enqueue(k);
    });
    for (int k = 1; k <= 2; ++k) {
        int got = 0;
        q.wait_dequeue(got);
        apiary::check(got == k, "out of order");
    }
    producer.join();
}
