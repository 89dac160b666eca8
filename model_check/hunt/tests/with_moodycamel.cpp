// moodycamel 1.0.3: a block that is used again gives a value twice, or one that nobody put in. With blocks of 32 it is
// seldom reached.
#include <concurrentqueue/concurrentqueue.h>

#include <cstdlib>
#include <thread>

struct traits : moodycamel::ConcurrentQueueDefaultTraits {
    static const std::size_t BLOCK_SIZE = 2;
};

int main() {
    moodycamel::ConcurrentQueue<int, traits> queue(2);
    const auto take = [&] {
        int x = 0;
        for (int i = 0; i < 8; ++i)
            if (queue.try_dequeue(x) && x > 100) std::abort();
    };
    std::jthread a([&] {
        for (int i = 0; i < 12; ++i) queue.enqueue(i);
    });
    std::jthread b(take), c(take);
}
