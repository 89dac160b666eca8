// The shared fence by itself: what it orders is ordered, whichever thread issued it. Exhibit C32 shows what comes of a share in
// a round that had begun.
#include <apiary/model_check/register.hpp>
#include <apiary/parking/shared_fence.hpp>

#include "shared_fence_scenario.hpp"

namespace shared_fence_check {
namespace {

using namespace apiary;

// As few looks as over Sync where the twin runs the header as it is.
template <class Sync>
using fence_of_two_looks = shared_fence<Sync, 2>;

template <class Sync>
struct sleepers_with_one_fence : sleepers_share_a_fence<Sync, fence_of_two_looks<Sync>> {
    static constexpr const char* what =
        "two workers that share a heavy fence go to sleep beside a push: none misses it";
    static constexpr const char* exhibit = "c32_round_under_way";
    static constexpr std::array must_reach{"shared_fence.shared", "shared_fence.waited_in_vain"};
};
APIARY_CHECK(sleepers_with_one_fence);

// Thread 1 may ask during the first round of thread 0, and must not be content with the begin of the second (shared_fence I2).
template <class Sync>
struct fence_after_a_fence : sleepers_share_a_fence<Sync, fence_of_two_looks<Sync>> {
    static constexpr const char* what =
        "two workers that share a heavy fence go to sleep beside a push, and one of them has asked for a fence before: "
        "none misses it";
    static constexpr std::array must_reach{"shared_fence.shared"};

    void thread(unsigned i) {
        if (i == 0) this->fence.pass();
        sleepers_share_a_fence<Sync, fence_of_two_looks<Sync>>::thread(i);
    }
};
APIARY_CHECK(fence_after_a_fence);

}  // namespace
}  // namespace shared_fence_check
