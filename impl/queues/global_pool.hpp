// global_pool: work that any worker may take; unbounded, first in first out, taken in batches.
//
// When to use it. For work that arrives from outside a pool of workers. When not: for one receiver
// (mpsc_inbox is enough), or for what a worker makes for itself (chase_lev_deque).
//
// Threads.   all: any thread.
// Progress.  push, push_list: lock-free, and never wait for a taker. take: takers exclude each other by
//            a mutex, held for one walk over what has arrived since the last.
// Order.     The nodes of one producer are taken in the order it pushed them.
//
// Invariants
//   I1  Every node is in `incoming_`, in `ready_`, or was returned by take or by close; never in two.
//   I2  `has_ready_` tells whether `ready_` holds nodes, except while a taker holds the mutex. A taker
//       that leaves some behind must look for a sleeper after take() (idle_set I3), so a worker that
//       saw neither is woken.
//
// Synchronisation: mpsc_inbox S1, S2; has_ready_ is seq_cst for the same reason as S2 there.
// Checked by model_check/queues/global_pool_check.cpp. Source: seed 002 section 4.5.
#pragma once

#include <algorithm>
#include <cstddef>

#include <apiary/queues/fifo_list.hpp>
#include <apiary/queues/mpsc_inbox.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Node, class Sync = real_sync>
class global_pool {
public:
    global_pool() { has_ready_.store(false, std::memory_order_relaxed); }

    [[nodiscard]] push_result push(Node* node) { return incoming_.push(node); }

    // All or nothing; on `closed` the list is left as it was. Precondition: not empty.
    [[nodiscard]] push_result push_list(fifo_list<Node>& list) { return incoming_.push_list(list); }

    // Up to `most` nodes, oldest first; an equal share of what waits when `sharers` workers take.
    fifo_list<Node> take(std::size_t most, std::size_t sharers) {
        if (looks_empty()) return {};
        const typename Sync::lock held(takers_);
        if (ready_.empty()) ready_ = incoming_.drain();
        const std::size_t share = std::clamp<std::size_t>(ready_.size() / sharers, 1, most);
        fifo_list<Node> taken = ready_.split_front(share);
        publish_ready();
        return taken;
    }

    // Refuses every later push. What is inside stays to be taken.
    void close() {
        const typename Sync::lock held(takers_);
        ready_.splice_back(incoming_.close());
        publish_ready();
    }

    bool looks_empty() const { return incoming_.looks_empty() && !has_ready_.load(std::memory_order_seq_cst); }

private:
    // With takers_ held.
    void publish_ready() {
        if (published_ == !ready_.empty()) return;
        published_ = !ready_.empty();
        has_ready_.store(published_, std::memory_order_seq_cst);
    }

    mpsc_inbox<Node, Sync> incoming_;
    typename Sync::mutex takers_;
    fifo_list<Node> ready_;   // by takers_
    bool published_ = false;  // by takers_
    typename Sync::template atomic<bool> has_ready_;
};

}  // namespace apiary
