// B40: a stack of indices that reserves a node by taking its link away before it moves the head, and keeps a count so
// that it never becomes empty. It has no tag, and nearly needs none: a node that comes back to the head has another
// link, and the link tells. It takes three threads and many switches until the link of a node that is on the stack
// is put back over a newer one, and the same item is handed to two threads.
//
// From: D. Vyukov's SafeStack, a problem for model checkers since 2010.
// Seen by: Relacy, in some hundred thousand executions, with any seed tried. The explorer does not get there: all accesses are
// seq_cst, so nearly every interleaving is a graph of its own, and with at most 3, 4 or 5 preemptions it had not found it
// after 50 s each.
// Fixed twin: the links are only read, and the head has a tag. (A tag alone is no repair: a popper that lost still puts an
// old link back over a newer one.)
#include <array>
#include <cstdint>

#include <apiary/contract/laws.hpp>
#include <apiary/model_check/register.hpp>

namespace b40_safe_stack {
namespace {

using namespace apiary;

template <class Sync, bool Tagged, int Nodes>
class safe_stack {
    static constexpr std::memory_order sc = std::memory_order_seq_cst;
    static constexpr int reserved = -1, last = -2;
    struct head_word {
        std::int64_t value;
        int index() const { return static_cast<int>(value & 0xFFFF); }
        head_word next(int index) const { return {Tagged ? ((value >> 16) + 1) << 16 | index : index}; }
    };

public:
    safe_stack() {
        for (int n = 0; n != Nodes; ++n)
            next_[static_cast<std::size_t>(n)].store(n + 1 == Nodes ? last : n + 1, std::memory_order_relaxed);
    }
    // -1 when only one is left, or after `tries` lost races.
    int pop(unsigned tries) {
        while (count_.load(sc) > 1 && tries-- != 0) {
            head_word head{head_.load(sc)};
            const int node = head.index();
            auto& link = next_[static_cast<std::size_t>(node)];
            const int below = Tagged ? link.load(sc) : link.exchange(reserved, sc);
            if (below < 0) continue;
            if (head_.compare_exchange_strong(head.value, head.next(below).value, sc, sc)) {
                count_.fetch_sub(1, sc);
                return node;
            }
            if constexpr (!Tagged) link.exchange(below, sc);
        }
        return -1;
    }
    void push(int node) {
        head_word head{head_.load(sc)};
        do {
            next_[static_cast<std::size_t>(node)].store(head.index(), sc);
        } while (!head_.compare_exchange_strong(head.value, head.next(node).value, sc, sc));
        count_.fetch_add(1, sc);
    }

private:
    std::array<typename Sync::template atomic<int>, static_cast<std::size_t>(Nodes)> next_;
    typename Sync::template atomic<std::int64_t> head_{0};
    typename Sync::template atomic<int> count_{Nodes};
};

// A thread that has an item alone may write to it.
template <class Sync, bool Tagged>
struct three_users {
    static constexpr unsigned threads = 3;
    safe_stack<Sync, Tagged, 3> stack;
    std::array<typename Sync::template cell<unsigned>, 3> items;

    void thread(unsigned i) {
        for (unsigned lap = 0; lap != 2; ++lap) {
            const int item = stack.pop(2);
            if (item < 0) continue;
            items[static_cast<std::size_t>(item)].write(i);
            stack.push(item);
        }
    }
};

template <class Sync>
struct b40_safe_stack : three_users<Sync, false> {
    static constexpr const char* what = "an index stack without a tag hands one item to two threads";
    static constexpr const char* one_engine =
        "too large for the explorer: all accesses are seq_cst, so nearly every interleaving is a graph of its own";
};
APIARY_EXHIBIT(b40_safe_stack, "data race", model::relacy_only);

template <class Sync>
struct b40_fixed : three_users<Sync, true> {
    static constexpr const char* what = "twin of B40: links are only read, and the head has a tag";
    static constexpr const char* exhibit = "b40_safe_stack";
    static constexpr std::array engine_laws{"race"};
    static constexpr const char* one_engine =
        "too large for the explorer: all accesses are seq_cst, so nearly every interleaving is a graph of its own";
};
APIARY_CHECK(b40_fixed, model::relacy_only);

}  // namespace
}  // namespace b40_safe_stack
