// The shared fence by itself: what it orders is ordered, whichever thread issued it. Exhibit C32 shows what comes of a share in
// a round that had begun.
#include <apiary/model_check/register.hpp>
#include <apiary/parking/shared_fence.hpp>

#include "shared_fence_scenario.hpp"

namespace shared_fence_check {
namespace {

using namespace apiary;

template <class Sync>
struct sleepers_with_one_fence : sleepers_share_a_fence<Sync, shared_fence<Sync>> {
    static constexpr const char* what = "two workers that share a heavy fence go to sleep beside a push: none misses it";
    static constexpr const char* exhibit = "c32_round_under_way";
    static constexpr std::array must_reach{"shared_fence.shared", "shared_fence.waited_in_vain"};
};
APIARY_CHECK(sleepers_with_one_fence);

// A sleeper asks twice, as a worker does that wakes and sleeps again: the rounds go on.
template <class Sync>
struct fence_after_a_fence {
    static constexpr const char* what = "one thread asks for a fence twice, beside another and a push";
    static constexpr std::array must_reach{"shared_fence.shared"};
    static constexpr unsigned threads = 3;

    shared_fence<Sync> fence;
    typename Sync::template atomic<int> pushed, asleep;
    bool sleeper_saw = false, pusher_saw = false;

    void before() {
        pushed.store(0, std::memory_order_relaxed);
        asleep.store(0, std::memory_order_relaxed);
    }
    void thread(unsigned i) {
        if (i == 2) {
            pushed.store(1, std::memory_order_relaxed);
            Sync::fence_light();
            pusher_saw = asleep.load(std::memory_order_relaxed) != 0;
            return;
        }
        fence.pass();
        if (i == 1) return;
        asleep.store(1, std::memory_order_relaxed);
        fence.pass();
        sleeper_saw = pushed.load(std::memory_order_relaxed) != 0;
    }
    void after() { Sync::law(sleeper_saw || pusher_saw, "a sleeper missed a push, and the pusher that it sleeps"); }
};
APIARY_CHECK(fence_after_a_fence);

}  // namespace
}  // namespace shared_fence_check
