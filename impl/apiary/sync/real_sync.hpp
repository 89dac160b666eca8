// real_sync: the policy that ships: std::atomic, the system's futex and clock. Nothing is watched, and it adds no cost.
// bench/probes compares its machine code with hand-written std::atomic code.
#pragma once

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#include <apiary/sync/sync_policy.hpp>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace apiary {

// Tells whether the kernel can make the other threads of this process pass a fence. It cannot on Linux before 4.14, nor
// where a sandbox forbids it; then both asymmetric fences are seq_cst fences.
struct membarrier {
    membarrier() noexcept : available(call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0) {}
    static long call(int command) noexcept { return ::syscall(SYS_membarrier, command, 0U, 0); }
    bool available;
};
// Constructed before all other objects of static lifetime, and before main.
[[gnu::init_priority(101)]] inline const membarrier the_membarrier;

struct real_sync {
    static constexpr bool checked = false;

    struct site {
        static constexpr site current() noexcept { return {}; }
    };

    template <class T>
    class atomic {
    public:
        atomic() noexcept = default;
        constexpr explicit atomic(T value) noexcept : value_(value) {}
        atomic(const atomic&) = delete;
        atomic& operator=(const atomic&) = delete;

        T load(std::memory_order order, site = {}) const noexcept { return value_.load(order); }
        void store(T value, std::memory_order order, site = {}) noexcept { value_.store(value, order); }
        T exchange(T value, std::memory_order order, site = {}) noexcept { return value_.exchange(value, order); }
        bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                   site = {}) noexcept {
            return value_.compare_exchange_weak(expected, desired, success, failure);
        }
        bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                     site = {}) noexcept {
            return value_.compare_exchange_strong(expected, desired, success, failure);
        }
        T fetch_add(T value, std::memory_order order, site = {}) noexcept { return value_.fetch_add(value, order); }
        T fetch_sub(T value, std::memory_order order, site = {}) noexcept { return value_.fetch_sub(value, order); }
        T fetch_or(T value, std::memory_order order, site = {}) noexcept { return value_.fetch_or(value, order); }
        T fetch_and(T value, std::memory_order order, site = {}) noexcept { return value_.fetch_and(value, order); }

    private:
        std::atomic<T> value_;
    };

    static void fence(std::memory_order order, site = {}) noexcept { std::atomic_thread_fence(order); }

    static void fence_light(site = {}) noexcept {
        if (the_membarrier.available) [[likely]]
            std::atomic_signal_fence(std::memory_order_seq_cst);
        else
            std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    // A system call of 0.3 us; 3 us if another thread of the process runs, which it interrupts for 2 us.
    static void fence_heavy(site = {}) noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (the_membarrier.available && membarrier::call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
            fail("membarrier is refused, which the kernel had granted: light fences rely on it");
    }

    template <class T>
    class cell {
    public:
        cell() noexcept = default;
        constexpr explicit cell(T value) noexcept : value_(std::move(value)) {}
        const T& read(site = {}) const noexcept { return value_; }
        void write(T value, site = {}) noexcept { value_ = std::move(value); }
        T take(site = {}) noexcept { return std::move(value_); }

    private:
        T value_;
    };

    class mutex {
    public:
        void lock(site = {}) { m_.lock(); }
        bool try_lock(site = {}) { return m_.try_lock(); }
        void unlock(site = {}) { m_.unlock(); }

    private:
        friend struct real_sync;
        std::mutex m_;
    };

    class lock {
    public:
        explicit lock(mutex& m, site = {}) : held_(m.m_) {}

    private:
        friend struct real_sync;
        std::unique_lock<std::mutex> held_;
    };

    class condvar {
    public:
        void wait(lock& l, site = {}) { cv_.wait(l.held_); }
        void notify_one(site = {}) noexcept { cv_.notify_one(); }
        void notify_all(site = {}) noexcept { cv_.notify_all(); }

    private:
        std::condition_variable cv_;
    };

    static constexpr std::int64_t forever = INT64_MAX;

    // The word is the whole object, so its address is the futex's.
    template <class Word>
    class futex_on : public Word {
        static_assert(sizeof(Word) == sizeof(std::uint32_t) && std::is_standard_layout_v<Word>);

    public:
        constexpr explicit futex_on(std::uint32_t value) noexcept : Word(value) {}

        // The deadline is a time of now_ns. The kernel takes an absolute CLOCK_MONOTONIC time only with WAIT_BITSET.
        bool wait(std::uint32_t expected, std::int64_t deadline_ns, site = {}) noexcept {
            timespec t{};  // the kernel refuses a negative time
            if (deadline_ns < 0) deadline_ns = 0;
            t.tv_sec = deadline_ns / 1'000'000'000;
            t.tv_nsec = deadline_ns % 1'000'000'000;
            const long rc = ::syscall(SYS_futex, this, FUTEX_WAIT_BITSET_PRIVATE, expected,
                                      deadline_ns == forever ? nullptr : &t, nullptr, FUTEX_BITSET_MATCH_ANY);
            return !(rc == -1 && errno == ETIMEDOUT);
        }
        void wake_one(site = {}) noexcept { ::syscall(SYS_futex, this, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }
        void wake_all(site = {}) noexcept {
            ::syscall(SYS_futex, this, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
        }
    };
    using futex = futex_on<atomic<std::uint32_t>>;

    template <class T, class Done>
    static T spin_until(const atomic<T>& a, Done done, site = {}) {
        for (int spins = 0;; ++spins) {
            T value = a.load(std::memory_order_acquire);
            if (done(value)) return value;
            if (spins < 64)
                relax();
            else if (spins < 1024)
                yield();
            else  // the waited-for thread has no processor: a yield would give it none where priorities differ
                sleep_ns(50'000);
        }
    }

    static void relax(site = {}) noexcept {
#if defined(__x86_64__) || defined(__i386__)
        _mm_pause();
#elif defined(__aarch64__)
        __asm__ __volatile__("yield");
#endif
    }

    static void yield(site = {}) noexcept { std::this_thread::yield(); }
    static void sleep_ns(std::int64_t ns, site = {}) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

    static unsigned processors() noexcept {
        static const unsigned here = std::thread::hardware_concurrency();
        return here;
    }

    static void prefetch(const void* p, site = {}) noexcept { __builtin_prefetch(p); }
    // On x86 the built-in asks for a copy alone unless the compiler is told of prefetchw (-mprfchw). That is safe
    // without: each AMD64 processor knows it, and an Intel 64 one older than 2014 takes it for a no-op.
    static void prefetch_to_write(const void* p, site = {}) noexcept {
#if defined(__x86_64__)
        __asm__ __volatile__("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
        __builtin_prefetch(p, 1);
#endif
    }

    static const stack_bounds& stack() noexcept { return bounds_of_this_stack(); }

    // The processor that the calling thread ran on a moment ago, as a hint; negative if the system does not tell.
    static int processor() noexcept { return ::sched_getcpu(); }

    static std::int64_t now_ns() noexcept {
        timespec t{};
        ::clock_gettime(CLOCK_MONOTONIC, &t);
        return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
    }

    // xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators", 2016.
    class random_source {
    public:
        explicit random_source(std::uint64_t seed) noexcept : state_(seed * 0x9E3779B97F4A7C15U | 1U) {}
        std::uint32_t below(std::uint32_t n, site = {}) noexcept {
            state_ ^= state_ >> 12;
            state_ ^= state_ << 25;
            state_ ^= state_ >> 27;
            const auto high = static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1DU) >> 32);
            return static_cast<std::uint32_t>((std::uint64_t{high} * n) >> 32);
        }

    private:
        std::uint64_t state_;
    };

    // In real_sync a scoped<T> is a plain T.
    template <class T>
    class scoped {
    public:
        // Inlined early: otherwise g++ reorders the stores of a fork, which costs a seventh of its time.
        template <class... Args>
        [[gnu::always_inline]] explicit scoped(Args&&... args) : value_(std::forward<Args>(args)...) {}
        scoped(const scoped&) = delete;
        scoped& operator=(const scoped&) = delete;

        T& operator*() noexcept { return value_; }
        const T& operator*() const noexcept { return value_; }
        T* operator->() noexcept { return &value_; }
        const T* operator->() const noexcept { return &value_; }

    private:
        T value_;
    };

    template <class T>
    static T* current() noexcept {
        return current_<T>;
    }
    template <class T>
    static void set_current(T* p) noexcept {
        current_<T> = p;
    }

    template <class T>
    static T& local() noexcept {
        static_assert(std::is_trivially_destructible_v<T>, "a destructor would cost each access a look at a guard");
        return local_<T>;
    }
    template <void (*F)()>
    static void at_thread_exit() {
        struct caller {
            ~caller() { F(); }
        };
        static thread_local caller at_exit;
    }

    // For a constant alignment no branch is left.
    static void* allocate(std::size_t bytes, std::size_t alignment) {
        return alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? ::operator new(bytes, std::align_val_t{alignment})
                                                            : ::operator new(bytes);
    }
    static void deallocate(void* p, std::size_t, std::size_t alignment) noexcept {
        if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
            ::operator delete(p, std::align_val_t{alignment});
        else
            ::operator delete(p);
    }

    template <class T, class... Args>
    static T* create(Args&&... args) {
        return new T(std::forward<Args>(args)...);
    }
    template <class T>
    static void destroy(T* p) noexcept {
        delete p;
    }
    template <class T>
    static T* create_array(std::size_t n) {
        return new T[n];
    }
    template <class T>
    static void destroy_array(T* p, std::size_t) noexcept {
        delete[] p;
    }

    static constexpr void reach(const char*) noexcept {}
    static constexpr bool recheck(const char*) noexcept { return true; }

    static void law(bool holds, const char* what, site = {}) noexcept {
        if (!holds) [[unlikely]]
            fail(what);
    }

    // Calls at_failure, which a test harness may replace to add what it knows, then aborts.
    [[noreturn]] static void fail(const char* what, site = {}) noexcept {
        at_failure(what);
        std::abort();
    }
    static inline void (*at_failure)(const char* what) = [](const char* what) {
        std::fprintf(stderr, "apiary: law broken: %s\n", what);
    };

private:
    template <class T>
    static inline constinit thread_local T* current_ = nullptr;
    template <class T>
    static inline constinit thread_local T local_{};
};

template <>
inline constexpr bool recycles_memory<real_sync> = true;

}  // namespace apiary
