// B20 and B29: an event count whose signals leave with the wrong thread; packed fields that overflow into each other, and
// an epoch that wraps.
//
// From: Eigen bc19ba490c; JDK-8330017.
// Seen by: both engines; the epochs by Relacy alone, they are too large for the explorer. Plain interleaving; B29 needs narrow
// fields.
// Fixed twins: the shipped event_count and the shipped fan_out of task_graph, with fields that are wide enough.
#include <array>
#include <cstdint>

#include <apiary/parking/event_count.hpp>
#include <apiary/schedulers/task_graph/fan_out.hpp>

#include <apiary/model_check/register.hpp>

#include "../parking/event_count_scenarios.hpp"

namespace b20_b29_event_count {
namespace {

using namespace apiary;
using namespace apiary::model;

// B20. Waiters between prepare and commit, and signals for them, in one word; at most one has committed.
enum class wrong { cancel_takes_any_signal, prepare_takes_a_signal };

template <class Sync, wrong Defect>
class wrong_event_count {
    static constexpr std::uint64_t one_before = 1, one_signal = 1 << 8, one_committed = 1 << 16;
    static std::uint64_t before(std::uint64_t w) { return w & 0xFF; }
    static std::uint64_t signals(std::uint64_t w) { return w >> 8 & 0xFF; }

public:
    // True: a signal was there, and the thread is told to look again.
    bool prepare_wait() {
        if constexpr (Defect == wrong::prepare_takes_a_signal)
            if (change([](std::uint64_t w) { return signals(w) != 0 ? w - one_signal - one_before : w; })) return true;
        change([](std::uint64_t w) { return w + one_before; });
        Sync::fence(std::memory_order_seq_cst);
        return false;
    }
    void cancel_wait() {
        change([](std::uint64_t w) {
            const bool takes = Defect == wrong::cancel_takes_any_signal ? signals(w) != 0 : signals(w) == before(w);
            return w - one_before - (takes ? one_signal : 0);
        });
    }
    void commit_wait(std::size_t) {
        bool blocks = false;
        change([&blocks](std::uint64_t w) {
            blocks = signals(w) == 0;
            return blocks ? w - one_before + one_committed : w - one_before - one_signal;
        });
        if (blocks) parker_.park();
    }
    void notify_one() {
        Sync::fence(std::memory_order_seq_cst);
        bool wakes = false;
        change([&wakes](std::uint64_t w) {
            wakes = w >= one_committed;
            return wakes ? w - one_committed : signals(w) < before(w) ? w + one_signal : w;
        });
        if (wakes) parker_.unpark();
    }

private:
    // False when there was nothing to change.
    template <class To>
    bool change(To to) {
        std::uint64_t seen = word_.load(std::memory_order_acquire);
        for (;;) {
            const std::uint64_t next = to(seen);
            if (next == seen) return false;
            if (word_.compare_exchange_strong(seen, next, std::memory_order_acq_rel, std::memory_order_acquire))
                return true;
        }
    }
    typename Sync::template atomic<std::uint64_t> word_{0};
    typename Sync::parker parker_;
};

// Thread 0 waits for work; thread 1 thinks of waiting, and has another reason to go on; thread 2 posts for one.
template <class Sync, class Events>
struct the_other_leaves {
    static constexpr unsigned threads = 3;
    Events events;
    pieces_of_work<Sync> work;

