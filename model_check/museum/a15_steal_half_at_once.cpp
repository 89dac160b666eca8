// A15: a thief takes half of a Chase-Lev deque with one compare-exchange on `top`, while the owner pops at the
// bottom without one as long as more than one element is left: items between the two are run twice.
//
// From: seed 001 "StealHalfInto".
// Seen by: both engines. Plain interleaving.
// Fixed twin: the shipped deque, from which a thief takes one element at a time.
#include <apiary/model_check/register.hpp>

#include "defective_deque.hpp"

namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, class Deque>
struct half_against_pops : deque_scenario<Sync, Deque, 3> {
    void before() { this->push(0), this->push(1), this->push(2); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(), this->pop();
        else
            this->steal(1);
    }
};

template <class Sync>
struct a15_steal_half_at_once : half_against_pops<Sync, exhibited_deque<Sync, defect::steal_half_at_once, 4>> {
    static constexpr const char* what = "half of three elements by one compare-exchange, against two pops";
};
APIARY_EXHIBIT(a15_steal_half_at_once, "left twice");

template <class Sync>
struct a15_fixed : half_against_pops<Sync, shipped_deque<Sync, 4>> {
    static constexpr const char* what = "twin of A15: one element per compare-exchange";
};
APIARY_CHECK(a15_fixed);

}  // namespace
