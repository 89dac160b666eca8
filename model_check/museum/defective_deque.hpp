// A Chase-Lev deque with one published defect, chosen at compile time; without a defect it is the algorithm
// that impl/apiary/queues/chase_lev_deque.hpp ships, less its handles and its limits.
//
// For the museum only. Each `if constexpr` is the difference between a correct deque and an exhibit; the
// fixed twin of every exhibit is the shipped header under the same scenario.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <apiary/contract/laws.hpp>
#include <apiary/queues/chase_lev_deque.hpp>

namespace apiary::museum {

enum class defect {
    none,
    stale_array,           // B01: push writes into the array it loaded before growing
    relaxed_publication,   // B01: the grown array is published by a relaxed store
    array_loaded_once,     // B03: a thief keeps the array over a batch of steals
    relaxed_steal,         // B04: no order between a thief's loads of top and bottom
    slot_after_cas,        // B06: the slot is read when top has already moved
    steal_half_at_once,    // A15: one compare-exchange takes half of what is there
    plain_slots,           // A07: slots are plain data
    unsigned_underflow,    // B02: pop compares bottom - 1 as an unsigned number
    push_relaxed,          // B05: push publishes by a relaxed store
    pop_without_fence,     // B05: nothing between pop's store of bottom and its load of top
    top_kept_on_retry,     // B08: a thief that lost tries again with the top it had
    weak_last_element,     // pop takes the last element by a compare-exchange that may fail for no reason
    bottom_stored_relaxed  // pop's stores of bottom are relaxed
};

// A07: what a std::function in a slot is to a checker.
template <class Sync>
class plain_slot {
public:
    std::uint64_t load(std::memory_order) const { return value_.read(); }
    void store(std::uint64_t value, std::memory_order) { value_.write(value); }

private:
    typename Sync::template cell<std::uint64_t> value_;
};

template <class Sync, defect Defect>
class defective_deque {
    using slot = std::conditional_t<Defect == defect::plain_slots, plain_slot<Sync>,
                                    typename Sync::template atomic<std::uint64_t>>;
    using position = std::uint64_t;

    struct array {
        array(std::size_t n, array* old) : slots(Sync::template create_array<slot>(n)), capacity(n), older(old) {}
        ~array() { Sync::destroy_array(slots, capacity); }
        array(const array&) = delete;
        array& operator=(const array&) = delete;
        slot& at(position i) { return slots[i & (capacity - 1)]; }

        slot* const slots;
        const std::size_t capacity;
        array* const older;
    };

public:
    explicit defective_deque(std::size_t capacity) {
        array_.store(Sync::template create<array>(capacity, nullptr), std::memory_order_relaxed);
    }
    ~defective_deque() {
        for (array* a = array_.load(std::memory_order_relaxed); a != nullptr;) {
            array* older = a->older;
            Sync::destroy(a);
            a = older;
        }
    }
    defective_deque(const defective_deque&) = delete;
    defective_deque& operator=(const defective_deque&) = delete;

    void push(std::uint64_t value) {
        const position b = bottom_.load(std::memory_order_relaxed);
        const position t = top_.load(std::memory_order_acquire);
        array* a = array_.load(std::memory_order_relaxed);
        if (b - t >= a->capacity) {
            array* bigger = grow(a, t, b);
            if constexpr (Defect != defect::stale_array) a = bigger;
        }
        a->at(b).store(value, std::memory_order_relaxed);
        bottom_.store(b + 1, Defect == defect::push_relaxed ? std::memory_order_relaxed : std::memory_order_release);
    }

    bool pop(std::uint64_t& out) {
        const position old_bottom = bottom_.load(std::memory_order_relaxed);
        if constexpr (Defect != defect::unsigned_underflow)
            if (old_bottom == top_.load(std::memory_order_relaxed)) return false;
        const position b = old_bottom - 1;
        array* a = array_.load(std::memory_order_relaxed);
        bottom_.store(b, pop_order);
        if constexpr (Defect != defect::pop_without_fence) Sync::fence(std::memory_order_seq_cst);
        position t = top_.load(std::memory_order_relaxed);
        if (Defect == defect::unsigned_underflow ? b < t : static_cast<std::int64_t>(b - t) < 0) {
            bottom_.store(old_bottom, pop_order);
            return false;
        }
        out = a->at(b).load(std::memory_order_relaxed);
        if (b != t) return true;
        const bool won = take_last(t);
        bottom_.store(old_bottom, pop_order);
        return won;
    }

