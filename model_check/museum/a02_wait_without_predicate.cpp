// A02: a compute worker publishes "sleeping" and then waits on a condition variable with no predicate and no
// second look: a notify that comes between the two finds nobody waiting and is lost.
//
// From: seed 002 section 8.2, as it reads.
// Seen by: both engines. Plain interleaving.
// Fixed twin: the shipped sleeper on a parker, whose wake is a token that stays.
#include <apiary/model_check/register.hpp>

#include "sleep_scenario.hpp"

namespace a02_wait_without_predicate {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync>
class condvar_protocol {
public:
    bool take() { return queued_.load(std::memory_order_seq_cst) != 0; }
    void sleep() {
        sleeping_.store(true, std::memory_order_seq_cst);
        {
            typename Sync::lock held(mutex_);
            wake_.wait(held);
        }
        sleeping_.store(false, std::memory_order_seq_cst);
    }
    void post() {
        queued_.store(1, std::memory_order_seq_cst);
        if (sleeping_.load(std::memory_order_seq_cst)) wake_.notify_one();
    }

private:
    typename Sync::template atomic<unsigned> queued_{0};
    typename Sync::template atomic<bool> sleeping_{false};
    typename Sync::mutex mutex_;
    typename Sync::condvar wake_;
};

template <class Sync>
struct a02_wait_without_predicate : one_worker_one_post<Sync, condvar_protocol<Sync>> {
    static constexpr const char* what =
        "a condition variable without a predicate: the notify comes before the wait and is lost";
};
APIARY_EXHIBIT(a02_wait_without_predicate, "deadlock");

template <class Sync>
struct a02_fixed : one_worker_one_post<Sync, shipped_protocol<Sync>> {
    static constexpr const char* what = "twin of A02: the wake is a token in a parker";
    static constexpr const char* exhibit = "a02_wait_without_predicate";
};
APIARY_CHECK(a02_fixed);

}  // namespace
}  // namespace a02_wait_without_predicate
