// A32 to A35: workers and waiters that end up asleep, or awake too early.
//
// From: seed 000 section 2.3 (A32, A35); seed 004 "wait" (A33) and "outlook" (A34, the obvious reading).
// Seen by: both engines, plain interleaving.
// Fixed twin: of A32 and A35 the desks of task_graph as they ship, in the same scenario; of A33 and A34 its own repaired form.
#include <array>
#include <type_traits>

#include <apiary/model_check/register.hpp>

#include "shipped_desks.hpp"

namespace a32_to_a35_workers_wait {
namespace {

using namespace apiary;

enum class yields { to_nobody_in_particular, across_types, never };  // never: the desk hands tasks over

// A32 and A35. Workers with clocks; the one that has worked least should take the next task. A worker that waits stands
// in waiting_.
template <class Sync, yields How>
class clocked_queues {
    static constexpr unsigned workers = 2;

public:
    explicit clocked_queues(std::array<unsigned, workers> types) : types_(types) {}

    void push(unsigned type, unsigned n) {
        const typename Sync::lock held(mutex_);
        queued_[type].write(queued_[type].read() + n);
        for (unsigned w = 0; w != workers; ++w)
            if (types_[w] == type && waiting_[w].read()) wake(w);
    }
    // Takes tasks until there are none left to come.
    void work(unsigned me, unsigned tasks_in_all) {
        typename Sync::lock held(mutex_);
        typename Sync::template cell<unsigned>& queued = queued_[types_[me]];
        while (done_.read() != tasks_in_all) {
            if (queued.read() == 0) {
                wait(me, held);
            } else if (const unsigned least = waits_with_less(me); least != workers) {
                if constexpr (How == yields::to_nobody_in_particular)
                    ready_[me].notify_all();  // nobody else waits here
                else
                    wake(least);
                wait(me, held);
            } else {
                queued.write(queued.read() - 1);
                clock_[me].write(clock_[me].read() + 2);
                done_.write(done_.read() + 1);
            }
        }
        for (unsigned w = 0; w != workers; ++w)
            if (waiting_[w].read()) wake(w);
    }

private:
    void wake(unsigned w) {
        if constexpr (How == yields::across_types) waiting_[w].write(false);  // nobody yields to one that is on its way
        ready_[w].notify_one();
    }
    void wait(unsigned me, typename Sync::lock& held) {
        waiting_[me].write(true);
        ready_[me].wait(held);
        waiting_[me].write(false);
    }
    unsigned waits_with_less(unsigned me) const {
        for (unsigned w = 0; w != workers; ++w)
            if (w != me && waiting_[w].read() && clock_[w].read() < clock_[me].read() &&
                (How == yields::across_types || types_[w] == types_[me]))
                return w;
        return workers;
    }

    const std::array<unsigned, workers> types_;
    typename Sync::mutex mutex_;
    std::array<typename Sync::condvar, workers> ready_;
    typename Sync::template cell<unsigned> queued_[2]{typename Sync::template cell<unsigned>{0},
                                                      typename Sync::template cell<unsigned>{0}};
    typename Sync::template cell<unsigned> clock_[workers]{typename Sync::template cell<unsigned>{0},
                                                           typename Sync::template cell<unsigned>{1}};
    typename Sync::template cell<bool> waiting_[workers]{typename Sync::template cell<bool>{false},
                                                         typename Sync::template cell<bool>{false}};
    typename Sync::template cell<unsigned> done_{0};
};

template <class Sync, yields How>
using queues_of = std::conditional_t<How == yields::never, museum::shipped_desks<Sync>, clocked_queues<Sync, How>>;

template <class Sync, yields How>
struct two_tasks_two_workers {
    static constexpr unsigned threads = 3;
    queues_of<Sync, How> queues{{0, 0}};
    void thread(unsigned i) {
        if (i == 2)
            queues.push(0, 2);
        else
            queues.work(i, 2);
    }
};
template <class Sync>
struct a32_yields_and_sleeps : two_tasks_two_workers<Sync, yields::to_nobody_in_particular> {
    static constexpr const char* what =
        "who yields signals the condition it then waits on: both workers sleep beside a task";
};
APIARY_EXHIBIT(a32_yields_and_sleeps, "deadlock");
template <class Sync>
struct a32_fixed : two_tasks_two_workers<Sync, yields::never> {
    static constexpr const char* what = "twin of A32: a task is handed to the worker that should have it";
    static constexpr const char* exhibit = "a32_yields_and_sleeps";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(a32_fixed);

template <class Sync, yields How>
struct idle_worker_of_another_type {
    static constexpr unsigned threads = 2;
    queues_of<Sync, How> queues{{0, 1}};
    void before() { queues.push(1, 1); }
    void thread(unsigned i) { queues.work(i, 1); }
};
template <class Sync>
struct a35_clocks_across_types : idle_worker_of_another_type<Sync, yields::across_types> {
    static constexpr const char* what = "a worker yields to an idle one of another type, which cannot take the task";
};
APIARY_EXHIBIT(a35_clocks_across_types, "deadlock");
template <class Sync>
struct a35_fixed : idle_worker_of_another_type<Sync, yields::never> {
    static constexpr const char* what = "twin of A35: each type has a desk of its own";
    static constexpr const char* exhibit = "a35_clocks_across_types";
    static constexpr std::array engine_laws{"deadlock"};
};
APIARY_CHECK(a35_fixed);

// A33. Somebody waits for all tasks.
template <class Sync, bool CountsUnfinished>
struct wait_for_all {
    static constexpr unsigned threads = 2;
    typename Sync::mutex mutex;
    typename Sync::condvar changed;
    typename Sync::template cell<unsigned> queued{1}, unfinished{1};
    typename Sync::template atomic<bool> ran{false};

