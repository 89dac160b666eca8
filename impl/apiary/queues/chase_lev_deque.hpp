// chase_lev_deque: a work-stealing deque. One owner pushes and pops at the bottom, in LIFO order; any number of thieves
// steal at the top, in FIFO order.
//
// When to use it. For the ready tasks of one worker when others may take from it. When not: for more than one pushing
// thread (mpsc_inbox, global_pool), or for elements wider than a word.
//
// Threads.   owner: one thread at a time, through the one `owner` handle. thief: any thread; copyable.
// Progress.  push, pop, steal: wait-free, except that push may allocate when it grows. A steal that meets a rival
//            reports `lost_race` and leaves the retry to the caller.
// Elements.  A word or a pointer, copied as one atomic: a thief never sees half of one.
// Invariants
//   I1  The queue is slots [top, bottom). Only the owner writes `bottom`; `top` only grows.
//   I2  The thread that moves `top` from t to t+1 by compare-exchange owns the element that was in slot t.
//   I3  A slot in [top, bottom) of the newest array is not overwritten: push keeps bottom - top <= capacity, and a
//       grown array keeps every live element at its position.
//   I4  Old arrays live until destruction, since a thief may still read one: it reads what the new array holds at that
//       position, or its compare-exchange fails. The same holds for a thief with an old `top` that finds the new array;
//       hence every slot has a value from the start.
//   I5  Fewer than 2^(index_bits-1) pushes and pops happen between a thief's load of `top` and its compare-exchange;
//       beyond that `top` can come back to the same value (exhibit deque_index_wraps).
//
// Synchronisation
//   S1  push: store bottom (release) -> steal: load bottom (seq_cst). Publishes slots and array. pop's first store is a
//       release, too: in C++20 a later relaxed store of the owner would not continue the release sequence of push
//       (exhibit deque_bottom_relaxed). The stores with which it restores bottom are relaxed: `top` has come that far,
//       and no thief takes anything below it.
//   S2  grow: store array (release) -> steal: load array (acquire).
//   S3  pop: store bottom, then load top. steal: load top, then load bottom. All four are seq_cst, and so is the
//       steal's compare-exchange. Store buffering: of an owner and a thief that want the same last element, at least
//       one sees the other. No fence: on x86 the store is one exchange, where a store and a fence after it cost two
//       trips, and the thief pays nothing. A pop that sees one element alone takes it at the top and needs neither:
//       `bottom` stays, and I2 alone decides.
//   S4  steal: compare-exchange top (seq_cst) -> push: load top (acquire). The thief has read slot t before the owner
//       may reuse it.
//   S5  A pusher issues a light fence before it checks for sleepers; a worker that announces its sleep issues a heavy
//       one before it looks here (idle_set S2). Neither push nor looks_empty orders it.
//   S6  pop: compare-exchange top (release) -> steal: load top (seq_cst). A thief that sees a `top` moved by the owner
//       also sees what the owner did to `bottom`.
//
// Checked by model_check/queues/chase_lev_deque_check.cpp. Stressed by stress/queues/chase_lev_deque_stress.cpp. Not
// modelled: a failing allocation in push.
//
// Chase, Lev: Dynamic circular work-stealing deque, SPAA 2005. Le, Pop, Cohen, Zappa Nardelli: Correct and efficient
// work-stealing for weak memory models, PPoPP 2013. This code departs from its listing in S1, S3, S6, in reading the
// array after growing it (CDSChecker, OOPSLA 2013), and in the orders that scripts/apiary mutate showed to be free
// (impl/DECISIONS.md D51).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>

#include <apiary/queues/ring_index.hpp>
#include <apiary/queues/steal_result.hpp>
#include <apiary/sync/cache_line.hpp>
#include <apiary/sync/real_sync.hpp>

