// B01: push goes on writing into the array it loaded before resize(); and the grown array is published by a
// relaxed store, so that a thief finds it before its elements. Either way a thief reads a slot nobody wrote.
//
// From: the PPoPP 2013 listing of the Chase-Lev deque in C11, found by CDSChecker (OOPSLA 2013).
// Seen by: both engines. Interleaving; the second needs a stale load.
// Fixed twin: the shipped deque.
#include <apiary/model_check/register.hpp>

#include "defective_deque.hpp"

namespace b01_grown_array {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, class Deque>
struct growth_against_steals : deque_scenario<Sync, Deque, 3> {
    void thread(unsigned i) {
        if (i == 0)
            this->push(0), this->push(1), this->push(2);
        else
            this->steal(3);
    }
};

template <class Sync>
struct b01_stale_array : growth_against_steals<Sync, exhibited_deque<Sync, defect::stale_array, 2>> {
    static constexpr const char* what = "push writes into the array it loaded before it grew";
};
APIARY_EXHIBIT(b01_stale_array, "uninitialised");

template <class Sync>
struct b01_relaxed_publication : growth_against_steals<Sync, exhibited_deque<Sync, defect::relaxed_publication, 2>> {
    static constexpr const char* what = "the grown array is published by a relaxed store";
};
APIARY_EXHIBIT(b01_relaxed_publication, "uninitialised");

template <class Sync>
struct b01_fixed : growth_against_steals<Sync, shipped_deque<Sync, 2>> {
    static constexpr const char* what =
        "twin of B01: push reads the array after growing it, and publishes it by a release store";
    static constexpr const char* exhibit = "b01_stale_array";
};
APIARY_CHECK(b01_fixed);

}  // namespace
}  // namespace b01_grown_array
