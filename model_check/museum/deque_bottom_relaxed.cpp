// deque_bottom_relaxed: push publishes an element by a release store of `bottom`, and pop stores `bottom` relaxed.
// A thief that reads pop's store does not synchronise with the push: in C++20 a thread's own relaxed store no longer
// continues its release sequence. It may find the slot of an element that it cannot yet see.
//
// From: the explorer's trial on this project's first deque.
// Seen by: the explorer only. Relacy still has the release sequences of C++11 and passes it in every mode.
// Fixed twin: the shipped deque, where every store of `bottom` is a release.
#include <apiary/model_check/register.hpp>

#include "defective_deque.hpp"

namespace deque_bottom_relaxed {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, class Deque>
struct pushes_and_pop_against_steal : deque_scenario<Sync, Deque, 2> {
    void thread(unsigned i) {
        if (i == 0)
            this->push(0), this->push(1), this->pop();
        else
            this->steal(1);
    }
};

template <class Sync>
struct deque_bottom_relaxed
    : pushes_and_pop_against_steal<Sync, exhibited_deque<Sync, defect::bottom_stored_relaxed, 4>> {
    static constexpr const char* what = "pop stores bottom relaxed: a thief that reads it does not see the slots below";
    static constexpr const char* relacy_passes =
        "its release sequences are C++11's: a thread's own relaxed store continues one";
};
APIARY_EXHIBIT(deque_bottom_relaxed, "uninitialised", model::explorer_only);

template <class Sync>
struct deque_bottom_fixed : pushes_and_pop_against_steal<Sync, shipped_deque<Sync, 4>> {
    static constexpr const char* what = "twin of deque_bottom_relaxed: every store of bottom is a release";
    static constexpr const char* exhibit = "deque_bottom_relaxed";
};
APIARY_CHECK(deque_bottom_fixed);

}  // namespace
}  // namespace deque_bottom_relaxed