namespace apiary {

struct deque_limits {
    static constexpr unsigned index_bits = 64;
    static constexpr std::size_t initial_capacity = 256;   // slots; a power of two
    static constexpr std::size_t max_capacity = 1U << 20;  // slots; try_push refuses beyond
};

template <class T, class Sync = real_sync, class Limits = deque_limits>
class chase_lev_deque {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(void*),
                  "elements are words or pointers: a thief copies a slot before it owns it");
    using index = ring_index<Limits::index_bits>;
    using position = typename index::value;
    static_assert((Limits::initial_capacity & (Limits::initial_capacity - 1)) == 0);
    static_assert(Limits::max_capacity <= index::mask / 2,
                  "I1: the distance of two positions must fit the signed width");

public:
    using limits = Limits;

    chase_lev_deque() {
        array* first = Sync::template create<array>(Limits::initial_capacity, nullptr);
        array_.store(first, std::memory_order_relaxed);
        top_.store(0, std::memory_order_relaxed);
        bottom_.store(0, std::memory_order_relaxed);
    }

    // Drops the elements still inside: the deque does not own what they point to.
    ~chase_lev_deque() {
        for (array* a = array_.load(std::memory_order_relaxed); a != nullptr;) {
            array* older = a->older;
            Sync::destroy(a);
            a = older;
        }
    }

    chase_lev_deque(const chase_lev_deque&) = delete;
    chase_lev_deque& operator=(const chase_lev_deque&) = delete;

    class owner {
    public:
        owner(owner&& other) noexcept : deque_(other.deque_) { other.deque_ = nullptr; }
        owner& operator=(owner&&) = delete;

        // False if max_capacity elements are inside, or there is no memory to grow; then nothing has changed.
        [[nodiscard]] bool try_push(T value) { return deque_->push(value); }

        // Pushes all values by one store, or none; afterwards the first is the newest. Precondition: `values` is not
        // empty.
        [[nodiscard]] bool try_push_all(std::span<const T> values) { return deque_->push_all(values); }

        // False when empty.
        [[nodiscard]] bool try_pop(T& out) { return deque_->pop(out); }

        // Exact for the owner, except for concurrent thefts, which only make it smaller.
        std::size_t size() const { return deque_->approximate_size(); }

    private:
        friend class chase_lev_deque;
        explicit owner(chase_lev_deque* d) : deque_(d) {}
        chase_lev_deque* deque_;
    };

    class thief {
    public:
        [[nodiscard]] steal_result<T> steal() const { return deque_->steal(); }

        // A hint. It does not miss an element whose push precedes it in the order of fences (S5).
        bool looks_empty() const { return deque_->looks_empty(); }

    private:
        friend class chase_lev_deque;
        explicit thief(chase_lev_deque* d) : deque_(d) {}
        chase_lev_deque* deque_;
    };

    // The one owner handle; a second call breaks a law.
    owner own() {
        if (owned_) Sync::fail("chase_lev_deque: own() called twice; there is one owner");
        owned_ = true;
        return owner(this);
    }

    thief share() { return thief(this); }

private:
    struct array {
        array(std::size_t n, array* old)
            : slots(Sync::template create_array<slot>(n)), mask(n - 1), capacity(n), older(old) {
            // I4: an old `top` leads to a slot of a grown array to which nothing was copied. std::atomic has a value
            // from its constructor on (C++20); an engine's atomic must be given the same.
            if constexpr (Sync::checked)
                for (std::size_t i = 0; i != n; ++i) slots[i].store(T{}, std::memory_order_relaxed);
        }
        ~array() { Sync::destroy_array(slots, capacity); }
        array(const array&) = delete;
        array& operator=(const array&) = delete;

        using slot = typename Sync::template atomic<T>;
        slot& at(position i) { return slots[i & mask]; }

        slot* const slots;
        const position mask;
        const std::size_t capacity;
        array* const older;
    };

    bool push(T value) { return push_all(std::span<const T, 1>(&value, 1)); }

    template <std::size_t Extent>
    bool push_all(std::span<const T, Extent> values) {
        const position b = bottom_.load(std::memory_order_relaxed);
        const position t = top_.load(std::memory_order_acquire);  // S4
        array* a = array_.load(std::memory_order_relaxed);
        while (index::distance(t, b) + static_cast<std::int64_t>(values.size()) >
               static_cast<std::int64_t>(a->capacity)) [[unlikely]] {
            a = grow(a, t, b);
            if (a == nullptr) return false;
        }
        const position end = index::add(b, values.size());
        position i = end;
        for (const T value : values) {
            i = index::add(i, index::mask);  // i - 1
            a->at(i).store(value, std::memory_order_relaxed);
        }
        bottom_.store(end, std::memory_order_release);  // S1
        return true;
    }

