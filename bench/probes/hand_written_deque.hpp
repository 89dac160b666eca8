// The Chase-Lev deque of impl/apiary/queues, written by hand with std::atomic. The machine code of the policy version
// is compared with it. Same algorithm, same layout, no policy.
//
// It is no product: only the probes include it. APIARY_STRONGER builds it with a stronger order in the places marked
// STRONGER; a comparison that does not see that is worthless.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <apiary/queues/chase_lev_deque.hpp>

#ifdef APIARY_STRONGER
#define STRONGER(order) std::memory_order_seq_cst
#else
#define STRONGER(order) order
#endif

namespace hand_written {

template <class T>
class deque {
public:
    deque() : array_(new array(initial_capacity, nullptr)) {}
    deque(const deque&) = delete;
    deque& operator=(const deque&) = delete;
    ~deque() {
        for (array* a = array_.load(std::memory_order_relaxed); a != nullptr;) {
            array* older = a->older;
            delete a;
            a = older;
        }
    }

    // Handles, as the product has them.
    class owner {
    public:
        bool try_push(T value) { return deque_->push(value); }
        bool try_pop(T& out) { return deque_->pop(out); }

    private:
        deque* deque_;
    };

    class thief {
    public:
        apiary::steal_result<T> steal() const { return deque_->steal(); }

    private:
        deque* deque_;
    };

private:
    bool push(T value) {
        const std::uint64_t b = bottom_.load(std::memory_order_relaxed);
        const std::uint64_t t = top_.load(std::memory_order_acquire);
        array* a = array_.load(std::memory_order_relaxed);
        while (static_cast<std::int64_t>(b - t) + 1 > static_cast<std::int64_t>(a->capacity)) [[unlikely]] {
            a = grow(a, t, b);
            if (a == nullptr) return false;
        }
        a->slots[b & a->mask].store(value, STRONGER(std::memory_order_relaxed));
        bottom_.store(b + 1, std::memory_order_release);
        return true;
    }

    bool pop(T& out) {
        const std::uint64_t old_bottom = bottom_.load(std::memory_order_relaxed);
        std::uint64_t t = top_.load(std::memory_order_relaxed);
        const auto seen = static_cast<std::int64_t>(old_bottom - t);
        if (seen <= 0) return false;
        array* a = array_.load(std::memory_order_relaxed);
        if (seen == 1) {
            out = a->slots[t & a->mask].load(std::memory_order_relaxed);
            if (top_.compare_exchange_strong(t, t + 1, std::memory_order_release, std::memory_order_relaxed))
                return true;
            return false;
        }
        const std::uint64_t b = old_bottom - 1;
        bottom_.store(b, std::memory_order_seq_cst);
        t = top_.load(std::memory_order_seq_cst);
        const auto left = static_cast<std::int64_t>(b - t);
        if (left < 0) {
            bottom_.store(old_bottom, std::memory_order_relaxed);
            return false;
        }
        out = a->slots[b & a->mask].load(std::memory_order_relaxed);
        if (left > 0) return true;
        const bool won = top_.compare_exchange_strong(t, t + 1, std::memory_order_release, std::memory_order_relaxed);
        bottom_.store(old_bottom, std::memory_order_relaxed);
        return won;
    }

    apiary::steal_result<T> steal() {
        std::uint64_t t = top_.load(std::memory_order_seq_cst);
        const std::uint64_t b = bottom_.load(std::memory_order_seq_cst);
        if (static_cast<std::int64_t>(b - t) <= 0) return {apiary::steal_status::empty, T{}};
        array* a = array_.load(std::memory_order_acquire);
        const T value = a->slots[t & a->mask].load(std::memory_order_relaxed);
        if (!top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
            return {apiary::steal_status::lost_race, T{}};
        return {apiary::steal_status::taken, value};
    }

    static constexpr std::size_t initial_capacity = 256;
    static constexpr std::size_t max_capacity = 1U << 20;

    struct array {
        array(std::size_t n, array* old) : slots(new std::atomic<T>[n]), mask(n - 1), capacity(n), older(old) {}
        array(const array&) = delete;
        array& operator=(const array&) = delete;
        ~array() { delete[] slots; }

        std::atomic<T>* const slots;
        const std::uint64_t mask;
        const std::size_t capacity;
        array* const older;
    };

    [[gnu::noinline]] array* grow(array* old, std::uint64_t t, std::uint64_t b) {
        if (old->capacity >= max_capacity) return nullptr;
        const std::size_t doubled = old->capacity * 2;
        array* bigger;
        try {
            bigger = new array(doubled, old);
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
        for (std::uint64_t i = t; i != b; ++i)
            bigger->slots[i & bigger->mask].store(old->slots[i & old->mask].load(std::memory_order_relaxed),
                                                  std::memory_order_relaxed);
        array_.store(bigger, std::memory_order_release);
        return bigger;
    }

    alignas(128) std::atomic<std::uint64_t> top_{0};
    alignas(128) std::atomic<std::uint64_t> bottom_{0};
    std::atomic<array*> array_;
};

}  // namespace hand_written
