// B21 to B24, A21: a poster looks whether anybody waits, a worker looks whether there is work, and each overlooks the other.
//
// From: tokio #1768; oneTBB #2136; folly ff7ab9dbe; rayon #992; seed 003 "notify".
// Seen by: both engines. B21 to B23 need a stale load or a store buffer, A21 and B24 plain interleaving.
// Fixed twins: their own repaired forms; for B24 the shipped sleeper.
#include <array>

#include <apiary/model_check/register.hpp>

#include "sleep_scenario.hpp"

namespace b21_to_b24_missed_wakes {
namespace {

using namespace apiary;
using namespace apiary::museum;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

// B21. A poster wakes nobody while somebody searches. The searcher stops searching, and looks once more.
template <class Sync, bool ByReadModifyWrite>
class searcher_protocol {
public:
    bool take() { return queued_.load(acquire) != 0; }
    void sleep() {
        searching_.fetch_sub(1, acq_rel);
        if (queued_.load(acquire) == 0) parker_.park();
        searching_.fetch_add(1, acq_rel);
    }
    void post() {
        queued_.store(1, release);
        const unsigned searching = ByReadModifyWrite ? searching_.fetch_add(0, acq_rel) : searching_.load(seq_cst);
        if (searching == 0) parker_.unpark();
    }

private:
    typename Sync::template atomic<unsigned> queued_{0}, searching_{1};
    typename Sync::parker parker_;
};
template <class Sync>
struct b21_searching_by_a_load : one_worker_one_post<Sync, searcher_protocol<Sync, false>> {
    static constexpr const char* what =
        "the poster loads that somebody searches; that one has stopped, and not seen the task";
};
APIARY_EXHIBIT(b21_searching_by_a_load, "deadlock");
template <class Sync>
struct b21_fixed : one_worker_one_post<Sync, searcher_protocol<Sync, true>> {
    static constexpr const char* what = "twin of B21: a read-modify-write stands before the searcher's, or after it";
    static constexpr const char* exhibit = "b21_searching_by_a_load";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(b21_fixed);

// B22, B23. Count myself, then look at the queue; publish, then look at the count.
enum class between { a_read_modify_write, a_seq_cst_load, a_fence };
template <class Sync, between Order>
class counted_waiter {
public:
    bool take() { return queued_.load(acquire) != 0; }
    void sleep() {
        waiters_.fetch_add(1, seq_cst);
        Sync::fence(seq_cst);
        if (queued_.load(relaxed) == 0) parker_.park();
        waiters_.fetch_sub(1, relaxed);
    }
    void post() {
        queued_.store(1, release);
        if constexpr (Order == between::a_read_modify_write) epoch_.fetch_add(1, acq_rel);
        if constexpr (Order == between::a_fence) Sync::fence(seq_cst);
        if (waiters_.load(Order == between::a_seq_cst_load ? seq_cst : relaxed) != 0) parker_.unpark();
    }

private:
    typename Sync::template atomic<unsigned> queued_{0}, waiters_{0}, epoch_{0};
    typename Sync::parker parker_;
};
template <class Sync>
struct b22_rmw_for_a_fence : one_worker_one_post<Sync, counted_waiter<Sync, between::a_read_modify_write>> {
    static constexpr const char* what = "a read-modify-write of another word between publish and look is no fence";
};
APIARY_EXHIBIT(b22_rmw_for_a_fence, "deadlock");
template <class Sync>
struct b23_release_then_load : one_worker_one_post<Sync, counted_waiter<Sync, between::a_seq_cst_load>> {
    static constexpr const char* what = "a release store, then a seq_cst load: the load may still pass the store";
};
APIARY_EXHIBIT(b23_release_then_load, "deadlock");
template <class Sync>
struct b22_fixed : one_worker_one_post<Sync, counted_waiter<Sync, between::a_fence>> {
    static constexpr const char* what = "twin of B22 and B23: a seq_cst fence on both sides";
    static constexpr const char* exhibit = "b22_rmw_for_a_fence";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(b22_fixed);

// B24. Two kinds of queue; the last look before the sleep misses one of them.
template <class Sync, bool LooksAtBoth>
class two_queues {
public:
    bool take() {
        if (mine_.load(acquire) == 0 && shared_.load(acquire) == 0) return false;
        (void)sleeper_.found_work();
        return true;
    }
    void sleep() {
        sleeper_.sleep(driver::forever,
                       [this] { return mine_.load(seq_cst) != 0 || (LooksAtBoth && shared_.load(seq_cst) != 0); });
    }
    void post() {
        shared_.store(1, seq_cst);
        if (idle_.claim_any()) driver_.wake();
    }

private:
    using driver = parker_driver<Sync>;
    typename Sync::template atomic<unsigned> mine_{0}, shared_{0};
    idle_set<Sync> idle_;
    driver driver_;
    sleeper<Sync, driver> sleeper_{0, idle_, driver_};
};
template <class Sync>
struct b24_one_queue_missed : one_worker_one_post<Sync, two_queues<Sync, false>> {
    static constexpr const char* what = "the last look before the sleep misses the queue that the task is in";
};
APIARY_EXHIBIT(b24_one_queue_missed, "deadlock");
template <class Sync>
struct b24_fixed : one_worker_one_post<Sync, two_queues<Sync, true>> {
    static constexpr const char* what = "twin of B24: the last look is at every queue";
    static constexpr const char* exhibit = "b24_one_queue_missed";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(b24_fixed);

// A21. notify_one outside the lock, when the counter says that somebody waits: that one has counted itself, and does
// not block yet. (In the seed it then waits out its 100 ms, here for ever.)
template <class Sync, bool UnderTheLock>
class counted_condvar {
public:
    bool take() { return queued_.load(seq_cst) != 0; }
    void sleep() {
        waiters_.fetch_add(1, seq_cst);
        if (queued_.load(seq_cst) == 0) {
            typename Sync::lock held(mutex_);
            if (!UnderTheLock || queued_.load(seq_cst) == 0) wake_.wait(held);
        }
        waiters_.fetch_sub(1, seq_cst);
    }
    void post() {
        queued_.store(1, seq_cst);
        if (waiters_.load(seq_cst) == 0) return;
        if constexpr (UnderTheLock) {
            mutex_.lock();
            mutex_.unlock();
        }
        wake_.notify_one();
    }

private:
    typename Sync::template atomic<unsigned> queued_{0}, waiters_{0};
    typename Sync::mutex mutex_;
    typename Sync::condvar wake_;
};
template <class Sync>
struct a21_notify_outside_the_lock : one_worker_one_post<Sync, counted_condvar<Sync, false>> {
    static constexpr const char* what = "the waiter has counted itself and not yet blocked: the notify finds nobody";
};
APIARY_EXHIBIT(a21_notify_outside_the_lock, "deadlock");
template <class Sync>
struct a21_fixed : one_worker_one_post<Sync, counted_condvar<Sync, true>> {
    static constexpr const char* what = "twin of A21: the lock between, and a look under it before the wait";
    static constexpr const char* exhibit = "a21_notify_outside_the_lock";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(a21_fixed);

}  // namespace
}  // namespace b21_to_b24_missed_wakes
