// A20: at a stop a worker leaves because nothing is queued, while a process is blocked; its completion finds no worker.
//
// From: seed 001 "shutdown" (the obvious reading of "no work left").
// Seen by: both engines, plain interleaving.
// Fixed twin: its own repaired form: a worker leaves when no process lives.
#include <apiary/model_check/register.hpp>

namespace {

using namespace apiary;

// Processes that are blocked, and end when their completion comes.
template <class Sync, bool CountsTheLiving>
class stopping_pool {
public:
    explicit stopping_pool(unsigned blocked) : living_(blocked) {}

    void work() {
        typename Sync::lock held(mutex_);
        for (;;) {
            if (queued_.read() != 0) {
                queued_.write(queued_.read() - 1);
                living_.write(living_.read() - 1);
                if (living_.read() == 0) changed_.notify_all();  // the others can leave
            } else if (stopping_.read() && (!CountsTheLiving || living_.read() == 0)) {
                return;
            } else {
                changed_.wait(held);
            }
        }
    }
    void complete_one() {
        const typename Sync::lock held(mutex_);
        queued_.write(queued_.read() + 1);
        changed_.notify_one();
    }
    void stop() {
        const typename Sync::lock held(mutex_);
        stopping_.write(true);
        changed_.notify_all();
    }
    unsigned living() const { return living_.read(); }

private:
    typename Sync::mutex mutex_;
    typename Sync::condvar changed_;
    typename Sync::template cell<unsigned> queued_{0}, living_;
    typename Sync::template cell<bool> stopping_{false};
};

template <class Sync, bool CountsTheLiving, unsigned Workers>
struct stop_before_completions {
    static constexpr unsigned threads = Workers + 1;
    stopping_pool<Sync, CountsTheLiving> pool{Workers};

    void thread(unsigned i) {
        if (i != 0) return pool.work();
        pool.stop();
        for (unsigned n = 0; n != Workers; ++n) pool.complete_one();
    }
    void after() { Sync::law(pool.living() == 0, "a completion found no worker"); }
};
template <class Sync>
struct a20_worker_leaves_blocked : stop_before_completions<Sync, false, 1> {
    static constexpr const char* what =
        "the worker leaves because nothing is queued; the blocked process still is to be woken";
};
APIARY_EXHIBIT(a20_worker_leaves_blocked, "found no worker");
template <class Sync>
struct a20_fixed : stop_before_completions<Sync, true, 1> {
    static constexpr const char* what = "twin of A20: the worker stays while a process lives";
    static constexpr const char* exhibit = "a20_worker_leaves_blocked";
};
APIARY_CHECK(a20_fixed);
template <class Sync>
struct a20_fixed_two_workers : stop_before_completions<Sync, true, 2> {
    static constexpr const char* what = "two workers, two blocked processes: both leave, and only then";
    static constexpr const char* exhibit = "a20_worker_leaves_blocked";
};
APIARY_CHECK(a20_fixed_two_workers);

}  // namespace
