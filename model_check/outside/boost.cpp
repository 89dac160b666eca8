// Boost.Lockfree of libboost-dev, unchanged.
#include <apiary/check.hpp>

#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <boost/lockfree/stack.hpp>

#include <thread>

namespace {
using queue = boost::lockfree::queue<int, boost::lockfree::fixed_sized<true>, boost::lockfree::capacity<4>>;
using stack = boost::lockfree::stack<int, boost::lockfree::fixed_sized<true>, boost::lockfree::capacity<4>>;
template <unsigned Capacity>
using ring = boost::lockfree::spsc_queue<int, boost::lockfree::capacity<Capacity>>;
}  // namespace

// Of one producer, as it must be; or of two.
namespace {
template <unsigned Capacity>
void ring_of(bool two_producers) {
    static ring<Capacity> q;
    std::thread producer([] {
        for (int k = 1; k <= 3; ++k) (void)q.push(k);
    });
    std::thread other([=] {
        if (two_producers) {
            (void)q.push(4);
            return;
        }
        int last = 0;
        for (int k = 0, v = 0; k < 3; ++k)
            if (q.pop(v)) {
                apiary::check(v > last, "out of order");
                last = v;
            }
    });
    producer.join();
    other.join();
}
}  // namespace
APIARY_SCENARIO(boost_spsc_queue, "boost_spsc_queue_of_two_producers") { ring_of<2>(false); }
APIARY_FAILING_SCENARIO(boost_spsc_queue_of_two_producers, "data race") { ring_of<2>(true); }
// The third value comes into the first one's slot: only so are the orders needed by which a slot is given back.
APIARY_SCENARIO(boost_spsc_queue_comes_round, "boost_spsc_queue_of_two_producers") { ring_of<1>(false); }

// The same of the queue's list of free nodes: its `next` is read plainly while the thread that took the node constructs it anew.
APIARY_FAILING_SCENARIO(boost_queue, "data race") {
    static queue q;
    int got[2] = {0, 0};
    const auto push_and_pop = [&](int i) {
        q.push(i + 1);
        apiary::check(q.pop(got[i]), "empty although it was pushed");
    };
    std::thread a(push_and_pop, 0), b(push_and_pop, 1);
    a.join();
    b.join();
    apiary::check(got[0] + got[1] == 3 && got[0] != got[1], "lost or doubled");
}

// pop() reads the plain `next` of a node that another thread has popped and is writing again; the value is thrown away
// when the compare-exchange fails, and it is a data race of C++ all the same.
APIARY_FAILING_SCENARIO(boost_stack, "data race") {
    static stack s;
    s.push(1);
    s.push(2);
    std::thread a([] {
        int v = 0;
        (void)s.pop(v);
    });
    std::thread b([] {
        int v = 0, w = 0;
        const bool both = s.pop(v) && s.pop(w);
        if (both) s.push(v);
    });
    a.join();
    b.join();
}
