// The numbers a timer heap publishes, read by another thread while the owner adds and cancels: each is one that the owner
// has stored, and behind the owner's last step they are exact. Nothing more is promised (timer_heap.hpp).
#include <array>

#include <apiary/model_check/register.hpp>
#include <apiary/timers/clock.hpp>
#include <apiary/timers/timer_heap.hpp>

namespace timer_heap_check {
namespace {

using namespace apiary;

struct timer {
    std::int64_t deadline_ns;
};

template <class Sync>
struct timer_heap_published {
    static constexpr const char* what =
        "size and next deadline are values that the owner has stored, and exact at the end";
    static constexpr unsigned threads = 2;
    static constexpr std::array must_reach{"timers.seen_in_between"};
    timer_heap<timer, Sync> heap;
    manual_clock<Sync> clock{10};
    timer early{20}, late{30};

    void thread(unsigned i) {
        if (i == 0) {
            heap.add(&late);
            const timer_handle h = heap.add(&early);
            clock.set(15);
            Sync::law(heap.cancel(h) == &early, "the timer could not be cancelled");
            clock.advance(15);
            Sync::law(heap.pop_due(clock.now_ns()) == &late, "the timer is not due when its time has come");
            return;
        }
        const std::size_t size = heap.size();
        const std::int64_t next = heap.next_deadline();
        Sync::law(size <= 2, "a size that was never stored");
        Sync::law(next == 20 || next == 30 || next == heap.never, "a deadline that was never stored");
        if (size == 2 && next == 20) Sync::reach("timers.seen_in_between");
        const std::int64_t now = clock.now_ns();
        Sync::law(now == 10 || now == 15 || now == 30, "a time that was never set");
    }
    void after() {
        Sync::law(heap.size() == 0 && heap.next_deadline() == heap.never, "the published numbers are not exact");
    }
};
APIARY_CHECK(timer_heap_published);

}  // namespace
}  // namespace timer_heap_check
