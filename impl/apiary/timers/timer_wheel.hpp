// timer_wheel: the pending timers of one worker, few or very many. It has the interface of timer_heap.hpp, and an add
// and a cancel take as many steps among a million timers as among a thousand.
//
// What it is. A hierarchical timing wheel before a timer heap. A timer that is far away lies in the list of a slot,
// where it is added, moved and cancelled in a few steps; when its time comes near, its slot is emptied into finer
// slots, and at last into the heap, which gives the exact order. Few timers lie in the heap from the start.
//
// When to use it. For timeouts, most of which are cancelled. When not: for timers that all fire soon; with the heap
// alone each is moved once less.
//
// Threads.  size, next_deadline: any thread; each number may be a moment old. All other functions: the owner.
// Progress. size, next_deadline: wait-free. add, move, cancel: a constant number of steps while the timer is far away,
//           and O(log k) for one within a tick, of k such timers, or of those few. pop_due: moves each timer at most
//           once for each level (eight), all of a slot at once.
// Order.    By deadline; equal deadlines in the order they were added, or moved.
// Node.     add reads its deadline_ns; when the timer comes out again, its last deadline stands there.
// Time.     Nanoseconds of whatever clock the caller reads; the wheel learns the time by pop_due alone. If that jumps
//           ahead, each slot that was passed is emptied; if it goes back, nothing is due earlier for that.
// Deadline. next_deadline is never later than the earliest timer, and may be earlier, by up to the width of its slot:
//           the owner wakes then, moves the slot, and sleeps on. After a pop_due that gave null it is after that time.
// Memory.   It does not own the nodes; a node has a member `deadline_ns`. A timer takes 56 bytes, and 40 more where it
//           is in the heap, for which the room is kept, so pop_due, move and cancel allocate nothing. Nothing is given
//           back.
//
// Invariants, for a timer of tick t, and the tick `base_` that pop_due has reached
//   I1  t > base_ if it lies in the wheel: in the list of level l, the highest group of six bits in which t and base_
//       differ, under the bits of t in that group. So the lowest level that has a timer has the earliest, and timers of
//       one tick lie in one list, or in the heap.
//   I2  occupied_[l] has a bit for each list that is not empty, levels_ one for each level.
//   I3  A record's generation is odd while its timer is pending, as in timer_heap.hpp.
//   I4  The heap has room for each record there is.
//
// Synchronisation. None is promised, as in timer_heap.hpp.
//
// Tested by timer_wheel_test.cpp, against a list that is sorted at every step, with clocks that jump; what it asks of
// memory by timer_memory_test.cpp.
// Source: G. Varghese, T. Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 7.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <apiary/sync/real_sync.hpp>
#include <apiary/timers/timer_heap.hpp>

namespace apiary {

// `Few`: so many timers are kept in the heap before the wheel is used.
template <class Node, class Sync = real_sync, std::size_t Few = 256>
class timer_wheel {
public:
    static constexpr std::int64_t never = INT64_MAX;

    timer_wheel() = default;
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;

    // Throws std::bad_alloc; the node then still belongs to the caller.
    timer_handle add(Node* node) {
        if (free_ == nullptr) more_records();
        if (lists_ == nullptr && heap_.held() >= Few) lists_ = std::make_unique<lists>();
        record& r = take(node);
        put(r, node->deadline_ns);
        publish();
        return {r.index, r.generation};
    }

    // The earliest timer that is due at `now_ns`, or null.
    Node* pop_due(std::int64_t now_ns) {
        reach(tick_of(now_ns));
        record* const r = heap_.pop_due(now_ns);
        if (r != nullptr) return release(*r);
        publish();
        return nullptr;
    }

    // The earliest timer, due or not, or null.
    Node* pop() {
        if (held_ == 0) return nullptr;
        while (levels_ != 0 && earliest_start() <= tick_of(heap_.next_deadline())) reach(earliest_start());
        record* r = heap_.pop();
        if (r == nullptr) unlink(*(r = lists_->of[for_ever].first));
        return release(*r);
    }

