// The deque of Boost.Fiber's work stealing (BOOST_FIBERS_USE_SPMC_QUEUE) of libboost-dev, unchanged.
#include <apiary/check.hpp>

#include <boost/fiber/detail/context_spmc_queue.hpp>

#include <cstddef>
#include <thread>

namespace {
using boost::fibers::context;
using deque = boost::fibers::detail::context_spmc_queue;

// The deque asks a fiber for nothing but whether it is pinned, which these are not: their bytes are zero.
struct fiber {
    alignas(context) std::byte bytes[sizeof(context)] = {};
    context* get() { return reinterpret_cast<context*>(bytes); }
};
// The owner pushes `pushed` and takes one; a thief steals once. Each fiber leaves once.
void pushed_and_stolen(std::size_t capacity, int pushed) {
    fiber fibers[3];
    int left[3] = {};
    const auto count = [&](context* c, int* times) {
        for (int k = 0; k < 3; ++k)
            if (c == fibers[k].get()) ++times[k];
    };
    deque d(capacity);
    int stolen[3] = {};
    std::thread thief([&] { count(d.steal(), stolen); });
    for (int k = 0; k < pushed; ++k) d.push(fibers[k].get());
    count(d.pop(), left);
    thief.join();
    while (context* const c = d.pop()) count(c, left);
    for (int k = 0; k < pushed; ++k) apiary::check(left[k] + stolen[k] == 1, "lost or doubled");
}
}  // namespace
APIARY_SCENARIO(boost_fiber_deque, "boost_fiber_deque_grows") { pushed_and_stolen(4, 2); }
APIARY_FAILING_SCENARIO(boost_fiber_deque_grows, "data race") { pushed_and_stolen(1, 2); }
// Taken from before anything was pushed: the index goes below zero, and it has no sign.
APIARY_FAILING_SCENARIO(boost_fiber_deque_taken_first, "the assertion `nullptr != ctx' does not hold") {
    deque d(4);
    apiary::check(d.pop() == nullptr, "something out of nothing");
}
