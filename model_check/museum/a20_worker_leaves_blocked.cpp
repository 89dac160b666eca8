// A20: at a stop a worker leaves because nothing is queued, while a process is blocked; its completion finds no worker.
//
// From: seed 001 "shutdown" (the obvious reading of "no work left").
// Seen by: both engines, plain interleaving.
// Fixed twin: the shipped scheduler of processes, whose workers leave when no process lives.
#include "../schedulers/processes/processes_scenario.hpp"

namespace a20_worker_leaves_blocked {
namespace {

using namespace apiary;

// Processes that are blocked, and end when their completion comes.
template <class Sync>
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
            } else if (stopping_.read()) {
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

template <class Sync>
struct a20_worker_leaves_blocked {
    static constexpr const char* what =
        "the worker leaves because nothing is queued; the blocked process still is to be woken";
    static constexpr unsigned threads = 2;
    stopping_pool<Sync> pool{1};

    void thread(unsigned i) {
        if (i != 0) return pool.work();
        pool.stop();
        pool.complete_one();
    }
    void after() { Sync::law(pool.living() == 0, "a completion found no worker"); }
};
APIARY_EXHIBIT(a20_worker_leaves_blocked, "found no worker");

// The shipped one. The process has called, and blocks; the door closes, and then its completion comes.
template <class Sync, unsigned Workers>
struct shipped_stop_before_completion : model::processes_scenario<Sync, Workers, 1> {
    pid blocked;
    void before() {
        this->make();
        blocked = this->spawn(
            0,
            [](event&, auto& out) {
                out.call(1, 7);
                out.block();
            },
            [](event&, auto& out) { out.finish(); });
        this->turn();
    }
    void thread(unsigned i) {
        if (i != Workers) return this->work(i);
        this->core->close_the_door();
        Sync::law(this->core->complete_yield(blocked, 7) == send_answer::accepted, "a completion found no process");
    }
    void after() {
        this->end();
        Sync::law(this->of[0].completed == 1, "a completion found no worker");
    }
};
template <class Sync>
struct a20_fixed : shipped_stop_before_completion<Sync, 1> {
    static constexpr const char* what = "twin of A20: the worker stays while a process lives";
    static constexpr const char* exhibit = "a20_worker_leaves_blocked";
};
APIARY_CHECK(a20_fixed);

}  // namespace
}  // namespace a20_worker_leaves_blocked
