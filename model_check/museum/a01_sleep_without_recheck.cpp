// A01: an IO worker looks for work, publishes "sleeping" and blocks; nobody looks again in between, so a post that
// read the flag before it was set wakes nobody, and its task waits for ever.
//
// From: seed 002 sections 7.2 and 5.5, as it reads. Second exhibit: the recheck is there, the fence is not.
// Seen by: both engines. Plain interleaving; the second needs a store buffer.
// Fixed twin: the shipped sleeper, idle_set and global_pool.
#include <apiary/model_check/register.hpp>

#include "sleep_scenario.hpp"

namespace a01_sleep_without_recheck {
namespace {

using namespace apiary;
using namespace apiary::museum;

enum class look_again { never, without_fence };

template <class Sync, look_again Recheck>
class flag_protocol {
    static constexpr bool buffered = Recheck == look_again::without_fence;
    static constexpr auto publish = buffered ? std::memory_order_release : std::memory_order_seq_cst;
    static constexpr auto look = buffered ? std::memory_order_acquire : std::memory_order_seq_cst;

public:
    bool take() { return queued_.load(look) != 0; }
    void sleep() {
        sleeping_.store(true, publish);
        if (Recheck == look_again::never || queued_.load(look) == 0) parker_.park();
        sleeping_.store(false, publish);
    }
    void post() {
        queued_.store(1, publish);
        if (sleeping_.load(look)) parker_.unpark();
    }

private:
    typename Sync::template atomic<unsigned> queued_{0};  // all that matters of the global pool: is there work
    typename Sync::template atomic<bool> sleeping_{false};
    typename Sync::parker parker_;
};

template <class Sync>
struct a01_no_recheck : one_worker_one_post<Sync, flag_protocol<Sync, look_again::never>> {
    static constexpr const char* what = "the worker blocks without a second look: a post in between wakes nobody";
};
APIARY_EXHIBIT(a01_no_recheck, "deadlock");

template <class Sync>
struct a01_recheck_without_fence : one_worker_one_post<Sync, flag_protocol<Sync, look_again::without_fence>> {
    static constexpr const char* what =
        "the second look is there, but may pass the store of the flag: both sides miss each other";
};
APIARY_EXHIBIT(a01_recheck_without_fence, "deadlock");

template <class Sync>
struct a01_fixed : one_worker_one_post<Sync, shipped_protocol<Sync>> {
    static constexpr const char* what = "twin of A01: announce, look again, block; push, then look for a sleeper";
    static constexpr const char* exhibit = "a01_no_recheck";
};
APIARY_CHECK(a01_fixed);

}  // namespace
}  // namespace a01_sleep_without_recheck
