// mpsc_inbox: many threads send nodes to one receiver, which takes them all at once.
//
// When to use it. To hand work or commands to a thread that alone may touch its own queues. When not: for receivers
// that take one at a time from a long backlog (global_pool), or for a bounded mailbox.
//
// Threads.   push, push_list, looks_empty: any. drain, close, take_chain, close_chain: the receiver alone. If nobody
//            closes, several takers may drain: each gets what the others have left
//            (schedulers/processes/process_ready.hpp).
// Progress.  push is lock-free: a failed compare-exchange means that another producer's push succeeded. drain and close
//            are wait-free, plus one walk over what they took. looks_empty is wait-free.
// Order.     The nodes of one producer come out in the order in which it pushed them.
// Memory.    Intrusive and allocation-free: `Node` has a member `next` of type Sync::cell<Node*>. The inbox does not
//            own nodes. The receiver takes the whole list by an exchange, so a node may be recycled at once: a push
//            that still holds a stale head fails or, if the same node is back at the head, links to a node that truly
//            is at the head. There is no ABA.
//
// Invariants
//   I1  The head word is empty, closed, or the newest node of a list linked newest to oldest.
//   I2  Between two drains that took something exactly one push reports `was_empty`: the one that moved the head away
//       from empty. Its producer has to wake the receiver.
//   I3  After close() the head stays closed: each push is either in a list that drain or close returned, or was told
//       `closed`.
//
// Synchronisation
//   S1  push: compare-exchange head (release) -> drain, close: exchange head (acquire). Publishes the node. Nodes below
//       the newest are covered because later pushes are read-modify-writes, which continue the release sequence.
//   S2  push's compare-exchange and looks_empty are seq_cst, so that a producer that pushes and then looks for
//       sleepers, and a receiver that announces its sleep and then looks here, cannot miss each other (store buffering;
//       parking/idle_set.hpp).
//
// Checked by model_check/queues/mpsc_inbox_check.cpp. Stressed by stress/queues/mpsc_inbox_stress.cpp.
#pragma once

#include <cstdint>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

enum class push_result { was_empty, was_not_empty, closed };

template <class Node, class Sync = real_sync>
class mpsc_inbox {
public:
    mpsc_inbox() { head_.store(empty_word, std::memory_order_relaxed); }
    mpsc_inbox(const mpsc_inbox&) = delete;
    mpsc_inbox& operator=(const mpsc_inbox&) = delete;

    // The inbox has the node until it comes out again; on `closed` the caller keeps it.
    [[nodiscard]] push_result push(Node* node) { return push_span(node, node); }

    // Pushes a whole list by one compare-exchange, and keeps its order. On `closed` the list stays as it was.
    // Precondition: the list is not empty.
    [[nodiscard]] push_result push_list(fifo_list<Node>& list) {
        // The word holds newest first, so the list is reversed before it is published.
        fifo_list<Node> reversed = reverse(list);
        const push_result result = push_span(reversed.front(), reversed.back());
        if (result == push_result::closed) list = reverse(reversed);
        return result;
    }

    // Takes everything pushed so far, oldest first.
    fifo_list<Node> drain() { return oldest_first(take_chain()); }

    // Refuses every later push and returns what was inside, oldest first. Idempotent.
    fifo_list<Node> close() { return oldest_first(close_chain()); }

    // The same for a receiver that needs no list: the newest node, linked to the older ones, or null.
    Node* take_chain() {
        // A cheap look first: an exchange would take the line from the producers for nothing.
        const word seen = head_.load(std::memory_order_relaxed);
        if (seen == empty_word || seen == closed_word) return nullptr;
        return as_node(head_.exchange(empty_word, std::memory_order_acquire));  // S1
    }
    Node* close_chain() { return as_node(head_.exchange(closed_word, std::memory_order_acquire)); }  // S1

    bool looks_empty() const {
        const word seen = head_.load(std::memory_order_seq_cst);  // S2
        return seen == empty_word || seen == closed_word;
    }

private:
    using word = std::uintptr_t;
    static constexpr word empty_word = 0;
    static constexpr word closed_word = 1;  // no node stands at an odd address

    push_result push_span(Node* newest, Node* oldest) {
        word seen = head_.load(std::memory_order_relaxed);
        do {
            if (seen == closed_word) {
                oldest->next.write(nullptr);  // an earlier attempt may have linked it to a node inside
                return push_result::closed;
            }
            oldest->next.write(reinterpret_cast<Node*>(seen));
        } while (!head_.compare_exchange_weak(seen, reinterpret_cast<word>(newest),
                                              std::memory_order_seq_cst,  // S1, S2
                                              std::memory_order_relaxed));
        return seen == empty_word ? push_result::was_empty : push_result::was_not_empty;
    }

    static Node* as_node(word w) { return w == closed_word ? nullptr : reinterpret_cast<Node*>(w); }

    static fifo_list<Node> oldest_first(Node* newest) {
        fifo_list<Node> list;
        for (Node* node = newest; node != nullptr;) {
            Node* older = static_cast<Node*>(node->next.read());
            list.push_front(node);
            node = older;
        }
        return list;
    }

    static fifo_list<Node> reverse(fifo_list<Node>& list) {
        fifo_list<Node> reversed;
        while (Node* node = list.pop_front()) reversed.push_front(node);
        return reversed;
    }

    alignas(cache_line) typename Sync::template atomic<word> head_;
};

}  // namespace apiary
