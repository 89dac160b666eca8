// B30, B37 and B38: a wake that a stale bit swallows; a stop that misses the sleeper; a stop that touches what it has ended.
//
// From: compio #948; oneTBB 525a38895; stdexec #1746.
// Seen by: both engines; B37 needs a store buffer.
// Fixed twin: of B30 the shipped word of a process; its own repaired form of the others.
#include <apiary/model_check/register.hpp>

#include "shipped_process.hpp"
#include "sleep_scenario.hpp"

namespace b30_to_b38_wakes_and_stops {
namespace {

using namespace apiary;
using namespace apiary::museum;

// B30. A task that two others wake, on one executor. The bit `scheduled` keeps it in the queue at most once.
template <class Sync>
struct b30_stale_scheduled_bit {
    static constexpr const char* what = "the bit is cleared when the run is over: a wake during the run is swallowed";
    static constexpr unsigned threads = 3;
    typename Sync::template atomic<bool> scheduled{false};
    typename Sync::template atomic<unsigned> queued{0}, events{0};

    void wake() {
        events.fetch_add(1, std::memory_order_relaxed);
        if (!scheduled.exchange(true, std::memory_order_release)) queued.fetch_add(1, std::memory_order_relaxed);
    }
    unsigned run() {
        const unsigned seen =
            events.load(std::memory_order_relaxed) == 0 ? 0 : events.exchange(0, std::memory_order_relaxed);
        // An exchange, not a store: it acquires what the wakers whose bit it takes away have announced.
        scheduled.exchange(false, std::memory_order_acquire);
        return seen;
    }
    void thread(unsigned i) {
        if (i != 0) return wake();
        for (unsigned seen = 0; seen != 2; seen += run()) {
            Sync::spin_until(queued, [](unsigned n) { return n != 0; });
            queued.fetch_sub(1, std::memory_order_relaxed);
        }
    }
};
APIARY_EXHIBIT(b30_stale_scheduled_bit, "deadlock");
template <class Sync>
struct b30_fixed {
    static constexpr const char* what = "twin of B30: what says that it is queued is the word that has its messages";
    static constexpr const char* exhibit = "b30_stale_scheduled_bit";
    static constexpr unsigned threads = 3;
    static constexpr std::array engine_laws{"deadlock"};
    shipped_process<Sync> process{process_state::idle};
    typename Sync::template atomic<unsigned> queued{0};
    void thread(unsigned i) {
        if (i != 0) {
            if (process.send(i, false)) queued.fetch_add(1, std::memory_order_release);
            return;
        }
        for (unsigned seen = 0; seen != 2;) {
            Sync::spin_until(queued, [](unsigned n) { return n != 0; });
            queued.fetch_sub(1, std::memory_order_acquire);
            seen += process.start();
            if (process.settle(process_state::idle)) queued.fetch_add(1, std::memory_order_relaxed);
        }
    }
};
APIARY_CHECK(b30_fixed);

// B37. The "post" of the scenario is the stop, and to find work is to see it.
template <class Sync, bool Fenced>
class quit_flag {
public:
    bool take() { return quit_.load(std::memory_order_relaxed); }
    void sleep() {
        waiting_.store(true, std::memory_order_relaxed);
        if constexpr (Fenced) Sync::fence(std::memory_order_seq_cst);  // pairs with the one in post
        if (!quit_.load(std::memory_order_relaxed)) parker_.park();
        waiting_.store(false, std::memory_order_relaxed);
    }
    void post() {
        quit_.store(true, std::memory_order_relaxed);
        if constexpr (Fenced) Sync::fence(std::memory_order_seq_cst);  // pairs with the one in sleep
        if (waiting_.load(std::memory_order_relaxed)) parker_.unpark();
    }

private:
    typename Sync::template atomic<bool> quit_{false}, waiting_{false};
    typename Sync::parker parker_;
};
template <class Sync>
struct b37_quit_without_fence : one_worker_one_post<Sync, quit_flag<Sync, false>> {
    static constexpr const char* what =
        "set quit, look for a waiter; announce the wait, look at quit: both miss each other";
};
APIARY_EXHIBIT(b37_quit_without_fence, "deadlock");
template <class Sync>
struct b37_fixed : one_worker_one_post<Sync, quit_flag<Sync, true>> {
    static constexpr const char* what = "twin of B37: a full fence on both sides";
    static constexpr const char* exhibit = "b37_quit_without_fence";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(b37_fixed);

// B38. A loop on the heap, destroyed by its thread when run() has returned; another thread ends it.
template <class Sync, bool LastTouch>
struct finish_against_run {
    static constexpr unsigned threads = 2;
    struct loop {
        typename Sync::template atomic<bool> finishing{false};
        typename Sync::template atomic<unsigned> queued{0};  // the task that makes run() look
    };
    loop* the_loop = nullptr;

    void before() { the_loop = Sync::template create<loop>(); }
    void run() {
        if constexpr (LastTouch) {
            Sync::spin_until(the_loop->queued, [](unsigned n) { return n != 0; });
        } else {
            if (!the_loop->finishing.load(std::memory_order_acquire))
                Sync::spin_until(the_loop->queued, [](unsigned n) { return n != 0; });
        }
        Sync::destroy(the_loop);
    }
    void thread(unsigned i) {
        if (i == 0) return run();
        if constexpr (!LastTouch) the_loop->finishing.store(true, std::memory_order_release);
        the_loop->queued.fetch_add(1, std::memory_order_release);
    }
};
template <class Sync>
struct b38_finish_pushes_too_late : finish_against_run<Sync, false> {
    static constexpr const char* what = "finish sets the flag and then pushes; run has seen the flag and is gone";
};
APIARY_EXHIBIT(b38_finish_pushes_too_late, "access to freed memory");
template <class Sync>
struct b38_fixed : finish_against_run<Sync, true> {
    static constexpr const char* what = "twin of B38: the push is the flag, and the last that finish touches";
    static constexpr const char* exhibit = "b38_finish_pushes_too_late";
    static constexpr std::array engine_laws{"lifetime"};
};
APIARY_CHECK(b38_fixed);

}  // namespace
}  // namespace b30_to_b38_wakes_and_stops