    bool pop(T& out) {
        const position old_bottom = bottom_.load(std::memory_order_relaxed);
        position t = top_.load(std::memory_order_relaxed);
        const std::int64_t seen = index::distance(t, old_bottom);
        // `top` never passes `bottom`, so an empty deque is recognised without a fence, and an unused one never steps
        // below zero.
        if (seen <= 0) return false;
        array* a = array_.load(std::memory_order_relaxed);
        // the newest is also the oldest: taken at the top as a thief does, with neither fence nor step
        if (seen == 1) {
            out = a->at(t).load(std::memory_order_relaxed);
            if (top_.compare_exchange_strong(t, index::add(t, 1), std::memory_order_release,  // I2, S6
                                             std::memory_order_relaxed))
                return true;
            Sync::reach("deque.pop_lost_lone");
            return false;
        }
        const position b = index::add(old_bottom, index::mask);  // old_bottom - 1
        bottom_.store(b, std::memory_order_seq_cst);             // S1, S3
        t = top_.load(std::memory_order_seq_cst);                // S3
        const std::int64_t left = index::distance(t, b);
        if (left < 0) {  // a thief took the last one meanwhile
            Sync::reach("deque.pop_found_empty");
            bottom_.store(old_bottom, std::memory_order_relaxed);  // S1
            return false;
        }
        out = a->at(b).load(std::memory_order_relaxed);
        if (left > 0) return true;
        // The last element: race the thieves for it.
        const bool won = top_.compare_exchange_strong(t, index::add(t, 1), std::memory_order_release,  // I2, S6
                                                      std::memory_order_relaxed);
        if (!won) Sync::reach("deque.pop_lost_last");
        bottom_.store(old_bottom, std::memory_order_relaxed);  // S1
        return won;
    }

    steal_result<T> steal() {
        position t = top_.load(std::memory_order_seq_cst);           // S3
        const position b = bottom_.load(std::memory_order_seq_cst);  // S1, S3
        if (index::distance(t, b) <= 0) return {steal_status::empty, T{}};
        array* a = array_.load(std::memory_order_acquire);  // S2
        // Read before the compare-exchange: once `top` has moved, the owner may reuse the slot (I2).
        const T value = a->at(t).load(std::memory_order_relaxed);
        if (!top_.compare_exchange_strong(t, index::add(t, 1), std::memory_order_seq_cst,  // S3, S4
                                          std::memory_order_relaxed)) {
            Sync::reach("deque.steal_lost");
            return {steal_status::lost_race, T{}};
        }
        return {steal_status::taken, value};
    }

    // Null if the capacity is at its limit, or there is no memory. Out of line, so that push saves no registers for it.
    [[gnu::noinline]] array* grow(array* old, position t, position b) {
        if (old->capacity >= Limits::max_capacity) {
            Sync::reach("deque.full");
            return nullptr;
        }
        Sync::reach("deque.grow");
        array* bigger;
        try {
            bigger = Sync::template create<array>(old->capacity * 2, old);
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
        for (position i = t; i != b; i = index::add(i, 1))
            bigger->at(i).store(old->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
        array_.store(bigger, std::memory_order_release);  // S2
        return bigger;
    }

    std::size_t approximate_size() const {
        const position b = bottom_.load(std::memory_order_relaxed);
        const position t = top_.load(std::memory_order_relaxed);
        const std::int64_t n = index::distance(t, b);
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }

    bool looks_empty() const {
        const position b = bottom_.load(std::memory_order_relaxed);
        return index::distance(top_.load(std::memory_order_relaxed), b) <= 0;
    }

    alignas(cache_line) typename Sync::template atomic<position> top_;     // thieves
    alignas(cache_line) typename Sync::template atomic<position> bottom_;  // owner
    typename Sync::template atomic<array*> array_;
    bool owned_ = false;
};

}  // namespace apiary
