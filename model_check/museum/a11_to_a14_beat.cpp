// A11: step 2 moves tasks into the private queue, and no step runs it: the timeout stays 0, the worker spins for ever.
// A12: a task's own post is flushed into the pool after the pool was probed, and the worker falls asleep on it.
// A13: whole-millisecond timeouts: a timer due in 0.4 ms is spun for, or fires late.
// A14: a stop leaves queued tasks behind, unreported.
//
// From: seed 002 sections 7.2, 6.5 and 12, as they read.
// Seen by: both engines. A11 to A13 need one thread; A14 a plain interleaving.
// Fixed twins: the order of a worker's turn and sleep; timer deadlines in nanoseconds; the pool is closed before the
// stop is told.
#include <apiary/model_check/register.hpp>
#include <apiary/queues/global_pool.hpp>
#include <apiary/queues/mpsc_inbox.hpp>

namespace a11_to_a14_beat {
namespace {

using namespace apiary;

template <class Sync>
struct node {
    typename Sync::template cell<node*> next;
    bool ran = false;
};

enum class beat { as_the_seed_says, repaired };

// The targeted task is in the inbox before the worker's first turn.
template <class Sync, beat B>
struct private_queue {
    static constexpr unsigned threads = 1;
    mpsc_inbox<node<Sync>, Sync> inbox;
    node<Sync> task;
    void before() { (void)inbox.push(&task); }
    void thread(unsigned) {
        fifo_list<node<Sync>> own;
        for (unsigned turn = 0; !task.ran; ++turn) {
            Sync::law(turn != 3, "livelock: the worker has work, never runs it and never sleeps");
            own.splice_back(inbox.drain());  // step 2
            if (B == beat::repaired)         // step 4 of the repaired beat; the seed's looks at the deque alone
                while (node<Sync>* t = own.pop_front()) t->ran = true;
        }
    }
};

template <class Sync>
struct a11_private_queue_forgotten : private_queue<Sync, beat::as_the_seed_says> {
    static constexpr const char* what = "no step runs the private queue, and its tasks keep the timeout at 0";
};
APIARY_EXHIBIT(a11_private_queue_forgotten, "livelock");
template <class Sync>
struct a11_fixed : private_queue<Sync, beat::repaired> {
    static constexpr const char* what = "twin of A11: step 4 runs the private queue first";
    static constexpr const char* exhibit = "a11_private_queue_forgotten";
};
APIARY_CHECK(a11_fixed);

// One worker; its task posts another, which waits in the outbound buffer for step 6.5.
template <class Sync, beat B>
struct outbound_buffer {
    static constexpr unsigned threads = 1;
    global_pool<node<Sync>, Sync> pool;
    typename Sync::parker parker;
    node<Sync> child;
    void thread(unsigned) {
        node<Sync>* outbound = &child;  // step 4 has run the task
        while (!child.ran) {
            if (node<Sync>* t = pool.take_one()) t->ran = true;  // step 5
            if (outbound != nullptr) (void)pool.push(outbound);  // step 6.5
            outbound = nullptr;
            if (child.ran || (B == beat::repaired && !pool.looks_empty())) continue;
            parker.park();  // step 7: nobody else is there to wake it
        }
    }
};

template <class Sync>
struct a12_flushed_after_the_probe : outbound_buffer<Sync, beat::as_the_seed_says> {
    static constexpr const char* what = "the worker probes the pool, flushes its own posts into it, and sleeps";
};
APIARY_EXHIBIT(a12_flushed_after_the_probe, "deadlock");
template <class Sync>
struct a12_fixed : outbound_buffer<Sync, beat::repaired> {
    static constexpr const char* what = "twin of A12: the last look before the sleep includes the pool";
    static constexpr const char* exhibit = "a12_flushed_after_the_probe";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(a12_fixed);

enum class timeout { rounded_down, rounded_up, nanoseconds };

// A worker with nothing but one timer, and a clock that only its own waits move.
template <class Sync, timeout Unit>
struct one_timer {
    static constexpr unsigned threads = 1;
    static constexpr std::int64_t due = 400'000, ms = 1'000'000;
    typename Sync::template atomic<std::int64_t> now;
    void before() { now.store(0, std::memory_order_relaxed); }
    void thread(unsigned) {
        for (unsigned turn = 0; now.load(std::memory_order_relaxed) < due; ++turn) {
            Sync::law(turn != 3, "livelock: the worker spins until the timer is due");
            const std::int64_t left = due - now.load(std::memory_order_relaxed);
            const std::int64_t wait = Unit == timeout::nanoseconds  ? left
                                      : Unit == timeout::rounded_up ? (left + ms - 1) / ms * ms
                                                                    : left / ms * ms;
            now.fetch_add(wait, std::memory_order_relaxed);
        }
        Sync::law(now.load(std::memory_order_relaxed) <= due, "lateness: the timer fired late by the rounding alone");
    }
};

template <class Sync>
struct a13_rounded_down : one_timer<Sync, timeout::rounded_down> {
    static constexpr const char* what = "a timer due in 0.4 ms: a timeout of 0 ms spins";
};
APIARY_EXHIBIT(a13_rounded_down, "livelock");
template <class Sync>
struct a13_rounded_up : one_timer<Sync, timeout::rounded_up> {
    static constexpr const char* what = "a timer due in 0.4 ms: a timeout of 1 ms is late";
};
APIARY_EXHIBIT(a13_rounded_up, "lateness");
template <class Sync>
struct a13_fixed : one_timer<Sync, timeout::nanoseconds> {
    static constexpr const char* what = "twin of A13: the deadline itself, in nanoseconds";
    static constexpr const char* exhibit = "a13_rounded_down";
};
APIARY_CHECK(a13_fixed);

template <class Sync, beat B>
struct stop_races_post {
    static constexpr unsigned threads = 3;
    global_pool<node<Sync>, Sync> pool;
    typename Sync::template atomic<unsigned> stopped;
    node<Sync> task;
    bool accepted = false;
    void before() { stopped.store(0, std::memory_order_relaxed); }
    void thread(unsigned i) {
        if (i == 0) {
            // The seed's loop ends at the flag; the repaired one ends when it saw the flag and then an empty pool.
            for (bool last_look = false; !last_look;) {
                last_look = stopped.load(std::memory_order_acquire) == 1;
                if (last_look && B == beat::as_the_seed_says) break;
                if (node<Sync>* t = pool.take_one()) t->ran = true;
                if (!last_look) Sync::spin_until(stopped, [](unsigned v) { return v == 1; });
            }
        } else if (i == 1) {
            if (B == beat::repaired) pool.close();
            stopped.store(1, std::memory_order_release);
        } else {
            accepted = pool.push(&task) != push_result::closed;
        }
    }
    void after() {
        if (accepted) Sync::law(task.ran, "stop: an accepted task was neither run nor reported");
    }
};

template <class Sync>
struct a14_stop_leaves_tasks : stop_races_post<Sync, beat::as_the_seed_says> {
    static constexpr const char* what = "the loop ends at the stop flag, whatever is queued";
};
APIARY_EXHIBIT(a14_stop_leaves_tasks, "neither run nor reported");
template <class Sync>
struct a14_fixed : stop_races_post<Sync, beat::repaired> {
    static constexpr const char* what =
        "twin of A14: the pool closes, then the flag rises, then the worker looks once more";
    static constexpr const char* exhibit = "a14_stop_leaves_tasks";
};
APIARY_CHECK(a14_fixed);

}  // namespace
}  // namespace a11_to_a14_beat