    void thread(unsigned i) {
        if (i == 2) {
            work.add();
            events.notify_one();
        } else if (i == 1) {
            if (!events.prepare_wait()) events.cancel_wait();
        } else {
            for (;;) {
                const bool told = events.prepare_wait();
                if (work.take()) {
                    if (!told) events.cancel_wait();
                    return;
                }
                if (!told) events.commit_wait(0);
            }
        }
    }
};

template <class Sync>
struct b20_cancel_takes_any : the_other_leaves<Sync, wrong_event_count<Sync, wrong::cancel_takes_any_signal>> {
    static constexpr const char* what = "a cancel takes the signal that was meant for the other one";
};
APIARY_EXHIBIT(b20_cancel_takes_any, "deadlock");

template <class Sync>
struct b20_prepare_takes_one : the_other_leaves<Sync, wrong_event_count<Sync, wrong::prepare_takes_a_signal>> {
    static constexpr const char* what = "a prepare eats a signal that came before it, and leaves with it";
};
APIARY_EXHIBIT(b20_prepare_takes_one, "deadlock");

template <unsigned Index, unsigned Epoch>
struct widths {
    static constexpr unsigned index_bits = Index, epoch_bits = Epoch;
};

template <class Sync>
struct b20_fixed : one_leaves<Sync, event_count<Sync, widths<2, 2>>> {
    static constexpr const char* what = "twin of B20: a signal leaves with a cancel only when it is certainly its own";
    static constexpr const char* exhibit = "b20_cancel_takes_any";
};
APIARY_CHECK(b20_fixed);

// B29. Two threads are about to wait, and the field that counts them has one bit.
template <class Sync, unsigned Bits>
struct two_prepare : event_scenario<Sync, event_count<Sync, widths<Bits, 2>>, 1> {
    static constexpr unsigned threads = 2;
    void thread(unsigned) {
        this->events.prepare_wait();
        this->events.cancel_wait();
    }
};
template <class Sync>
struct b29_field_overflows : two_prepare<Sync, 1> {
    static constexpr const char* what = "one bit for the threads that are about to wait: the second one is a signal";
};
APIARY_EXHIBIT(b29_field_overflows, "more signals than threads");
template <class Sync>
struct b29_fixed : two_prepare<Sync, 2> {
    static constexpr const char* what = "twin of B29: a field as wide as the threads that it counts";
    static constexpr const char* exhibit = "b29_field_overflows";
};
APIARY_CHECK(b29_fixed);

// Of a task_graph: two consumers hold the output of a task, and the field of its references has one bit.
template <unsigned References>
struct references {
    static constexpr unsigned reference_bits = References, edge_bits = 3, lap_bits = 1;
};
template <class Sync, unsigned Bits>
struct two_consumers_hold {
    static constexpr unsigned threads = 1;
    fan_out<Sync, references<Bits>> task;
    std::array<typename Sync::template cell<std::uint32_t>, 2> next;

    void before() { task.open(0, false); }
    void thread(unsigned) {
        for (std::uint32_t e = 1; e != 3; ++e)
            Sync::law(task.link(0, e, true, [&](std::uint32_t n) { next[e - 1].write(n); }) == link_result::linked,
                      "a task that has not ended took no edge");
    }
    void after() {
        unsigned edges = 0;
        for (std::uint32_t e = task.close(false).newest_edge; e != 0; e = next[e - 1].read(), ++edges)
            Sync::law(e < 3 && edges < 2, "an edge that nobody has added");
        Sync::law(edges == 2, "an edge was lost");
        Sync::law(task.snapshot().references() == 2, "a reference was lost");
    }
};
template <class Sync>
struct b29_references_overflow : two_consumers_hold<Sync, 1> {
    static constexpr const char* what = "one bit for the references of a task: the second one is part of an edge";
};
APIARY_EXHIBIT(b29_references_overflow, "took no edge");
template <class Sync>
struct b29_references_fixed : two_consumers_hold<Sync, 2> {
    static constexpr const char* what = "twin of B29: a field as wide as the references that edges can take";
    static constexpr const char* exhibit = "b29_references_overflow";
};
APIARY_CHECK(b29_references_fixed);

template <class Sync>
struct b29_epoch_of_none : stack_comes_back<Sync, event_count<Sync, widths<2, 0>, typename Sync::parker>, 1> {
    static constexpr const char* what = "no epoch: a stack that looks the same is taken for the same";
    static constexpr const char* one_engine = "too large for the explorer: a stack has to come back to what it was";
};
APIARY_EXHIBIT(b29_epoch_of_none, "books of the event count", relacy_only);
template <class Sync>
struct b29_epoch_fixed : stack_comes_back<Sync, event_count<Sync, widths<2, 22>, typename Sync::parker>, 1> {
    static constexpr const char* what = "twin of B29: the same with the epoch that ships";
    static constexpr const char* exhibit = "b29_epoch_of_none";
};
APIARY_CHECK(b29_epoch_fixed);

}  // namespace
}  // namespace b20_b29_event_count
