// C32: threads share heavy fences, and one is content with the fence that was under way when it asked. That fence may have been over
// before the thread announced its sleep: what was pushed in between is seen by nobody.
//
// From: the obvious way to share a fence.
// Seen by: both engines, plain interleaving.
// Fixed twin: shared_fence, in which such a thread waits for the round after that.
#include <apiary/model_check/register.hpp>

#include "../parking/shared_fence_scenario.hpp"

namespace c32_round_under_way {
namespace {

using namespace apiary;

// The word is odd while a thread issues the fence.
template <class Sync>
class fence_of_the_round_under_way {
public:
    void pass() {
        unsigned round = round_.fetch_add(0, std::memory_order_acq_rel);
        if (round % 2 != 0) return (void)Sync::spin_until(round_, [round](unsigned now) { return now > round; });
        const bool mine = round_.compare_exchange_strong(round, round + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
        Sync::fence_heavy();
        if (mine) (void)round_.fetch_add(1, std::memory_order_release);
    }

private:
    typename Sync::template atomic<unsigned> round_{0};
};

template <class Sync>
struct c32_round_under_way : sleepers_share_a_fence<Sync, fence_of_the_round_under_way<Sync>> {
    static constexpr const char* what = "a sleeper shares a fence that had begun before it announced its sleep";
};
APIARY_EXHIBIT(c32_round_under_way, "missed a push");

}  // namespace
}  // namespace c32_round_under_way