    // Gives the timer back to the caller; null if it has run or was cancelled.
    Node* cancel(timer_handle h) {
        record* const r = pending(h);
        if (r == nullptr) return nullptr;
        take_out(*r);
        return release(*r);
    }

    // Gives a pending timer another deadline; its handle stays. False: it has run or was cancelled.
    bool move(timer_handle h, std::int64_t deadline_ns) {
        record* const r = pending(h);
        if (r == nullptr) return false;
        take_out(*r);
        put(*r, deadline_ns);
        publish();
        return true;
    }

    // Takes out every timer for which `gone` is true, and gives it to `sink`, which must not touch the wheel. O(n) of
    // the timers there are, however many there were.
    template <class Gone, class Sink>
    void remove_if(Gone gone, Sink sink) {
        heap_.remove_if([&](const record& r) { return gone(*r.node); }, [&](record* r) { sink(release(*r)); });
        if (in_lists_ != 0)
            for (const list& l : lists_->of)
                for (record* r = l.first; r != nullptr;) {
                    record& seen = *std::exchange(r, r->behind);
                    if (!gone(*seen.node)) continue;
                    unlink(seen);
                    sink(release(seen));
                }
        publish();
    }

    bool empty() const { return held_ == 0; }
    std::size_t held() const { return held_; }  // size(), for the owner

    // Any thread.
    std::size_t size() const { return size_.load(std::memory_order_relaxed); }
    std::int64_t next_deadline() const { return next_.load(std::memory_order_relaxed); }  // `never` if there is none

private:
    static constexpr unsigned tick_bits = 20, group_bits = 6, level_count = 8;  // a tick is a millisecond, about
    static constexpr unsigned slots = 1U << group_bits;
    static constexpr std::uint32_t for_ever = level_count * slots, in_the_heap = UINT32_MAX;
    static constexpr std::uint32_t chunk_bits = Sync::checked ? 2 : 6, chunk = 1U << chunk_bits;
    static_assert(tick_bits + group_bits * level_count >= 63);

    struct record {
        std::int64_t deadline_ns = 0;
        Node* node = nullptr;
        record* before = nullptr;
        record* behind = nullptr;  // of a free record: the next free one
        timer_handle in_heap;
        std::uint32_t list = in_the_heap;
        std::uint32_t generation = 0;
        std::uint32_t index = 0;
    };
    struct list {
        record* first = nullptr;
        record* last = nullptr;
    };
    struct lists {
        std::array<list, level_count * slots + 1> of;
    };

    // For the inner heap, whose numbers only the owner reads.
    struct unpublished {
        template <class T>
        class atomic {
        public:
            explicit atomic(T value) : value_(value) {}
            T load(std::memory_order) const { return value_; }
            void store(T value, std::memory_order) { value_ = value; }

        private:
            T value_;
        };
    };

    static std::uint64_t tick_of(std::int64_t ns) {
        return static_cast<std::uint64_t>(std::max(ns, std::int64_t{})) >> tick_bits;
    }

    record& at(std::uint32_t index) { return chunks_[index >> chunk_bits][index & (chunk - 1)]; }
    void more_records() {
        heap_.reserve(made_ + chunk);  // I4
        chunks_.push_back(std::make_unique<record[]>(chunk));
        for (std::uint32_t i = chunk; i-- != 0;) {
            record& r = chunks_.back()[i];
            r.index = made_ + i;
            r.behind = free_;
            free_ = &r;
        }
        made_ += chunk;
    }
    // Precondition: a record is free.
    record& take(Node* node) {
        record& r = *std::exchange(free_, free_->behind);
        ++r.generation;  // I3: now odd
        r.node = node;
        ++held_;
        return r;
    }
    Node* release(record& r) {
        ++r.generation;  // I3: now even
        r.node->deadline_ns = r.deadline_ns;
        r.behind = free_;
        free_ = &r;
        --held_;
        publish();
        return r.node;
    }
    record* pending(timer_handle h) {
        if (h.slot >= made_ || h.generation % 2 == 0) return nullptr;
        record& r = at(h.slot);
        return r.generation == h.generation ? &r : nullptr;
    }
    // Without lists the heap holds fewer than `Few`: add makes them before.
    void put(record& r, std::int64_t deadline_ns) {
        r.deadline_ns = deadline_ns;
        if (in_lists_ == 0 && heap_.held() < Few)
            r.in_heap = heap_.add(&r);
        else
            place(r);
    }
    void take_out(record& r) {
        if (r.list == in_the_heap)
            (void)heap_.cancel(r.in_heap);
        else
            unlink(r);
    }

