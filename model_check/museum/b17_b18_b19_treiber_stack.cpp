// Defects of Treiber's stack, over indices: nodes are never freed, so what is reused is always a node.
//
//   B17  argobots #178: no tag. A popper that has read the head and its successor stands still; the same node comes
//        back to the head with another successor; its compare-exchange succeeds and puts a taken node on the stack.
//   B18  iceoryx #2351: the tag of the new head is computed once, before the loop. A retry writes it again over
//        a newer one, tags go backwards, and B17 is back.
//   B19  taskflow 86e3699a: pop clears the node's `next` when it has already handed the node on; the next owner may
//        have pushed it again, and everything below it is cut off.
//
// Seen by: both engines. Interleaving.
// Fixed twins: tags of 16 bits, computed from the head that is replaced; `next` is left alone. The suite ships no
// Treiber stack: sleepers are bits in a word (idle_set), nodes go through an inbox that is taken whole.
#include <array>
#include <cstdint>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>

namespace b17_b18_b19_treiber_stack {
namespace {

using namespace apiary;

enum class stack_defect { none, no_tag, tag_kept_on_retry, next_cleared_late };

template <class Sync, stack_defect Defect, unsigned Nodes>
class index_stack {
public:
    static constexpr unsigned nothing = Nodes;

    index_stack() {
        head_.store(nothing, std::memory_order_relaxed);
        for (auto& n : next_) n.store(nothing, std::memory_order_relaxed);
    }
    // Pushes keep the tag, pops move it: only a pop rests on a successor that it has read.
    void push(unsigned node) {
        std::uint32_t seen = head_.load(std::memory_order_relaxed);
        do {
            next_[node].store(index_of(seen), std::memory_order_relaxed);
        } while (!head_.compare_exchange_strong(seen, pack(tag_of(seen), node), std::memory_order_acq_rel,
                                                std::memory_order_relaxed));
    }
    // `hand_over` gives the node to its next owner.
    template <class HandOver>
    unsigned pop(HandOver hand_over) {
        std::uint32_t seen = head_.load(std::memory_order_acquire);
        std::uint32_t tag = tag_of(seen) + 1;
        while (index_of(seen) != nothing) {
            if constexpr (Defect == stack_defect::none || Defect == stack_defect::next_cleared_late)
                tag = tag_of(seen) + 1;
            if constexpr (Defect == stack_defect::no_tag) tag = 0;
            const unsigned node = index_of(seen), below = next_[node].load(std::memory_order_relaxed);
            if (!head_.compare_exchange_strong(seen, pack(tag, below), std::memory_order_acq_rel,
                                               std::memory_order_acquire))
                continue;
            hand_over(node);
            if constexpr (Defect == stack_defect::next_cleared_late)
                next_[node].store(nothing, std::memory_order_relaxed);
            return node;
        }
        return nothing;
    }
    unsigned pop() {
        return pop([](unsigned) {});
    }

private:
    static constexpr std::uint32_t pack(std::uint32_t tag, std::uint32_t index) { return tag << 16 | index; }
    static constexpr std::uint32_t tag_of(std::uint32_t head) { return head >> 16; }
    static constexpr std::uint32_t index_of(std::uint32_t head) { return head & 0xFFFF; }

    typename Sync::template atomic<std::uint32_t> head_;
    std::array<typename Sync::template atomic<unsigned>, Nodes> next_;
};

// Each thread keeps what it pops, unless it pushes it back; in the end every node is somewhere once.
template <class Sync, class Stack, unsigned Threads, unsigned Nodes>
struct stack_scenario {
    static constexpr unsigned threads = Threads;
    Stack stack;
    identity_ledger<Sync, Nodes, Threads + 1> ledger;

