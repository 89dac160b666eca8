// Boost.Lockfree in sizes that `prove` has no time for, and with one thread at each end.
#include <apiary/check.hpp>

#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <boost/lockfree/stack.hpp>

#include <thread>

namespace {
using boost::lockfree::capacity;
using boost::lockfree::fixed_sized;
using queue = boost::lockfree::queue<int, fixed_sized<true>, capacity<4>>;
using stack = boost::lockfree::stack<int, fixed_sized<true>, capacity<4>>;

// One thread puts `in` numbers into the ring of N, another tries `out` times: what comes is in order.
template <int N>
void ring_of(int in, int out) {
    static boost::lockfree::spsc_queue<int, capacity<N>> q;
    int put = 0, taken = 0;
    std::thread producer([&, in] {
        for (int k = 1; k <= in; ++k)
            if (q.push(k)) ++put;
    });
    std::thread consumer([&, out] {
        int last = 0;
        for (int k = 0, v = 0; k < out; ++k)
            if (q.pop(v)) {
                apiary::check(v > last, "out of order");
                last = v;
                ++taken;
            }
    });
    producer.join();
    consumer.join();
    for (int v = 0; q.pop(v);) ++taken;
    apiary::check(taken == put, "lost or doubled");
}

// One pushes three, another pops: none is lost, none comes twice, of the queue in order.
template <class Container, bool ordered>
void one_at_each_end() {
    static Container c;
    int sum = 0;
    std::thread pusher([] {
        for (int k = 1; k <= 3; ++k) apiary::check(c.push(k), "full with three of four");
    });
    std::thread popper([&] {
        for (int k = 0, v = 0, last = 0; k < 3; ++k)
            if (c.pop(v)) {
                if (ordered) apiary::check(v > last, "out of order");
                last = v;
                sum += v;
            }
    });
    pusher.join();
    popper.join();
    for (int v = 0; c.pop(v);) sum += v;
    apiary::check(sum == 6, "lost or doubled");
}
}  // namespace

APIARY_SCENARIO(long_spsc_queue_five, "boost_spsc_queue_of_two_producers") { ring_of<2>(5, 5); }
APIARY_SCENARIO(long_spsc_queue_eight, "boost_spsc_queue_of_two_producers") { ring_of<3>(8, 8); }
APIARY_SCENARIO(long_queue_one_at_each_end, "boost_queue") { one_at_each_end<queue, true>(); }
APIARY_SCENARIO(long_stack_one_at_each_end, "boost_stack") { one_at_each_end<stack, false>(); }
