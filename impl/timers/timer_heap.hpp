// timer_heap: the pending timers of one worker, earliest first.
//
// Threads.  All operations: the owner. size(): any thread, a number that may be a moment old.
// Order.    By deadline; equal deadlines in the order they were added.
// Memory.   Does not own the nodes; a node has a member `deadline_ns`.
// Source:   seed 002 section 4.4.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Node, class Sync = real_sync>
class timer_heap {
public:
    static constexpr std::int64_t never = INT64_MAX;

    timer_heap() { size_.store(0, std::memory_order_relaxed); }

    // Throws std::bad_alloc; the node is then still the caller's.
    void add(Node* node) {
        heap_.push_back({node->deadline_ns, added_++, node});
        std::push_heap(heap_.begin(), heap_.end(), later);
        publish_size();
    }

    // The earliest timer that is due at `now_ns`, or null.
    Node* pop_due(std::int64_t now_ns) {
        if (heap_.empty() || heap_.front().deadline_ns > now_ns) return nullptr;
        return pop();
    }

    // The earliest timer, due or not, or null.
    Node* pop() {
        if (heap_.empty()) return nullptr;
        std::pop_heap(heap_.begin(), heap_.end(), later);
        Node* node = heap_.back().node;
        heap_.pop_back();
        publish_size();
        return node;
    }

    bool empty() const { return heap_.empty(); }
    std::int64_t next_deadline() const { return heap_.empty() ? never : heap_.front().deadline_ns; }
    std::size_t size() const { return size_.load(std::memory_order_relaxed); }

private:
    struct entry {
        std::int64_t deadline_ns;
        std::uint64_t sequence;
        Node* node;
    };
    static bool later(const entry& a, const entry& b) {
        return a.deadline_ns != b.deadline_ns ? a.deadline_ns > b.deadline_ns : a.sequence > b.sequence;
    }
    void publish_size() { size_.store(heap_.size(), std::memory_order_relaxed); }

    std::vector<entry> heap_;
    std::uint64_t added_ = 0;
    typename Sync::template atomic<std::size_t> size_;
};

}  // namespace apiary
