// Two queues of the textbooks as a beginner writes them: no order is given anywhere, so that each is seq_cst. The advice of
// --mutate-all weakens them to the orders that their authors published (orders_test.py). And one with an order that is too weak.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace textbook {

// Vyukov's bounded queue of many producers and many consumers: each slot tells whose turn it is.
template <class T, std::size_t Slots>
class bounded_queue {
public:
    bounded_queue() {
        for (std::size_t i = 0; i != Slots; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
    }

    bool try_push(T value) {
        std::size_t at = tail_.load();
        for (;;) {
            slot& s = slots_[at % Slots];
            const std::size_t turn = s.turn.load();
            if (turn < at) return false;
            if (turn > at)
                at = tail_.load();
            else if (tail_.compare_exchange_weak(at, at + 1)) {
                s.value = value;
                s.turn.store(at + 1);
                return true;
            }
        }
    }

    bool try_pop(T& into) {
        std::size_t at = head_.load();
        for (;;) {
            slot& s = slots_[at % Slots];
            const std::size_t turn = s.turn.load();
            if (turn < at + 1) return false;
            if (turn > at + 1)
                at = head_.load();
            else if (head_.compare_exchange_weak(at, at + 1)) {
                into = s.value;
                s.turn.store(at + Slots);
                return true;
            }
        }
    }

private:
    struct slot {
        std::atomic<std::size_t> turn;
        T value{};
    };
    std::array<slot, Slots> slots_;
    std::atomic<std::size_t> tail_{0}, head_{0};
};

// Lamport's ring of one producer and one consumer, with the orders of its published form but for one.
template <class T, std::size_t Slots>
class ring_with_a_weak_order {
public:
    bool try_push(T value) {
        const std::size_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) == Slots) return false;
        slots_[tail % Slots] = value;
        tail_.store(tail + 1, std::memory_order_relaxed);  // too weak: it must release the slot
        return true;
    }
    bool try_pop(T& into) {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) return false;
        into = slots_[head % Slots];
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

private:
    std::array<T, Slots> slots_{};
    std::atomic<std::size_t> tail_{0}, head_{0};
};

}  // namespace textbook
