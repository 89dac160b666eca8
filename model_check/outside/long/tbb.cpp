// oneTBB's locks in sizes that `prove` has no time for.
#include <apiary/check.hpp>

#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>

#include <thread>

namespace {
// Each of `threads` holds it `rounds` times.
template <class Mutex>
void count_in_turn(int threads, int rounds) {
    Mutex mutex;
    int n = 0;
    const auto count = [&] {
        for (int k = 0; k < rounds; ++k) {
            const typename Mutex::scoped_lock held(mutex);
            ++n;
        }
    };
    std::thread a(count), b(count), c;
    if (threads == 3) c = std::thread(count);
    a.join();
    b.join();
    if (threads == 3) c.join();
    apiary::check(n == threads * rounds, "a count was lost");
}
}  // namespace

APIARY_SCENARIO(long_spin_mutex_of_three, "tbb_writes_as_reader") { count_in_turn<tbb::spin_mutex>(3, 1); }
APIARY_SCENARIO(long_queuing_mutex_two_rounds, "tbb_writes_as_reader") { count_in_turn<tbb::queuing_mutex>(2, 2); }
APIARY_SCENARIO(long_queuing_mutex_of_three, "tbb_writes_as_reader") { count_in_turn<tbb::queuing_mutex>(3, 1); }

// Two that read become writers: a reader that had to wait for that is told, and reads anew.
APIARY_SCENARIO(long_spin_rw_mutex_upgrades, "tbb_writes_as_reader") {
    tbb::spin_rw_mutex mutex;
    int n = 0;
    const auto count = [&] {
        tbb::spin_rw_mutex::scoped_lock held(mutex, false);
        const int seen = n;
        const bool at_once = held.upgrade_to_writer();
        apiary::check(!at_once || n == seen, "another wrote between");
        ++n;
    };
    std::thread a(count), b(count);
    a.join();
    b.join();
    apiary::check(n == 2, "a count was lost");
}

APIARY_SCENARIO(long_spin_rw_mutex_of_three, "tbb_writes_as_reader") {
    tbb::spin_rw_mutex mutex;
    int n = 0;
    const auto writes = [&] {
        const tbb::spin_rw_mutex::scoped_lock held(mutex, true);
        ++n;
    };
    std::thread a(writes), b(writes);
    {
        const tbb::spin_rw_mutex::scoped_lock held(mutex, false);
        apiary::check(n >= 0 && n <= 2, "what nobody wrote");
    }
    a.join();
    b.join();
    apiary::check(n == 2, "a count was lost");
}
