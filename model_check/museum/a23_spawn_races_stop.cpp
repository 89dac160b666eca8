// A23: a coroutine is spawned while the pool stops: it lands in the queue behind the worker's last look, is never
// resumed, and its frame leaks.
//
// From: seed 003 "stop" and "workerLoop".
// Seen by: both engines, plain interleaving.
// Fixed twin: the shipped inbox, which the worker closes: what was inside it runs, what comes later is refused.
#include <apiary/model_check/register.hpp>
#include <apiary/queues/mpsc_inbox.hpp>

namespace a23_spawn_races_stop {
namespace {

using namespace apiary;

template <class Sync, bool Closes>
class pool_of_one {
public:
    pool_of_one() { running_.store(true, std::memory_order_relaxed); }

    // False: stopped; the coroutine is destroyed and was not resumed.
    bool spawn() {
        frame* f = Sync::template create<frame>();
        if (queue_.push(f) == push_result::closed) {
            Sync::destroy(f);
            return false;
        }
        parker_.unpark();
        return true;
    }
    void stop() {
        running_.store(false, std::memory_order_seq_cst);
        parker_.unpark();
    }
    void work() {
        while (running_.load(std::memory_order_seq_cst)) {
            resume(queue_.drain());
            if (queue_.looks_empty() && running_.load(std::memory_order_seq_cst)) parker_.park();
        }
        if constexpr (Closes)
            resume(queue_.close());
        else
            resume(queue_.drain());
    }
    unsigned resumed() const { return resumed_; }

private:
    struct frame {
        typename Sync::template cell<frame*> next;
    };
    void resume(fifo_list<frame> list) {
        for (; frame* f = list.pop_front(); ++resumed_) Sync::destroy(f);
    }

    mpsc_inbox<frame, Sync> queue_;
    typename Sync::template atomic<bool> running_;
    typename Sync::parker parker_;
    unsigned resumed_ = 0;  // the worker's
};

template <class Sync, bool Closes>
struct spawn_against_stop {
    static constexpr unsigned threads = 3;
    pool_of_one<Sync, Closes> pool;
    bool accepted = false;

    void thread(unsigned i) {
        if (i == 0) pool.work();
        if (i == 1) accepted = pool.spawn();
        if (i == 2) pool.stop();
    }
    void after() {
        if (accepted) Sync::law(pool.resumed() != 0, "an accepted coroutine was never resumed");
    }
};
template <class Sync>
struct a23_spawn_races_stop : spawn_against_stop<Sync, false> {
    static constexpr const char* what = "a coroutine is queued after the last look of a pool that stops";
};
APIARY_EXHIBIT(a23_spawn_races_stop, "never resumed");
template <class Sync>
struct a23_fixed : spawn_against_stop<Sync, true> {
    static constexpr const char* what = "twin of A23: the queue is closed by the last look";
    static constexpr const char* exhibit = "a23_spawn_races_stop";
};
APIARY_CHECK(a23_fixed);

}  // namespace
}  // namespace a23_spawn_races_stop
