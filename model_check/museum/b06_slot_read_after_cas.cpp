// B06: a thief reads the slot after its compare-exchange has won; by then the owner may have wrapped around and put
// another element there.
//
// From: concurrent-deque, ssbl #2; also what the reversal of two lines in the shipped steal() would be.
// Seen by: both engines. Plain interleaving, in a small array.
// Fixed twin: the shipped deque.
#include <apiary/model_check/register.hpp>

#include "defective_deque.hpp"

namespace b06_slot_read_after_cas {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, class Deque>
struct wrap_around_against_steal : deque_scenario<Sync, Deque, 3> {
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0)
            this->push(2);
        else
            this->steal(1);
    }
};

template <class Sync>
struct b06_slot_read_after_cas : wrap_around_against_steal<Sync, exhibited_deque<Sync, defect::slot_after_cas, 2>> {
    static constexpr const char* what = "the slot is read when top has moved and the owner may already have reused it";
};
APIARY_EXHIBIT(b06_slot_read_after_cas, "left twice");

template <class Sync>
struct b06_fixed : wrap_around_against_steal<Sync, shipped_deque<Sync, 2>> {
    static constexpr const char* what = "twin of B06: the slot is read before the compare-exchange";
    static constexpr const char* exhibit = "b06_slot_read_after_cas";
};
APIARY_CHECK(b06_fixed);

}  // namespace
}  // namespace b06_slot_read_after_cas