    // Hands what it took to `took`, up to `most` elements.
    template <class Took>
    void steal(std::size_t most, Took took) {
        array* kept = nullptr;
        for (std::size_t n = 0; n != most; ++n) {
            position t = top_.load(std::memory_order_acquire);
            if constexpr (Defect != defect::relaxed_steal) Sync::fence(std::memory_order_seq_cst);
            const position b = bottom_.load(std::memory_order_acquire);
            if (static_cast<std::int64_t>(b - t) <= 0) return;
            if (kept == nullptr || Defect != defect::array_loaded_once) kept = array_.load(std::memory_order_acquire);
            if constexpr (Defect == defect::top_kept_on_retry) {
                while (!claim(t, 1))
                    if (static_cast<std::int64_t>(bottom_.load(std::memory_order_acquire) - t) <= 0) return;
                took(kept->at(t).load(std::memory_order_relaxed));
            } else if constexpr (Defect == defect::steal_half_at_once) {
                const position half = (b - t + 1) / 2;
                std::array<std::uint64_t, 4> values{};
                for (position i = 0; i != half; ++i) values[i] = kept->at(t + i).load(std::memory_order_relaxed);
                if (!claim(t, half)) return;
                for (position i = 0; i != half; ++i) took(values[i]);
            } else if constexpr (Defect == defect::slot_after_cas) {
                if (!claim(t, 1)) return;
                took(kept->at(t).load(std::memory_order_relaxed));
            } else {
                const std::uint64_t value = kept->at(t).load(std::memory_order_relaxed);
                if (!claim(t, 1)) return;
                took(value);
            }
        }
    }

private:
    static constexpr std::memory_order pop_order =
        Defect == defect::bottom_stored_relaxed ? std::memory_order_relaxed : std::memory_order_release;

    bool claim(position t, position n) {
        return top_.compare_exchange_strong(t, t + n, std::memory_order_seq_cst, std::memory_order_relaxed);
    }

    bool take_last(position t) {
        if constexpr (Defect == defect::weak_last_element)
            return top_.compare_exchange_weak(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
        else
            return top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
    }

    array* grow(array* old, position t, position b) {
        array* bigger = Sync::template create<array>(old->capacity * 2, old);
        for (position i = t; i != b; ++i)
            bigger->at(i).store(old->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
        array_.store(bigger,
                     Defect == defect::relaxed_publication ? std::memory_order_relaxed : std::memory_order_release);
        return bigger;
    }

    typename Sync::template atomic<position> top_{0}, bottom_{0};
    typename Sync::template atomic<array*> array_;
};

// The shipped deque behind the same four functions.
template <class Sync, std::size_t Capacity>
class shipped_deque {
    struct limits {
        static constexpr unsigned index_bits = 64;
        static constexpr std::size_t initial_capacity = Capacity;
        static constexpr std::size_t max_capacity = 8;
    };

public:
    void push(std::uint64_t value) { Sync::law(owner_.try_push(value), "push refused below the capacity limit"); }
    bool pop(std::uint64_t& out) { return owner_.try_pop(out); }
    template <class Took>
    void steal(std::size_t most, Took took) {
        for (std::size_t n = 0; n != most; ++n) {
            const auto got = deque_.share().steal();
            if (got.status != steal_status::taken) return;
            took(got.value);
        }
    }

private:
    chase_lev_deque<std::uint64_t, Sync, limits> deque_;
    typename chase_lev_deque<std::uint64_t, Sync, limits>::owner owner_ = deque_.own();
};

template <class Sync, defect Defect, std::size_t Capacity>
struct exhibited_deque : defective_deque<Sync, Defect> {
    exhibited_deque() : defective_deque<Sync, Defect>(Capacity) {}
};

// One owner, one thief, and the identity law. A scenario pushes ids 0, 1, 2, …; the element is id + 1.
template <class Sync, class Deque, std::size_t Ids>
struct deque_scenario {
    static constexpr unsigned threads = 2;
    Deque deque;
    identity_ledger<Sync, Ids, 3> ledger;

    void push(std::size_t id) {
        ledger.put(id);
        deque.push(id + 1);
    }
    bool pop(std::size_t log = 0) {
        std::uint64_t value = 0;
        if (!deque.pop(value)) return false;
        ledger.took(log, static_cast<std::size_t>(value) - 1);
        return true;
    }
    void steal(std::size_t most) {
        deque.steal(most, [this](std::uint64_t value) { ledger.took(1, static_cast<std::size_t>(value) - 1); });
    }
    void after() {
        while (pop(2)) {
        }
        ledger.settle();
    }
};

}  // namespace apiary::museum