    void before() {
        for (unsigned n = Nodes; n != 0; --n) {
            ledger.put(n - 1);
            stack.push(n - 1);
        }
    }
    bool keep_one(unsigned log) {
        const unsigned node = stack.pop();
        if (node == Stack::nothing) return false;
        ledger.took(log, node);
        return true;
    }
    void after() {
        while (keep_one(Threads)) {
        }
        ledger.settle();
    }
};

template <class Sync, stack_defect Defect>
struct pop_against_pop_pop_push : stack_scenario<Sync, index_stack<Sync, Defect, 3>, 2, 3> {
    void thread(unsigned i) {
        if (i == 0) {
            this->keep_one(0);
            return;
        }
        const unsigned first = this->stack.pop();
        if (first == 3) return;
        this->keep_one(1);
        this->stack.push(first);
    }
};

template <class Sync>
struct b17_no_tag : pop_against_pop_pop_push<Sync, stack_defect::no_tag> {
    static constexpr const char* what =
        "pop, pop and push of the same node while another pop stands still: no tag tells";
};
APIARY_EXHIBIT(b17_no_tag, "left twice");

template <class Sync>
struct b17_fixed : pop_against_pop_pop_push<Sync, stack_defect::none> {
    static constexpr const char* what = "twin of B17: every pop moves the tag";
    static constexpr const char* exhibit = "b17_no_tag";
};
APIARY_CHECK(b17_fixed);

template <class Sync, stack_defect Defect>
struct two_pops_against_two_pushed_back : stack_scenario<Sync, index_stack<Sync, Defect, 3>, 3, 3> {
    void thread(unsigned i) {
        if (i != 1) {
            this->keep_one(i);
            return;
        }
        const unsigned first = this->stack.pop(), second = this->stack.pop();
        if (first != 3) this->stack.push(first);
        if (second != 3) this->stack.push(second);
    }
};

template <class Sync>
struct b18_tag_kept_on_retry : two_pops_against_two_pushed_back<Sync, stack_defect::tag_kept_on_retry> {
    static constexpr const char* what = "a retry writes a tag of long ago: the head of another pop comes back";
};
APIARY_EXHIBIT(b18_tag_kept_on_retry, "identity: an element");

template <class Sync>
struct b18_fixed : two_pops_against_two_pushed_back<Sync, stack_defect::none> {
    static constexpr const char* what = "twin of B18: the tag comes from the head that is replaced";
    static constexpr const char* exhibit = "b18_tag_kept_on_retry";
};
APIARY_CHECK(b18_fixed);

// Thread 0 pops and hands on; thread 1, when it was given the node, pushes it back.
template <class Sync, stack_defect Defect>
struct popped_node_pushed_by_its_next_owner : stack_scenario<Sync, index_stack<Sync, Defect, 2>, 2, 2> {
    typename Sync::template atomic<unsigned> given{2};
    bool pushed_back = false;  // thread 1's
    void thread(unsigned i) {
        if (i == 0) {
            (void)this->stack.pop([this](unsigned node) { given.store(node, std::memory_order_release); });
        } else if (const unsigned node = given.load(std::memory_order_acquire); node != 2) {
            this->stack.push(node);
            pushed_back = true;
        }
    }
    void after() {
        if (!pushed_back) this->ledger.took(0, given.load(std::memory_order_relaxed));
        stack_scenario<Sync, index_stack<Sync, Defect, 2>, 2, 2>::after();
    }
};

template <class Sync>
struct b19_next_cleared_late : popped_node_pushed_by_its_next_owner<Sync, stack_defect::next_cleared_late> {
    static constexpr const char* what = "the popper clears next when the node is already back on the stack";
};
APIARY_EXHIBIT(b19_next_cleared_late, "an element was lost");

template <class Sync>
struct b19_fixed : popped_node_pushed_by_its_next_owner<Sync, stack_defect::none> {
    static constexpr const char* what = "twin of B19: who has given a node away writes to it no more";
    static constexpr const char* exhibit = "b19_next_cleared_late";
};
APIARY_CHECK(b19_fixed);

}  // namespace
}  // namespace b17_b18_b19_treiber_stack
