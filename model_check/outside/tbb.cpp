// oneTBB's locks of libtbb-dev, which are whole in its headers, unchanged.
#include <apiary/check.hpp>

#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>

#include <thread>

namespace {
template <class Mutex>
void two_count() {
    Mutex mutex;
    int n = 0;
    const auto count = [&] {
        const typename Mutex::scoped_lock held(mutex);
        ++n;
    };
    std::thread a(count), b(count);
    a.join();
    b.join();
    apiary::check(n == 2, "a count was lost");
}
// Two that only read, or of which one writes with a reader's lock.
void reads_and_writes(bool writes_as_reader) {
    tbb::spin_rw_mutex mutex;
    int n = 0;
    std::thread a([&] {
        const tbb::spin_rw_mutex::scoped_lock held(mutex, !writes_as_reader);
        ++n;
    });
    std::thread b([&] {
        const tbb::spin_rw_mutex::scoped_lock held(mutex, false);
        apiary::check(n == 0 || n == 1, "what nobody wrote");
    });
    a.join();
    b.join();
}
}  // namespace

APIARY_SCENARIO(tbb_spin_mutex, "tbb_writes_as_reader") { two_count<tbb::spin_mutex>(); }
APIARY_SCENARIO(tbb_queuing_mutex, "tbb_writes_as_reader") { two_count<tbb::queuing_mutex>(); }
APIARY_SCENARIO(tbb_spin_rw_mutex, "tbb_writes_as_reader") { reads_and_writes(false); }
APIARY_FAILING_SCENARIO(tbb_writes_as_reader, "data race") { reads_and_writes(true); }
