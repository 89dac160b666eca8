// B25 where the latch lies on the waiter's stack: the setter touches it once more, and the frame has returned.
//
// From: rayon #739, whose latch is a local variable of the thread that joins.
// Seen by: both engines, as use after the end. Of a plain local variable the explorer sees nothing, since what is left
// on the modelled stack looks as if it were there still; Relacy sees it until another frame lies there.
// Fixed twins: all that the wake needs is read before the set; the parker outlives the frame.
#include <apiary/model_check/register.hpp>
#include <apiary/parking/parker.hpp>

namespace b25_latch_on_a_stack {
namespace {

using namespace apiary;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

enum class after_the_set { nothing, reads_the_latch, wakes_in_the_latch };

template <class Sync, after_the_set Touch>
struct frame_waits_for_a_latch {
    static constexpr unsigned threads = 2;
    static constexpr std::array engine_laws{"lifetime"};
    struct latch {
        explicit latch(basic_parker<Sync>* w) : waiter(w) {}
        typename Sync::template atomic<bool> set{false};
        basic_parker<Sync>* const waiter;
        basic_parker<Sync> own;
    };
    basic_parker<Sync> of_the_waiter;  // outlives every frame
    typename Sync::template atomic<latch*> posted{nullptr};

    void thread(unsigned i) {
        if (i == 0)
            waits();
        else
            sets(*Sync::spin_until(posted, [](latch* l) { return l != nullptr; }));
    }
    void waits() {
        typename Sync::template scoped<latch> mine(&of_the_waiter);
        posted.store(&*mine, release);
        basic_parker<Sync>& parker = Touch == after_the_set::wakes_in_the_latch ? mine->own : *mine->waiter;
        while (!mine->set.load(acquire)) parker.park();
    }
    static void sets(latch& l) {
        basic_parker<Sync>* waiter = l.waiter;
        l.set.store(true, release);  // the last that may be done to the latch
        if (Touch == after_the_set::nothing) waiter->unpark();
        if (Touch == after_the_set::reads_the_latch && l.set.load(relaxed)) waiter->unpark();
        if (Touch == after_the_set::wakes_in_the_latch) l.own.unpark();
    }
};
template <class Sync>
struct b25_latch_read_after_its_frame : frame_waits_for_a_latch<Sync, after_the_set::reads_the_latch> {
    static constexpr const char* what = "the setter reads the latch once more: the waiter's frame has returned";
};
APIARY_EXHIBIT(b25_latch_read_after_its_frame, "access to freed memory");
template <class Sync>
struct b25_wake_in_a_returned_frame : frame_waits_for_a_latch<Sync, after_the_set::wakes_in_the_latch> {
    static constexpr const char* what =
        "the parker is part of the latch: the waiter sees the set and returns, then comes the wake";
};
APIARY_EXHIBIT(b25_wake_in_a_returned_frame, "access to freed memory");
template <class Sync>
struct b25_stack_fixed : frame_waits_for_a_latch<Sync, after_the_set::nothing> {
    static constexpr const char* what = "twin of B25 on a stack: the set is the last that is done to the latch";
    static constexpr const char* exhibit = "b25_latch_read_after_its_frame";
};
APIARY_CHECK(b25_stack_fixed);

}  // namespace
}  // namespace b25_latch_on_a_stack
