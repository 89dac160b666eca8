// chaos_sync: the policy of the stress tests. It uses real atomics and puts a seeded delay or yield before any
// operation, so that two cores reach interleavings they would otherwise never meet.
//
// Each thread draws from a generator of its own, seeded by (run seed, thread number): the *decisions* of a run repeat
// with its seed, the interleaving only nearly so.
//
// Threads. Call chaos::set_seed before the threads start. Each thread calls chaos::enter first; one that does not is
//          numbered by its arrival.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <utility>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

class chaos {
public:
    static void set_seed(std::uint64_t seed) noexcept {
        seed_.store(seed, std::memory_order_relaxed);
        arrivals_.store(0, std::memory_order_relaxed);
    }

    static void enter(std::uint64_t thread_number) noexcept {
        state_ = (seed_.load(std::memory_order_relaxed) + 1) * 0x9E3779B97F4A7C15U ^
                 (thread_number + 1) * 0xBF58476D1CE4E5B9U;
        if (state_ == 0) state_ = 1;
    }

    // Mostly does nothing; now and then a few pauses, a yield or a short sleep.
    static void disturb() noexcept {
        const std::uint64_t draw = next();
        if (draw >= 1024) return;
        if (draw >= 128) {
            for (std::uint64_t i = draw & 31U; i > 0; --i) real_sync::relax();
        } else if (draw >= 4) {
            ::sched_yield();
        } else {
            const timespec nap{0, static_cast<long>((draw + 1) * 20'000)};
            ::nanosleep(&nap, nullptr);
        }
    }

    static bool one_in(std::uint64_t n) noexcept { return next() % n == 0; }

private:
    // Returns 16 good bits.
    static std::uint64_t next() noexcept {
        if (state_ == 0) enter(1'000'000 + arrivals_.fetch_add(1, std::memory_order_relaxed));
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return (state_ * 0x2545F4914F6CDD1DU) >> 48;
    }

    static inline std::atomic<std::uint64_t> seed_{1};
    static inline std::atomic<std::uint64_t> arrivals_{0};
    static inline constinit thread_local std::uint64_t state_ = 0;
};

struct chaos_sync : real_sync {
    static unsigned processors() noexcept { return 1024; }  // so that what waits for many is stressed on few

    template <class T>
    class atomic : private real_sync::atomic<T> {
        using base = real_sync::atomic<T>;

    public:
        using base::base;

        T load(std::memory_order order, site = {}) const noexcept {
            chaos::disturb();
            return base::load(order);
        }
        void store(T value, std::memory_order order, site = {}) noexcept {
            chaos::disturb();
            base::store(value, order);
        }
        T exchange(T value, std::memory_order order, site = {}) noexcept {
            chaos::disturb();
            return base::exchange(value, order);
        }
        bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                   site = {}) noexcept {
            chaos::disturb();
            return base::compare_exchange_weak(expected, desired, success, failure);
        }
        bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                     site = {}) noexcept {
            chaos::disturb();
            return base::compare_exchange_strong(expected, desired, success, failure);
        }
        T fetch_add(T value, std::memory_order order, site = {}) noexcept {
            chaos::disturb();
            return base::fetch_add(value, order);
        }
        T fetch_sub(T value, std::memory_order order, site = {}) noexcept {
            chaos::disturb();
            return base::fetch_sub(value, order);
        }
        T fetch_or(T value, std::memory_order order, site = {}) noexcept {
            chaos::disturb();
            return base::fetch_or(value, order);
        }
        T fetch_and(T value, std::memory_order order, site = {}) noexcept {
            chaos::disturb();
            return base::fetch_and(value, order);
        }
    };

    static void fence(std::memory_order order, site = {}) noexcept {
        chaos::disturb();
        real_sync::fence(order);
    }
    static void fence_light(site = {}) noexcept {
        chaos::disturb();
        real_sync::fence_light();
    }
    static void fence_heavy(site = {}) noexcept {
        chaos::disturb();
        real_sync::fence_heavy();
    }

    class futex : public futex_on<atomic<std::uint32_t>> {
        using base = futex_on<atomic<std::uint32_t>>;

    public:
        using base::base;

        // Now and then returns for no reason, as the kernel may.
        bool wait(std::uint32_t expected, std::int64_t deadline_ns, site = {}) noexcept {
            chaos::disturb();
            return chaos::one_in(16) || base::wait(expected, deadline_ns);
        }
        void wake_one(site = {}) noexcept {
            chaos::disturb();
            base::wake_one();
        }
        void wake_all(site = {}) noexcept {
            chaos::disturb();
            base::wake_all();
        }
    };

    template <class T, class Done>
    static T spin_until(const atomic<T>& a, Done done, site = {}) {
        for (;;) {
            T value = a.load(std::memory_order_acquire);
            if (done(value)) return value;
            ::sched_yield();
        }
    }
};

static_assert(sync_policy<real_sync> && sync_policy<chaos_sync>);

}  // namespace apiary