    void thread(unsigned i) {
        if (i == 1) return wait();
        {
            const typename Sync::lock held(mutex);
            queued.write(queued.read() - 1);
            changed.notify_all();
        }
        ran.store(true, std::memory_order_relaxed);  // the task
        const typename Sync::lock held(mutex);
        unfinished.write(unfinished.read() - 1);
        changed.notify_all();
    }
    void wait() {
        {
            typename Sync::lock held(mutex);
            while ((CountsUnfinished ? unfinished.read() : queued.read()) != 0) changed.wait(held);
        }
        Sync::law(ran.load(std::memory_order_relaxed), "the wait was over while a task still ran");
    }
};
template <class Sync>
struct a33_empty_is_not_finished : wait_for_all<Sync, false> {
    static constexpr const char* what = "the queue is empty, and the task that left it still runs";
};
APIARY_EXHIBIT(a33_empty_is_not_finished, "still ran");
template <class Sync>
struct a33_fixed : wait_for_all<Sync, true> {
    static constexpr const char* what = "twin of A33: what is waited for is unfinished tasks";
    static constexpr const char* exhibit = "a33_empty_is_not_finished";
};
APIARY_CHECK(a33_fixed);

// A34. Each of two workers runs a task that posts a child and waits for it.
template <class Sync, bool Helps>
struct parents_wait_for_children {
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<unsigned> queued{0};  // a bit for each child
    std::array<typename Sync::template atomic<bool>, 2> done;
    std::array<typename Sync::template cell<unsigned>, 2> value;  // written by the parent, doubled by the child

    void before() {
        for (auto& d : done) d.store(false, std::memory_order_relaxed);
    }
    bool run_a_child() {
        unsigned seen = queued.load(std::memory_order_relaxed);
        while (seen != 0) {
            const unsigned child = seen % 2 != 0 ? 0 : 1;
            if (queued.compare_exchange_weak(seen, seen & ~(1U << child), std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
                value[child].write(2 * value[child].read());
                done[child].store(true, std::memory_order_release);
                return true;
            }
        }
        return false;
    }
    void thread(unsigned i) {
        value[i].write(i + 1);
        queued.fetch_or(1U << i, std::memory_order_release);
        if constexpr (Helps)
            while (!done[i].load(std::memory_order_relaxed) && run_a_child()) {
            }
        // Nothing is left to take: somebody runs it.
        Sync::spin_until(done[i], [](bool d) { return d; });
        Sync::law(value[i].read() == 2 * (i + 1), "a parent does not see what its child has made");
    }
};
template <class Sync>
struct a34_nobody_runs_the_children : parents_wait_for_children<Sync, false> {
    static constexpr const char* what = "every worker waits inside a task for a child that only a worker could run";
};
APIARY_EXHIBIT(a34_nobody_runs_the_children, "deadlock");
template <class Sync>
struct a34_fixed : parents_wait_for_children<Sync, true> {
    static constexpr const char* what = "twin of A34: who waits runs what is queued";
    static constexpr const char* exhibit = "a34_nobody_runs_the_children";
};
APIARY_CHECK(a34_fixed);

}  // namespace
}  // namespace a32_to_a35_workers_wait
