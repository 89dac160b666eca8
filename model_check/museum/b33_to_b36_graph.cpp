// B33, B34 and B36: a task graph loses a claimed task, a late successor, or a node that it still reads.
//
// From: simpler #2260; oneTBB #2079; o3de #12398 and enkiTS #78.
// Seen by: both engines, plain interleaving.
// Fixed twin: B33 the desk of task_graph as it ships, which has no queue that could be full; B34 and B36 its fan-out.
#include <array>
#include <cstdint>

#include <apiary/model_check/register.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/schedulers/task_graph/fan_out.hpp>
#include <apiary/schedulers/task_graph/ready_desk.hpp>

namespace b33_to_b36_graph {
namespace {

using namespace apiary;

// B33. Two tasks become ready beside a queue for one. A thread that claims a task and cannot queue it must keep it.
template <class Sync>
class queue_for_one {
public:
    queue_for_one() { place_.store(0, std::memory_order_relaxed); }
    void push(unsigned task) {  // a full queue drops it
        unsigned none = 0;
        (void)place_.compare_exchange_strong(none, task + 1, std::memory_order_release, std::memory_order_relaxed);
    }
    bool take(unsigned& task) {
        task = place_.exchange(0, std::memory_order_acquire) - 1;
        return task + 1 != 0;
    }

private:
    typename Sync::template atomic<unsigned> place_;  // a task plus one, or 0
};
template <class Sync>
class desk_of_one {
    struct place {
        typename Sync::template cell<place*> next;
        std::int64_t ahead() const { return 0; }
    };

public:
    void push(unsigned task) { (void)desk_.push(places_[task]); }
    bool take(unsigned& task) {
        const place* const p = desk_.take(0, 0);
        if (p == nullptr) return false;
        task = static_cast<unsigned>(p - places_.data());
        return true;
    }

private:
    ready_desk<Sync, place, 1> desk_{ready_policy::fifo};
    std::array<place, 2> places_;
};

template <class Sync, class Queue>
struct claims_beside_a_full_queue {
    static constexpr unsigned threads = 3;
    Queue queue;
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
        queue.push(task);
    }
    bool take() {
        unsigned task = 0;
        if (!queue.take(task)) return false;
        if (input[task].read() == task) ran[task].fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    void thread(unsigned i) {
        if (i == 2)
            (void)take();
        else
            make_ready(i);
    }
    void after() {
        while (take()) {
        }
        for (auto& times : ran)
            Sync::law(times.load(std::memory_order_relaxed) == 1, "a claimed task did not run once");
    }
};
template <class Sync>
struct b33_claimed_and_dropped : claims_beside_a_full_queue<Sync, queue_for_one<Sync>> {
    static constexpr const char* what = "a task is marked as claimed, and then the full queue drops it";
};
APIARY_EXHIBIT(b33_claimed_and_dropped, "did not run once");
template <class Sync>
struct b33_fixed : claims_beside_a_full_queue<Sync, desk_of_one<Sync>> {
    static constexpr const char* what = "twin of B33: what is ready is on the board, or in a hand";
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
template <class Sync>
class counted_children {
public:
    counted_children() { left_.store(2, std::memory_order_relaxed); }
    bool release() { return left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

private:
    typename Sync::template atomic<unsigned> left_;
};
// Its own reference and another; the thread that waits for both is told by the last.
template <class Sync>
class shipped_children {
public:
    shipped_children() {
        word_.open(0, false);
        (void)word_.link(0, 1, true, [](std::uint32_t) {});
        (void)word_.watch();
    }
    bool release() { return word_.release(); }

private:
    fan_out<Sync> word_;
};

template <class Sync, class Children, bool ReadsBefore>
struct two_children_end {
    static constexpr unsigned threads = 2;
    struct node {
        Children children;
        typename Sync::template atomic<unsigned> group{7};
    };
    node* parent = nullptr;

    void before() { parent = Sync::template create<node>(); }
    void thread(unsigned) {
        unsigned group = 0;
        if constexpr (ReadsBefore) group = parent->group.load(std::memory_order_relaxed);
        const bool last = parent->children.release();
        if constexpr (!ReadsBefore) group = parent->group.load(std::memory_order_relaxed);
        Sync::law(group == 7, "a node's group has changed");
        if (last) Sync::destroy(parent);
    }
};
template <class Sync>
struct b36_read_after_the_decrement : two_children_end<Sync, counted_children<Sync>, false> {
    static constexpr const char* what = "a node is read after the decrement that lets the other child free it";
};
APIARY_EXHIBIT(b36_read_after_the_decrement, "access to freed memory");
template <class Sync>
struct b36_fixed : two_children_end<Sync, shipped_children<Sync>, true> {
    static constexpr const char* what =
        "twin of B36: what is needed of the node is read before, and the fan-out tells one thread that it was the last";
    static constexpr const char* exhibit = "b36_read_after_the_decrement";
};
APIARY_CHECK(b36_fixed);

}  // namespace
}  // namespace b33_to_b36_graph