    // Puts it into the heap if it is near; otherwise at the end of its list.
    void place(record& r) {
        const std::uint64_t t = tick_of(r.deadline_ns);
        if (t <= base_) {
            r.in_heap = heap_.add(&r);
            return;
        }
        const std::uint32_t to = r.deadline_ns == never ? for_ever : list_ahead(t);
        r.list = to;
        r.behind = nullptr;
        ++in_lists_;
        list& l = lists_->of[to];
        r.before = std::exchange(l.last, &r);
        (r.before == nullptr ? l.first : r.before->behind) = &r;
    }
    // The list of a tick after base_, which has a timer from now on.
    std::uint32_t list_ahead(std::uint64_t t) {
        const unsigned level = (static_cast<unsigned>(std::bit_width(t ^ base_)) - 1) / group_bits;  // I1
        levels_ |= 1U << level;                                                                      // I2
        const unsigned slot = static_cast<unsigned>(t >> (level * group_bits)) % slots;
        occupied_[level] |= std::uint64_t{1} << slot;  // I2
        return level * slots + slot;
    }
    void unlink(record& r) {
        list& l = lists_->of[r.list];
        (r.before == nullptr ? l.first : r.before->behind) = r.behind;
        (r.behind == nullptr ? l.last : r.behind->before) = r.before;
        --in_lists_;
        if (l.first == nullptr && r.list != for_ever) is_empty(r.list / slots, r.list % slots);
        r.list = in_the_heap;
    }
    void is_empty(unsigned level, unsigned slot) {  // I2
        occupied_[level] &= ~(std::uint64_t{1} << slot);
        if (occupied_[level] == 0) levels_ &= ~(1U << level);
    }

    // The first tick of the earliest list. Precondition: levels_ != 0.
    std::uint64_t earliest_start() const {
        const auto level = static_cast<unsigned>(std::countr_zero(levels_));
        const auto slot = static_cast<std::uint64_t>(std::countr_zero(occupied_[level]));
        const unsigned shift = level * group_bits;
        return (base_ >> shift >> group_bits << group_bits << shift) | slot << shift;
    }
    // The time has reached this tick: moves the timers that no longer lie ahead of it.
    void reach(std::uint64_t tick) {
        while (levels_ != 0) {
            const std::uint64_t start = earliest_start();
            if (start > tick) break;
            base_ = start;
            const auto level = static_cast<unsigned>(std::countr_zero(levels_));
            const auto slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
            record* r = std::exchange(lists_->of[level * slots + slot], {}).first;
            is_empty(level, slot);
            while (r != nullptr) {
                record& moved = *std::exchange(r, r->behind);
                --in_lists_;
                moved.list = in_the_heap;
                place(moved);
            }
        }
        base_ = levels_ == 0 ? tick : std::max(base_, tick);
    }
    void publish() {
        size_.store(held_, std::memory_order_relaxed);
        std::int64_t next = heap_.next_deadline();
        if (levels_ != 0) next = std::min(next, static_cast<std::int64_t>(earliest_start() << tick_bits));
        next_.store(next, std::memory_order_relaxed);
    }

    timer_heap<record, unpublished> heap_;
    std::vector<std::unique_ptr<record[]>> chunks_;
    std::unique_ptr<lists> lists_;  // made when there are more than a few timers
    record* free_ = nullptr;
    std::uint32_t made_ = 0;
    std::size_t held_ = 0, in_lists_ = 0;
    std::uint64_t base_ = 0;
    std::array<std::uint64_t, level_count> occupied_{};
    std::uint32_t levels_ = 0;
    typename Sync::template atomic<std::size_t> size_{0};
    typename Sync::template atomic<std::int64_t> next_{never};
};

}  // namespace apiary
