// A22: the poster enqueues (release) and then loads the number of waiters; the worker counts itself and then looks
// at the queue. Without a full fence on both sides each load may pass the store before it, and both miss.
//
// From: seed 003 "notify". A store buffer is enough: it happens on x86.
// Seen by: both engines.
// Fixed twin: its own repaired form: the four accesses are seq_cst.
#include <apiary/model_check/register.hpp>

#include "sleep_scenario.hpp"

namespace a22_notify_misses_waiter {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, bool Repaired>
class counted_waiters {
    static constexpr auto publish = Repaired ? std::memory_order_seq_cst : std::memory_order_release;
    static constexpr auto count = Repaired ? std::memory_order_seq_cst : std::memory_order_acq_rel;
    static constexpr auto look = Repaired ? std::memory_order_seq_cst : std::memory_order_acquire;

public:
    bool take() { return queued_.load(look) != 0; }
    void sleep() {
        waiters_.fetch_add(1, count);
        if (queued_.load(look) == 0) parker_.park();
        waiters_.fetch_sub(1, count);
    }
    void post() {
        queued_.store(1, publish);
        if (waiters_.load(look) != 0) parker_.unpark();
    }

private:
    typename Sync::template atomic<unsigned> queued_{0}, waiters_{0};
    typename Sync::parker parker_;
};

template <class Sync>
struct a22_notify_misses_waiter : one_worker_one_post<Sync, counted_waiters<Sync, false>> {
    static constexpr const char* what =
        "enqueue then load the waiter count, count then look at the queue: neither sees the other";
};
APIARY_EXHIBIT(a22_notify_misses_waiter, "deadlock");

template <class Sync>
struct a22_fixed : one_worker_one_post<Sync, counted_waiters<Sync, true>> {
    static constexpr const char* what = "twin of A22: seq_cst on both sides";
    static constexpr const char* exhibit = "a22_notify_misses_waiter";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(a22_fixed);

}  // namespace
}  // namespace a22_notify_misses_waiter
