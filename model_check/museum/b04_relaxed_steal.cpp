// B04: nothing orders a thief's load of `top` before its load of `bottom`: owner and thief each miss what the other
// has just stored, and both take the same last element.
//
// From: xenium's deque before commit 0818d41.
// Seen by: both engines. Store buffering.
// Fixed twin: the shipped deque.
#include <apiary/model_check/register.hpp>

#include "defective_deque.hpp"

namespace b04_relaxed_steal {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, class Deque>
struct two_pops_two_steals : deque_scenario<Sync, Deque, 2> {
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop();
        else
            this->steal(2);
    }
};

template <class Sync>
struct b04_relaxed_steal : two_pops_two_steals<Sync, exhibited_deque<Sync, defect::relaxed_steal, 4>> {
    static constexpr const char* what =
        "no fence between a thief's loads of top and bottom: the last element is taken twice";
};
APIARY_EXHIBIT(b04_relaxed_steal, "left twice");

template <class Sync>
struct b04_fixed : two_pops_two_steals<Sync, shipped_deque<Sync, 4>> {
    static constexpr const char* what = "twin of B04: a seq_cst fence between the two loads";
    static constexpr const char* exhibit = "b04_relaxed_steal";
};
APIARY_CHECK(b04_fixed);

}  // namespace
}  // namespace b04_relaxed_steal
