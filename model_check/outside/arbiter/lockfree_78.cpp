// boostorg/lockfree 78: two threads pop, and each gives its node to the list of free ones.
#include <apiary/check.hpp>

#include <boost/lockfree/queue.hpp>

#include <thread>

APIARY_SCENARIO(two_pop) {
    boost::lockfree::queue<int> q(2);
    q.push(1);
    q.push(2);
    int got[2] = {0, 0};
    std::thread a([&] { q.pop(got[0]); }), b([&] { q.pop(got[1]); });
    a.join();
    b.join();
    apiary::check(got[0] + got[1] == 3, "lost or doubled");
}
