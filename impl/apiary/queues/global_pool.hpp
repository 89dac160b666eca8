// global_pool: work that any worker may take; unbounded, first in first out, taken in batches.
//
// When to use it. For work that arrives from outside a pool of workers. When not: for one receiver (mpsc_inbox is
// enough), or for work that a worker makes for itself (chase_lev_deque).
//
// Threads.   All functions: any thread.
// Progress.  push, push_list: lock-free, and never wait for a taker. looks_empty: wait-free. take, reserve, close:
//            exclude each other by a mutex, which take holds for one walk over the nodes that have arrived since the
//            last take.
// Order.     The nodes of one producer are taken in the order in which it pushed them.
//
// Memory.    Nodes are linked until a taker receives them, and then stand in an array of pointers, which grows and is
//            kept. They are read once on the way through and never written, so that they stay in the line state in
//            which the producer left them, and their lines can be fetched all at once. If there is no memory for a
//            larger array, the nodes are linked in order, and go through the array that is there.
// Errors.    Construction, reserve: std::bad_alloc. The rest: none.
//
// Invariants
//   I1  Every node is in `incoming_`, in `left_`, in `ready_`, or was returned by take; never in two of them.
//   I2  `ready_` is older than `left_`, and `left_` is older than `incoming_`. The oldest node is at the back of
//       `ready_`, and at the front of `left_`.
//   I3  `has_ready_` tells whether `ready_` holds nodes, except while a taker holds the mutex. `left_` is empty while
//       `ready_` is, so that takers look at `ready_` alone. A taker that leaves some nodes there must look for a
//       sleeper after take() (idle_set I3), so that a worker that saw both empty is woken.
//
// Synchronisation: mpsc_inbox S1, S2; has_ready_ is seq_cst for the same reason as S2 there.
// Checked by model_check/queues/global_pool_check.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Node, class Sync = real_sync>
class global_pool {
public:
    global_pool() {
        ready_.reserve(least);
        has_ready_.store(false, std::memory_order_relaxed);
    }

    // Makes room for so many nodes in the array from the start. Throws std::bad_alloc.
    void reserve(std::size_t nodes) {
        const typename Sync::lock held(takers_);
        ready_.reserve(nodes);
    }

    [[nodiscard]] push_result push(Node* node) { return incoming_.push(node); }

    // Pushes all or nothing; on `closed` the list stays as it was. Precondition: the list is not empty.
    [[nodiscard]] push_result push_list(fifo_list<Node>& list) { return incoming_.push_list(list); }

    // Fills `out` with the oldest nodes: at most an equal share of the waiting nodes if `sharers` workers take, and at
    // least one if there is any. Returns how many.
    [[nodiscard]] std::size_t take(std::span<Node*> out, std::size_t sharers) {
        if (looks_empty()) return 0;
        const typename Sync::lock held(takers_);
        if (ready_.empty()) receive(incoming_.take_chain());
        const std::size_t share = std::max<std::size_t>(ready_.size() / sharers, 1);
        const std::size_t n = std::min({out.size(), share, ready_.size()});
        for (std::size_t i = 0; i < n; ++i) {
            out[i] = ready_.back();
            ready_.pop_back();
        }
        publish_ready();
        return n;
    }

    // The oldest node, or null.
    [[nodiscard]] Node* take_one() {
        Node* node = nullptr;
        return take({&node, 1}, 1) == 1 ? node : nullptr;
    }

    // Refuses every later push. The nodes inside can still be taken. Idempotent.
    void close() noexcept {
        const typename Sync::lock held(takers_);
        if (ready_.empty())
            receive(incoming_.close_chain());
        else
            keep_linked(incoming_.close_chain());
        publish_ready();
    }

    bool looks_empty() const { return incoming_.looks_empty() && !has_ready_.load(std::memory_order_seq_cst); }

private:
    static constexpr std::size_t least = 64;  // slots in the array from the start

    // Precondition: takers_ is held, and ready_ is empty, so left_ is, too (I3). The chain comes newest first, which is
    // the order of ready_. A node tells the next one only after its line has come from its producer's core; if nodes
    // leave a hint, several lines are under way at once.
    void receive(Node* newest) noexcept {
        for (Node* node = newest; node != nullptr; node = static_cast<Node*>(node->next.read())) {
            if constexpr (requires { node->prefetch_hint(); }) Sync::prefetch(node->prefetch_hint());
            if (ready_.size() == ready_.capacity() && !grow()) [[unlikely]] {
                ready_.clear();
                return keep_linked(newest);
            }
            ready_.push_back(node);
        }
    }
    // Doubles the array's room. False: there is no memory. Out of line, because a handler around the loop above would
    // cost it registers.
    [[gnu::noinline, gnu::cold]] bool grow() noexcept {
        try {
            ready_.reserve(2 * ready_.capacity());
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    // Precondition: takers_ is held. Links the nodes in order after those of left_: for a chain that comes while ready_
    // holds nodes, or that finds no memory.
    [[gnu::noinline, gnu::cold]] void keep_linked(Node* newest) noexcept {
        fifo_list<Node> oldest_first;
        for (Node* node = newest; node != nullptr;) {
            Node* const older = static_cast<Node*>(node->next.read());
            oldest_first.push_front(node);
            node = older;
        }
        left_.splice_back(std::move(oldest_first));
        refill();
        publish_ready();  // now: a take that empties ready_ again must find it published, to look at left_ (I3)
    }
    // Precondition: takers_ is held. Moves the oldest nodes of left_ into ready_ when that is empty, as many as it has
    // room for. Needs no memory.
    [[gnu::noinline, gnu::cold]] void refill() noexcept {
        if (!ready_.empty()) return;
        while (!left_.empty() && ready_.size() != ready_.capacity()) ready_.push_back(left_.pop_front());
        std::reverse(ready_.begin(), ready_.end());
    }

    // Precondition: takers_ is held. The change is out of line, because most takes publish none.
    void publish_ready() {
        if (published_ != !ready_.empty()) [[unlikely]]
            publish_change();
    }
    [[gnu::noinline]] void publish_change() {
        if (ready_.empty() && !left_.empty()) return refill();
        published_ = !ready_.empty();
        has_ready_.store(published_, std::memory_order_seq_cst);
    }

    mpsc_inbox<Node, Sync> incoming_;
    alignas(cache_line) typename Sync::mutex takers_;
    std::vector<Node*> ready_;                                            // guarded by takers_
    fifo_list<Node> left_;                                                // guarded by takers_ (closed, or no memory)
    bool published_ = false;                                              // guarded by takers_
    alignas(cache_line) typename Sync::template atomic<bool> has_ready_;  // apart: every idle worker reads it
};

}  // namespace apiary
