// oneTBB's mutex, whose waiters sleep in libtbb.so: the sources of that part are compiled in here, unchanged.
#include <apiary/check.hpp>

#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <tbb/concurrent_monitor_mutex.h>

#include <atomic>
#include <thread>

namespace {
template <class Mutex>
void two_count() {
    Mutex mutex;
    int n = 0;
    const auto count = [&] {
        mutex.lock();
        ++n;
        mutex.unlock();
    };
    std::thread a(count);
    count();
    a.join();
    apiary::check(n == 2, "a count was lost");
}
// One waits until another one has opened; what tbb::mutex does when it is taken.
void waits_until_it_is_open(bool fence) {
    tbb::detail::d1::waitable_atomic<bool> closed{true};
    std::thread opens([&] {
        closed.exchange(false);
        if (fence) std::atomic_thread_fence(std::memory_order_seq_cst);
        closed.notify_one_relaxed();
    });
    closed.wait(true, 0, std::memory_order_relaxed);
    opens.join();
}
}  // namespace

APIARY_FAILING_SCENARIO(tbb_mutex, "deadlock") { two_count<tbb::mutex>(); }
APIARY_FAILING_SCENARIO(tbb_rw_mutex, "deadlock") { two_count<tbb::rw_mutex>(); }
APIARY_FAILING_SCENARIO(tbb_monitor_mutex, "deadlock") { two_count<tbb::detail::r1::concurrent_monitor_mutex>(); }
APIARY_FAILING_SCENARIO(tbb_wait_for_an_address, "deadlock") { waits_until_it_is_open(false); }
// With upstream's fence, which leaves the monitor's own mutex as it is.
APIARY_FAILING_SCENARIO(tbb_wait_for_an_address_with_a_fence, "deadlock") { waits_until_it_is_open(true); }
