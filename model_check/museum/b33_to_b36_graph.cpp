// B33, B34 and B36: a task graph loses a claimed task, a late successor, or a node that it still reads.
//
// From: simpler #2260; oneTBB #2079; o3de #12398 and enkiTS #78.
// Seen by: both engines, plain interleaving.
// Fixed twin: B34 the fan-out that ships; the others their own repaired form, since a ready queue of the task graph that ships
// cannot be full, and none of its nodes is freed.
#include <array>
#include <cstdint>

#include <apiary/model_check/register.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/schedulers/task_graph/fan_out.hpp>

namespace {

using namespace apiary;

// B33. Two tasks become ready beside a queue for one. A thread that claims a task and cannot queue it must keep it.
template <class Sync, bool KeepsTheRefused>
struct claims_beside_a_full_queue {
    static constexpr unsigned threads = 3;
    typename Sync::template atomic<unsigned> queue{0};  // a task plus one, or 0
    std::array<typename Sync::template atomic<bool>, 2> claimed;
    std::array<typename Sync::template cell<unsigned>, 2> input;
    std::array<typename Sync::template atomic<unsigned>, 2> ran;

    void before() {
        for (unsigned i = 0; i != 2; ++i)
            claimed[i].store(false, std::memory_order_relaxed), ran[i].store(0, std::memory_order_relaxed);
    }
    void make_ready(unsigned task) {
        if (claimed[task].exchange(true, std::memory_order_relaxed)) return;
        input[task].write(task);
        unsigned none = 0;
        const bool queued =
            queue.compare_exchange_strong(none, task + 1, std::memory_order_release, std::memory_order_relaxed);
        if (!queued && KeepsTheRefused) run(task);
    }
    void run(unsigned task) {
        if (input[task].read() == task) ran[task].fetch_add(1, std::memory_order_relaxed);
    }
    void take() {
        if (const unsigned task = queue.exchange(0, std::memory_order_acquire); task != 0) run(task - 1);
    }
    void thread(unsigned i) {
        if (i == 2)
            take();
        else
            make_ready(i);
    }
    void after() {
        take();
        for (auto& times : ran)
            Sync::law(times.load(std::memory_order_relaxed) == 1, "a claimed task did not run once");
    }
};
template <class Sync>
struct b33_claimed_and_dropped : claims_beside_a_full_queue<Sync, false> {
    static constexpr const char* what = "a task is marked as claimed, and then the full queue drops it";
};
APIARY_EXHIBIT(b33_claimed_and_dropped, "did not run once");
template <class Sync>
struct b33_fixed : claims_beside_a_full_queue<Sync, true> {
    static constexpr const char* what = "twin of B33: who claimed it runs it";
    static constexpr const char* exhibit = "b33_claimed_and_dropped";
};
APIARY_CHECK(b33_fixed);

// B34. A task ends and releases its successors while one is added.
template <class Sync>
struct successor_against_end {
    static constexpr unsigned threads = 2;
    typename Sync::template atomic<bool> done{false};
    struct successor {
        typename Sync::template cell<successor*> next;
        unsigned released = 0;  // by the thread that has taken it out, or could not put it in
    };
    mpsc_inbox<successor, Sync> successors;
    std::array<successor, 2> all;

    void thread(unsigned i) {
        if (i == 0) {
            fifo_list<successor> list = successors.drain();
            while (successor* s = list.pop_front()) ++s->released;
            done.store(true, std::memory_order_relaxed);
            return;
        }
        for (successor& s : all)
            if (done.load(std::memory_order_relaxed) || successors.push(&s) == push_result::closed) ++s.released;
    }
    void after() {
        for (const successor& s : all) Sync::law(s.released == 1, "a successor was not released once");
    }
};
template <class Sync>
struct b34_added_to_a_drained_list : successor_against_end<Sync> {
    static constexpr const char* what = "a successor is added to a list that was drained before its task said done";
};
APIARY_EXHIBIT(b34_added_to_a_drained_list, "not released once");
template <class Sync>
struct b34_fixed {
    static constexpr const char* what = "twin of B34: drained and done are one step, which closes the list";
    static constexpr const char* exhibit = "b34_added_to_a_drained_list";
    static constexpr unsigned threads = 2;
    fan_out<Sync> task;
    std::array<typename Sync::template cell<std::uint32_t>, 2> next;
    std::array<unsigned, 2> released{};  // by the thread that has taken it out, or could not put it in

    void before() { task.open(0, false); }
    void thread(unsigned i) {
        if (i == 0) {
            for (std::uint32_t e = task.close(false).newest_edge; e != 0; e = next[e - 1].read()) ++released[e - 1];
            return;
        }
        for (std::uint32_t e = 1; e != 3; ++e)
            if (task.link(0, e, false, [&](std::uint32_t n) { next[e - 1].write(n); }) != link_result::linked)
                ++released[e - 1];
    }
    void after() {
        for (const unsigned times : released) Sync::law(times == 1, "a successor was not released once");
    }
};
APIARY_CHECK(b34_fixed);

// B36. Two children of a node end; the last one frees it.
template <class Sync, bool ReadsBefore>
struct two_children_end {
    static constexpr unsigned threads = 2;
    struct node {
        typename Sync::template atomic<unsigned> children{2};
        typename Sync::template atomic<unsigned> group{7};
    };
    node* parent = nullptr;

    void before() { parent = Sync::template create<node>(); }
    void thread(unsigned) {
        unsigned group = 0;
        if constexpr (ReadsBefore) group = parent->group.load(std::memory_order_relaxed);
        const bool last = parent->children.fetch_sub(1, std::memory_order_acq_rel) == 1;
        if constexpr (!ReadsBefore) group = parent->group.load(std::memory_order_relaxed);
        Sync::law(group == 7, "a node's group has changed");
        if (last) Sync::destroy(parent);
    }
};
template <class Sync>
struct b36_read_after_the_decrement : two_children_end<Sync, false> {
    static constexpr const char* what = "a node is read after the decrement that lets the other child free it";
};
APIARY_EXHIBIT(b36_read_after_the_decrement, "access to freed memory");
template <class Sync>
struct b36_fixed : two_children_end<Sync, true> {
    static constexpr const char* what = "twin of B36: what is needed of the node is read before";
    static constexpr const char* exhibit = "b36_read_after_the_decrement";
};
APIARY_CHECK(b36_fixed);

}  // namespace
