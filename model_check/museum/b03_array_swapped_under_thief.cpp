// B03: a thief that takes a batch loads the array once; the owner grows it in between, and the thief's later
// compare-exchange still succeeds on `top`: it gets an element from the old array, where that position holds
// another one. One task runs twice, another never; the count stays right.
//
// From: crossbeam-deque up to 0.8.0, CVE-2021-32810.
// Seen by: both engines. Plain interleaving, in a burst.
// Fixed twin: the shipped deque, whose thief loads the array for every element.
#include <apiary/model_check/register.hpp>

#include "defective_deque.hpp"

namespace b03_array_swapped_under_thief {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, class Deque>
struct growth_under_a_batch : deque_scenario<Sync, Deque, 3> {
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0)
            this->push(2);
        else
            this->steal(3);
    }
};

template <class Sync>
struct b03_array_swapped_under_thief : growth_under_a_batch<Sync, exhibited_deque<Sync, defect::array_loaded_once, 2>> {
    static constexpr const char* what = "a batch of steals keeps the array it loaded first while the owner grows it";
};
APIARY_EXHIBIT(b03_array_swapped_under_thief, "left twice");

template <class Sync>
struct b03_fixed : growth_under_a_batch<Sync, shipped_deque<Sync, 2>> {
    static constexpr const char* what = "twin of B03: the array is loaded for every element";
    static constexpr const char* exhibit = "b03_array_swapped_under_thief";
};
APIARY_CHECK(b03_fixed);

}  // namespace
}  // namespace b03_array_swapped_under_thief
