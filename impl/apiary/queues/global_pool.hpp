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
// Memory.   Intrusive up to the arrival; then an array of pointers, which grows and is kept. Nodes are
//           read once on the way through and never written, so that they stay in the line state in
//           which the producer left them, and their lines can be fetched all at once. Without memory
//           for a larger array the nodes are linked in order, and go through the one that is there.
// Errors.   Construction, reserve: std::bad_alloc. The rest: none.
//
// Invariants
//   I1  Every node is in `incoming_`, in `left_`, in `ready_`, or was returned by take; never in two.
//   I2  `ready_` is older than `left_`, and that than `incoming_`; the back of `ready_` is the oldest, the front of `left_`.
//   I3  `has_ready_` tells whether these two hold nodes, except while a taker holds the mutex. A taker
//       that leaves some behind must look for a sleeper after take() (idle_set I3), so a worker that
//       saw neither is woken.
//
// Synchronisation: mpsc_inbox S1, S2; has_ready_ is seq_cst for the same reason as S2 there.
// Checked by model_check/queues/global_pool_check.cpp. Source: seed 002 section 4.5.
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

    // From the start on the array has room for so many. Passes on std::bad_alloc.
    void reserve(std::size_t nodes) {
        const typename Sync::lock held(takers_);
        ready_.reserve(nodes);
    }

    [[nodiscard]] push_result push(Node* node) { return incoming_.push(node); }

    // All or nothing; on `closed` the list is left as it was. Precondition: not empty.
    [[nodiscard]] push_result push_list(fifo_list<Node>& list) { return incoming_.push_list(list); }

    // Fills `out` with the oldest nodes, with no more than an equal share of what waits when `sharers`
    // workers take; at least one if there is any. Returns how many.
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

    // Refuses every later push. What is inside stays to be taken. Idempotent.
    void close() noexcept {
        const typename Sync::lock held(takers_);
        leave_in_order(incoming_.close_chain());
        publish_ready();
    }

    bool looks_empty() const { return incoming_.looks_empty() && !has_ready_.load(std::memory_order_seq_cst); }

private:
    static constexpr std::size_t least = 64;  // of the array's room

    // With takers_ held, and ready_ empty. The chain comes newest first, which is the order of ready_. Each node has to come
    // from its producer's core before it tells the next; where nodes leave a hint, several are under way at once.
    void receive(Node* newest) noexcept {
        if (!left_.empty()) [[unlikely]]
            return receive_what_was_left(newest);
        try {
            for (Node* node = newest; node != nullptr; node = static_cast<Node*>(node->next.read())) {
                if constexpr (requires { node->prefetch_hint(); }) __builtin_prefetch(node->prefetch_hint());
                ready_.push_back(node);
            }
        } catch (const std::bad_alloc&) {
            ready_.clear();
            receive_what_was_left(newest);
        }
    }
    // The same without memory: the oldest, as many as there is room for; the rest stays linked.
    [[gnu::noinline]] void receive_what_was_left(Node* newest) noexcept {
        leave_in_order(newest);
        while (!left_.empty() && ready_.size() != ready_.capacity()) ready_.push_back(left_.pop_front());
        std::reverse(ready_.begin(), ready_.end());
    }
    // With takers_ held.
    void leave_in_order(Node* newest) noexcept {
        fifo_list<Node> oldest_first;
        for (Node* node = newest; node != nullptr;) {
            Node* const older = static_cast<Node*>(node->next.read());
            oldest_first.push_front(node);
            node = older;
        }
        left_.splice_back(std::move(oldest_first));
    }

    // With takers_ held.
    void publish_ready() {
        const bool some = !ready_.empty() || !left_.empty();
        if (published_ == some) return;
        published_ = some;
        has_ready_.store(published_, std::memory_order_seq_cst);
    }

    mpsc_inbox<Node, Sync> incoming_;
    alignas(cache_line) typename Sync::mutex takers_;
    std::vector<Node*> ready_;                                            // by takers_
    fifo_list<Node> left_;                                                // by takers_: of a close, or for want of memory
    bool published_ = false;                                              // by takers_
    alignas(cache_line) typename Sync::template atomic<bool> has_ready_;  // apart: every idle worker looks at it
};

}  // namespace apiary
