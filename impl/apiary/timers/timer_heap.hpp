// timer_heap: the pending timers of one worker, earliest first. Each can be cancelled by its handle.
//
// What it is. A binary heap of (deadline, order of arrival, slot). A slot knows where in the heap its timer stands, so
// a cancel takes it out at once: no cancelled timer stays until its deadline.
//
// When to use it. For the timers of one thread. When not: to cancel from another thread (send the owner a message), nor
// for thousands of timers that are nearly always cancelled (timer_wheel.hpp).
//
// Threads.  size, next_deadline: any thread. Each number may be a moment old, and the two need not be of the same
//           moment. All other functions, cancel included: the owner.
// Progress. size, next_deadline: wait-free. add, pop, cancel: O(log n) steps of the owner.
// Order.    By deadline; equal deadlines in the order they were added.
// Time.     Nanoseconds of whatever clock the caller reads (clock.hpp): the heap itself reads none. A timer whose
//           deadline is `never` is kept and never reported.
// Memory.   It does not own the nodes; a node has a member `deadline_ns`. Slots are reused and never given back.
//
// Invariants
//   I1  slots_[heap_[i].slot].position == i, for every i.
//   I2  A slot's generation is odd while its timer is pending, and grows whenever it is taken or given back: a handle
//       whose timer has run or was cancelled finds another generation (until 2^31 timers have used that slot).
//   I3  next_deadline() is what the owner last stored: after its own add, pop or cancel it is exact.
//
// Synchronisation. None is promised: both published numbers are relaxed. They help to choose a worker and to inform a
// person. A worker that must not miss a timer learns of it by the owner's inbox, not by these numbers.
//
// Checked by timer_heap_test.cpp, against a list that is sorted at every step; what it asks of memory by
// timer_memory_test.cpp; the published numbers by model_check/timers/timer_heap_check.cpp. Stressed by
// stress/timers/timer_heap_stress.cpp.
// Source: indexed heaps: Sedgewick, Wayne, "Algorithms", 4th ed., 2.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

// Names one timer of one heap, also after that timer has gone. A default-constructed handle names none.
struct timer_handle {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    bool operator==(const timer_handle&) const = default;
};

template <class Node, class Sync = real_sync>
class timer_heap {
public:
    static constexpr std::int64_t never = INT64_MAX;

    timer_heap() = default;
    timer_heap(const timer_heap&) = delete;
    timer_heap& operator=(const timer_heap&) = delete;

    // Throws std::bad_alloc; the node then still belongs to the caller.
    timer_handle add(Node* node) {
        if (heap_.size() == heap_.capacity()) heap_.reserve(2 * heap_.size() + 8);
        if (free_ == none) {
            slots_.push_back({none, 0});
            free_ = static_cast<std::uint32_t>(slots_.size() - 1);
        }
        const std::uint32_t s = std::exchange(free_, slots_[free_].position);
        ++slots_[s].generation;  // I2: now odd
        heap_.push_back({node->deadline_ns, added_++, node, s});
        sift_up(heap_.size() - 1);
        publish();
        return {s, slots_[s].generation};
    }

    // Room for so many timers at once: adds up to that number allocate nothing. Throws std::bad_alloc.
    void reserve(std::size_t timers) {
        if (heap_.capacity() < timers) heap_.reserve(timers + heap_.capacity());
        if (slots_.capacity() < timers) slots_.reserve(timers + slots_.capacity());
    }

    // The earliest timer that is due at `now_ns`, or null.
    Node* pop_due(std::int64_t now_ns) {
        if (heap_.empty() || heap_.front().deadline_ns > now_ns || heap_.front().deadline_ns == never) return nullptr;
        return remove(0);
    }

    // The earliest timer, due or not, or null.
    Node* pop() { return heap_.empty() ? nullptr : remove(0); }

    // Gives the timer back to the caller; null if it has run or was cancelled.
    Node* cancel(timer_handle h) {
        if (h.slot >= slots_.size() || slots_[h.slot].generation != h.generation || h.generation % 2 == 0)
            return nullptr;
        return remove(slots_[h.slot].position);
    }

    // Takes out every timer for which `gone` is true, and gives it to `sink`, which must not touch the heap. O(n).
    template <class Gone, class Sink>
    void remove_if(Gone gone, Sink sink) {
        std::size_t kept = 0;
        for (const entry& e : heap_) {
            if (gone(*e.node)) {
                give_back(e.slot);
                sink(e.node);
            } else {
                heap_[kept++] = e;
            }
        }
        heap_.resize(kept);
        for (std::size_t i = 0; i != kept; ++i) put(i, heap_[i]);
        for (std::size_t i = kept / 2; i-- > 0;) sift_down(i);
        publish();
    }

    bool empty() const { return heap_.empty(); }
    std::size_t held() const { return heap_.size(); }  // size(), for the owner

    // Any thread.
    std::size_t size() const { return size_.load(std::memory_order_relaxed); }
    std::int64_t next_deadline() const { return next_.load(std::memory_order_relaxed); }  // `never` if there is none

private:
    struct entry {
        std::int64_t deadline_ns;
        std::uint64_t sequence;
        Node* node;
        std::uint32_t slot;

        bool before(const entry& other) const {
            return deadline_ns != other.deadline_ns ? deadline_ns < other.deadline_ns : sequence < other.sequence;
        }
    };
    struct slot {
        std::uint32_t position;  // in the heap; in a free slot: the next free slot
        std::uint32_t generation;
    };
    static constexpr std::uint32_t none = UINT32_MAX;

    Node* remove(std::size_t at) {
        const entry gone = heap_[at];
        const entry last = heap_.back();
        heap_.pop_back();
        if (at != heap_.size()) {  // the last one fills its gap, and may belong above or below
            put(at, last);
            sift_up(at);
            sift_down(slots_[last.slot].position);
        }
        give_back(gone.slot);
        publish();
        return gone.node;
    }
    void give_back(std::uint32_t s) {
        ++slots_[s].generation;  // I2: now even
        slots_[s].position = std::exchange(free_, s);
    }

    void put(std::size_t at, const entry& e) {
        heap_[at] = e;
        slots_[e.slot].position = static_cast<std::uint32_t>(at);  // I1
    }
    void sift_up(std::size_t at) {
        const entry e = heap_[at];
        for (; at != 0 && e.before(heap_[(at - 1) / 2]); at = (at - 1) / 2) put(at, heap_[(at - 1) / 2]);
        put(at, e);
    }
    void sift_down(std::size_t at) {
        const entry e = heap_[at];
        for (;;) {
            std::size_t child = 2 * at + 1;
            if (child >= heap_.size()) break;
            if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
            if (!heap_[child].before(e)) break;
            put(at, heap_[child]);
            at = child;
        }
        put(at, e);
    }
    void publish() {
        size_.store(heap_.size(), std::memory_order_relaxed);
        next_.store(heap_.empty() ? never : heap_.front().deadline_ns, std::memory_order_relaxed);
    }

    std::vector<entry> heap_;
    std::vector<slot> slots_;
    std::uint32_t free_ = none;
    std::uint64_t added_ = 0;
    typename Sync::template atomic<std::size_t> size_{0};
    typename Sync::template atomic<std::int64_t> next_{never};
};

}  // namespace apiary
