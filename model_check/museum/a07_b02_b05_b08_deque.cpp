// Defects of Chase-Lev deques beside the published ones that have a file of their own.
//
//   A07  seed 002 3.1, 4.2: a slot is an object (std::function) and not a word. The thief reads it before its
//        compare-exchange, as it must, while the owner writes the next lap's object there.
//   B02  the benchmarks of CDSChecker: bottom - 1 underflows on a deque that never held anything, and compares as huge.
//   B05  coreclr #17508: .NET's queue ran without its barriers on ARM64. push publishes without a release; pop
//        does not order its store of bottom before its load of top.
//   B08  brpc #177: a thief that lost goes on with the `top` that it had, for as long as the deque is not empty.
//   C04  pop takes the last element by a weak compare-exchange: it may fail for no reason, and a deque that still
//        holds the element reads as empty.
//
// Fixed twin of each: the shipped deque.
#include <apiary/model_check/register.hpp>

#include "defective_deque.hpp"

namespace a07_b02_b05_b08_deque {
namespace {

using namespace apiary;
using namespace apiary::museum;

template <class Sync, class Deque>
struct next_lap_against_steal : deque_scenario<Sync, Deque, 4> {
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(), this->pop(), this->push(2), this->push(3);
        else
            this->steal(1);
    }
};

template <class Sync>
struct a07_object_in_a_slot : next_lap_against_steal<Sync, exhibited_deque<Sync, defect::plain_slots, 2>> {
    static constexpr const char* what = "a thief reads an object that the owner is replacing";
};
APIARY_EXHIBIT(a07_object_in_a_slot, "data race");

template <class Sync>
struct a07_fixed : next_lap_against_steal<Sync, shipped_deque<Sync, 2>> {
    static constexpr const char* what = "twin of A07: a slot is one atomic word";
    static constexpr const char* exhibit = "a07_object_in_a_slot";
};
APIARY_CHECK(a07_fixed);

template <class Sync, class Deque>
struct pop_of_nothing : deque_scenario<Sync, Deque, 1> {
    static constexpr unsigned threads = 1;
    void thread(unsigned) {
        Sync::law(!this->pop(), "a virgin deque gave an element");
        this->push(0);
        Sync::law(this->pop(), "an element was pushed, and pop finds nothing");
    }
};

template <class Sync>
struct b02_bottom_underflows : pop_of_nothing<Sync, exhibited_deque<Sync, defect::unsigned_underflow, 2>> {
    static constexpr const char* what = "pop on a virgin deque takes bottom - 1 for a huge number of elements";
};
APIARY_EXHIBIT(b02_bottom_underflows, "uninitialised");

template <class Sync>
struct b02_fixed : pop_of_nothing<Sync, shipped_deque<Sync, 2>> {
    static constexpr const char* what = "twin of B02: distances are signed, and an empty deque is seen before";
    static constexpr const char* exhibit = "b02_bottom_underflows";
};
APIARY_CHECK(b02_fixed);

template <class Sync, class Deque>
struct push_against_steal : deque_scenario<Sync, Deque, 1> {
    void thread(unsigned i) {
        if (i == 0)
            this->push(0);
        else
            this->steal(1);
    }
};

template <class Sync>
struct b05_push_without_release : push_against_steal<Sync, exhibited_deque<Sync, defect::push_relaxed, 2>> {
    static constexpr const char* what = "push publishes by a plain store: a thief finds bottom moved and the slot not";
};
APIARY_EXHIBIT(b05_push_without_release, "uninitialised");

template <class Sync>
struct b05_push_fixed : push_against_steal<Sync, shipped_deque<Sync, 2>> {
    static constexpr const char* what = "twin of B05: push stores bottom with release";
    static constexpr const char* exhibit = "b05_push_without_release";
};
APIARY_CHECK(b05_push_fixed);

template <class Sync, class Deque>
struct two_pops_against_two_steals : deque_scenario<Sync, Deque, 2> {
    void before() { this->push(0), this->push(1); }
    void thread(unsigned i) {
        if (i == 0)
            this->pop(), this->pop();
        else
            this->steal(2);
    }
};

template <class Sync>
struct b05_pop_without_fence : two_pops_against_two_steals<Sync, exhibited_deque<Sync, defect::pop_without_fence, 2>> {
    static constexpr const char* what =
        "pop's load of top passes its store of bottom: owner and thief take the same one";
};
APIARY_EXHIBIT(b05_pop_without_fence, "left twice");

template <class Sync>
struct b05_pop_fixed : two_pops_against_two_steals<Sync, shipped_deque<Sync, 2>> {
    static constexpr const char* what = "twin of B05: a seq_cst fence between the two";
    static constexpr const char* exhibit = "b05_pop_without_fence";
};
APIARY_CHECK(b05_pop_fixed);

// A third thread that steals is the rival; the owner is before().
template <class Sync, class Deque>
struct two_thieves : deque_scenario<Sync, Deque, 3> {
    void before() { this->push(0), this->push(1), this->push(2); }
    void thread(unsigned i) {
        this->deque.steal(1, [this, i](std::uint64_t v) { this->ledger.took(i, static_cast<std::size_t>(v) - 1); });
    }
};

template <class Sync>
struct b08_top_not_reloaded : two_thieves<Sync, exhibited_deque<Sync, defect::top_kept_on_retry, 4>> {
    static constexpr const char* what = "a thief that lost tries the same top for ever: the deque is not empty";
};
APIARY_EXHIBIT(b08_top_not_reloaded, "livelock");

template <class Sync>
struct b08_fixed : two_thieves<Sync, shipped_deque<Sync, 4>> {
    static constexpr const char* what = "twin of B08: a steal that lost says so, and the next one loads top again";
    static constexpr const char* exhibit = "b08_top_not_reloaded";
};
APIARY_CHECK(b08_fixed);

// Nobody else is there: pop must find what is inside.
template <class Sync, class Deque>
struct lone_owner : deque_scenario<Sync, Deque, 1> {
    static constexpr unsigned threads = 1;
    void thread(unsigned) {
        this->push(0);
        Sync::law(this->pop(), "an element was pushed, and pop finds nothing");
    }
};

template <class Sync>
struct deque_pop_weak : lone_owner<Sync, exhibited_deque<Sync, defect::weak_last_element, 2>> {
    static constexpr const char* what =
        "the last element by a weak compare-exchange: a deque that holds one reads as empty";
};
APIARY_EXHIBIT(deque_pop_weak, "pop finds nothing");

template <class Sync>
struct deque_pop_strong : lone_owner<Sync, shipped_deque<Sync, 2>> {
    static constexpr const char* what = "twin of deque_pop_weak: pop's compare-exchange is strong";
    static constexpr const char* exhibit = "deque_pop_weak";
};
APIARY_CHECK(deque_pop_strong);

}  // namespace
}  // namespace a07_b02_b05_b08_deque
