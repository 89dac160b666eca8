// A40: work in a place that nobody can steal from: a task posts a child into its worker's outbound buffer and waits
// for it, while the other worker sleeps.
//
// From: seed 002 section 6.5 (the same holds for the rest of a compute batch, section 8.2).
// Seen by: both engines. Plain interleaving: the child is run by nobody, whatever the order.
// Fixed twin: a task's post goes to its worker's deque, and claims a sleeper (idle_set).
#include <apiary/events/parker_driver.hpp>
#include <apiary/model_check/register.hpp>
#include <apiary/parking/sleeper.hpp>
#include <apiary/queues/chase_lev_deque.hpp>

namespace a40_hidden_work {
namespace {

using namespace apiary;

struct small_deque {
    static constexpr unsigned index_bits = 8;
    static constexpr std::size_t initial_capacity = 2, max_capacity = 2;
};

enum class child_goes_to { outbound_buffer, deque };

// Worker 0 runs a task that posts a child and waits for it; worker 1 steals, or sleeps.
template <class Sync, child_goes_to Place>
struct parent_waits_for_child {
    static constexpr unsigned threads = 2;
    chase_lev_deque<unsigned, Sync, small_deque> deque;
    idle_set<Sync> idle;
    parker_driver<Sync> driver;
    typename Sync::template atomic<unsigned> child_ran;

    void before() { child_ran.store(0, std::memory_order_relaxed); }
    void thread(unsigned i) {
        if (i == 0) {
            auto own = deque.own();
            if (Place == child_goes_to::deque) {
                Sync::law(own.try_push(1), "a deque with room refused a push");
                Sync::fence_light();
                if (idle.claim_any()) driver.wake();
            }  // else it waits in a vector for the end of the turn, which does not come
            Sync::spin_until(child_ran, [](unsigned v) { return v == 1; });
            return;
        }
        sleeper<Sync, parker_driver<Sync>> sleep(1, idle, driver);
        while (deque.share().steal().status != steal_status::taken)
            sleep.sleep(parker_driver<Sync>::forever, [&] {
                sleep.fence_against_pushers([] { return 2U; });
                return !deque.share().looks_empty();
            });
        (void)sleep.found_work();
        child_ran.store(1, std::memory_order_release);
    }
};

template <class Sync>
struct a40_outbound_buffer : parent_waits_for_child<Sync, child_goes_to::outbound_buffer> {
    static constexpr const char* what = "the child waits in the parent's worker's buffer, the parent for the child";
};
APIARY_EXHIBIT(a40_outbound_buffer, "deadlock");

template <class Sync>
struct a40_fixed : parent_waits_for_child<Sync, child_goes_to::deque> {
    static constexpr const char* what = "twin of A40: the child lies in the deque, and the sleeper is woken for it";
    static constexpr const char* exhibit = "a40_outbound_buffer";
};
APIARY_CHECK(a40_fixed);

}  // namespace
}  // namespace a40_hidden_work
