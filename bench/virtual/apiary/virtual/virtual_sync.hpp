// virtual_sync: the policy whose operations cost virtual time (machine.hpp).
//
// When to use it. To ask how a structure or a scheduler scales, on processors that nobody has. When not: to ask whether it
// is correct. Its runs are sequentially consistent, and each is one of many: that is what the checks are for.
//
// Layouts are real_sync's, so that what shares a line there shares one here. Outside of a thread of the machine (before
// run, and after it) an operation is free, and one that would block fails.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <apiary/sync/real_sync.hpp>
#include <apiary/virtual/machine.hpp>

// What stands for one instruction is a call, and nothing in it is counted or seen (seen_calls.cpp). The
// attribute suppresses no sanitizer: no preset with one builds this header (APIARY_BENCH is off in them). It keeps the
// machine's own hooks out of its policy.
#if defined(__clang__)
#define APIARY_UNSEEN [[gnu::noinline]] __attribute__((no_sanitize("thread", "coverage")))
#else
#define APIARY_UNSEEN [[gnu::noinline, gnu::no_sanitize("thread"), gnu::no_sanitize_coverage]]
#endif

namespace apiary::virt {

// "steal_half_queue" for apiary::steal_half_queue<…>.
template <class T>
std::string_view short_type_name() {
    std::string_view all = __PRETTY_FUNCTION__;  // … [with T = apiary::x<…>; …], and [T = …] by clang
    const auto from = all.find("T = ");
    all = all.substr(from + 4);
    all = all.substr(0, all.find_first_of("<;]"));
    const auto colons = all.rfind("::");
    return colons == std::string_view::npos ? all : all.substr(colons + 2);
}

class virtual_team;

struct virtual_sync {
    static constexpr bool checked = false;
    using threads = virtual_team;  // virtual_team.hpp
    static constexpr std::int64_t forever = INT64_MAX;

    struct site {
        place where;
        static constexpr site current(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                                      unsigned line = __builtin_LINE()) noexcept {
            return {{file, function, line}};
        }
    };

    template <class T>
    class atomic {
    public:
        atomic() noexcept = default;
        constexpr explicit atomic(T value) noexcept : value_(value) {}
        atomic(const atomic&) = delete;
        atomic& operator=(const atomic&) = delete;

        APIARY_UNSEEN T load(std::memory_order, site at = site::current()) const noexcept {
            touch(access::load, at);
            return value_;
        }
        APIARY_UNSEEN void store(T value, std::memory_order order, site at = site::current()) noexcept {
            touch(order == std::memory_order_seq_cst ? access::change : access::store, at);  // an xchg, on x86-64
            value_ = value;
        }
        APIARY_UNSEEN T exchange(T value, std::memory_order, site at = site::current()) noexcept {
            touch(access::change, at);
            return replace(value);
        }
        APIARY_UNSEEN bool compare_exchange_weak(T& expected, T desired, std::memory_order, std::memory_order,
                                   site at = site::current()) noexcept {
            return compare_exchange(expected, desired, at);
        }
        APIARY_UNSEEN bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order,
                                     site at = site::current()) noexcept {
            return compare_exchange(expected, desired, at);
        }
        APIARY_UNSEEN T fetch_add(T v, std::memory_order, site at = site::current()) noexcept {
            touch(access::change, at);
            return replace(static_cast<T>(value_ + v));
        }
        APIARY_UNSEEN T fetch_sub(T v, std::memory_order, site at = site::current()) noexcept {
            touch(access::change, at);
            return replace(static_cast<T>(value_ - v));
        }
        APIARY_UNSEEN T fetch_or(T v, std::memory_order, site at = site::current()) noexcept {
            touch(access::change, at);
            return replace(static_cast<T>(value_ | v));
        }
        APIARY_UNSEEN T fetch_and(T v, std::memory_order, site at = site::current()) noexcept {
            touch(access::change, at);
            return replace(static_cast<T>(value_ & v));
        }

    private:
        APIARY_UNSEEN void touch(access kind, const site& at) const noexcept {
            if (machine::running() == nullptr) return;
            machine& m = *machine::current();
            m.touch(this, sizeof value_, kind, kind == access::change ? m.priced().change_hit : m.priced().hit, at.where);
        }
        APIARY_UNSEEN T replace(T value) noexcept {
            const T old = value_;
            value_ = value;
            return old;
        }
        APIARY_UNSEEN bool compare_exchange(T& expected, T desired, const site& at) noexcept {
            touch(access::change, at);
            if (std::memcmp(&value_, &expected, sizeof value_) == 0) {
                value_ = desired;
                return true;
            }
            expected = value_;
            return false;
        }

        alignas(std::atomic<T>) T value_;
    };

    APIARY_UNSEEN static void fence(std::memory_order order, site = {}) noexcept {
        if (order == std::memory_order_seq_cst && machine::running() != nullptr) machine::current()->fence();
    }
    static void fence_light(site = {}) noexcept {}
    APIARY_UNSEEN static void fence_heavy(site = {}) noexcept {
        if (machine::running() != nullptr) machine::current()->barrier();
    }

    template <class T>
    class cell {
    public:
        cell() noexcept = default;
        constexpr explicit cell(T value) noexcept : value_(std::move(value)) {}
        APIARY_UNSEEN const T& read(site at = site::current()) const noexcept {
            touch(access::load, at);
            return value_;
        }
        APIARY_UNSEEN void write(T value, site at = site::current()) noexcept {
            touch(access::store, at);
            value_ = std::move(value);
        }
        APIARY_UNSEEN T take(site at = site::current()) noexcept {
            touch(access::load, at);
            return std::move(value_);
        }

    private:
        APIARY_UNSEEN void touch(access kind, const site& at) const noexcept {
            if (machine::running() == nullptr) return;
            machine& m = *machine::current();
            m.touch(this, sizeof value_, kind, m.priced().cell_hit, at.where);
        }
        T value_;
    };

    // The word is the whole object, as in real_sync.
    class futex : public atomic<std::uint32_t> {
    public:
        constexpr explicit futex(std::uint32_t value) noexcept : atomic(value) {}

        APIARY_UNSEEN bool wait(std::uint32_t expected, std::int64_t deadline_ns, site at = site::current()) noexcept {
            if (machine::running() == nullptr) fail("a thread outside of the virtual machine would block", at);
            return machine::current()->futex_wait(this, expected, deadline_ns, at.where);
        }
        APIARY_UNSEEN void wake_one(site = {}) noexcept {
            if (machine::running() != nullptr) machine::current()->futex_wake(this, false);
        }
        APIARY_UNSEEN void wake_all(site = {}) noexcept {
            if (machine::running() != nullptr) machine::current()->futex_wake(this, true);
        }
    };

    // glibc's: 0 free, 1 held, 2 held and perhaps waited for. It does not spin.
    class mutex {
    public:
        APIARY_UNSEEN void lock(site at = site::current()) {
            if (try_lock(at)) return;
            while (word_.exchange(2, std::memory_order_acquire, at) != 0) (void)word_.wait(2, forever, at);
        }
        APIARY_UNSEEN bool try_lock(site at = site::current()) {
            std::uint32_t expected = 0;
            return word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed, at);
        }
        APIARY_UNSEEN void unlock(site at = site::current()) {
            if (word_.exchange(0, std::memory_order_release, at) == 2) word_.wake_one(at);
        }

    private:
        futex word_{0};
        alignas(8) std::byte rest_[sizeof(std::mutex) - 8];
    };

    class lock {
    public:
        explicit lock(mutex& m, site at = site::current()) : m_(m) { m_.lock(at); }
        ~lock() { m_.unlock(); }
        lock(const lock&) = delete;
        lock& operator=(const lock&) = delete;

    private:
        friend struct virtual_sync;
        mutex& m_;
    };

    class condvar {
    public:
        APIARY_UNSEEN void wait(lock& l, site at = site::current()) {
            const std::uint32_t seen = turns_.load(std::memory_order_relaxed, at);
            l.m_.unlock(at);
            (void)turns_.wait(seen, forever, at);
            l.m_.lock(at);
        }
        APIARY_UNSEEN void notify_one(site at = site::current()) noexcept {
            turns_.fetch_add(1, std::memory_order_relaxed, at);
            turns_.wake_one(at);
        }
        APIARY_UNSEEN void notify_all(site at = site::current()) noexcept {
            turns_.fetch_add(1, std::memory_order_relaxed, at);
            turns_.wake_all(at);
        }

    private:
        futex turns_{0};
        alignas(8) std::byte rest_[sizeof(std::condition_variable) - 8];
    };

    // Told of each write of the line, at once: a waiter costs the host nothing meanwhile.
    template <class T, class Done>
    static T spin_until(const atomic<T>& a, Done done, site at = site::current()) {
        for (;;) {
            T value = a.load(std::memory_order_acquire, at);
            if (done(value)) return value;
            if (machine::running() == nullptr) fail("a thread outside of the virtual machine would spin for ever", at);
            machine::current()->wait_for_change(&a, at.where);
        }
    }

    APIARY_UNSEEN static void relax(site = {}) noexcept {
        if (machine::running() != nullptr) machine::current()->spend(machine::current()->priced().relax);
    }

    APIARY_UNSEEN static void yield(site = {}) noexcept {
        if (machine::running() != nullptr) return machine::current()->yield();
        real_sync::yield();
    }
    APIARY_UNSEEN static void sleep_ns(std::int64_t ns, site at = site::current()) {
        if (machine::running() == nullptr) fail("a thread outside of the virtual machine would sleep", at);
        machine::current()->sleep_ns(ns, at.where);
    }

    APIARY_UNSEEN static void prefetch(const void* p, site at = site::current()) noexcept {
        if (machine::running() != nullptr) machine::current()->ask_for_copy(p, at.where);
    }
    APIARY_UNSEEN static void prefetch_to_write(const void* p, site = {}) noexcept {
        if (machine::running() != nullptr && the_arena().contains(p)) machine::current()->ask_ahead(p);
    }

    APIARY_UNSEEN static stack_bounds stack() noexcept { return machine::running() != nullptr ? machine::stack() : real_sync::stack(); }

    APIARY_UNSEEN static unsigned processors() noexcept {
        return machine::current() != nullptr ? machine::current()->processors() : real_sync::processors();
    }
    // Each thread has a processor of its own.
    APIARY_UNSEEN static int processor() noexcept { return static_cast<int>(machine::number_of_running()); }

    APIARY_UNSEEN static std::int64_t now_ns() noexcept {
        machine* const m = machine::current();
        if (m == nullptr) return 0;
        return (machine::running() != nullptr ? m->read_clock() : m->now()) / 1000;
    }

    using random_source = real_sync::random_source;

    template <class T>
    class scoped {
    public:
        template <class... Args>
        explicit scoped(Args&&... args) : value_(std::forward<Args>(args)...) {}
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
    APIARY_UNSEEN static T* current() noexcept {
        return static_cast<T*>(machine::slot(&key<T>));
    }
    template <class T>
    APIARY_UNSEEN static void set_current(T* p) noexcept {
        machine::slot(&key<T>) = p;
    }

    template <class T>
    APIARY_UNSEEN static T& local() noexcept {
        static_assert(std::is_trivially_destructible_v<T>, "nobody calls a destructor");
        return machine::local<T>(&local_key<T>);
    }
    template <void (*F)()>
    APIARY_UNSEEN static void at_thread_exit() {
        machine::at_thread_exit(F);
    }

    APIARY_UNSEEN static void* allocate(std::size_t bytes, std::size_t alignment) {
        static const label what = intern("memory");
        return get(bytes, alignment, what);
    }
    APIARY_UNSEEN static void deallocate(void* p, std::size_t, std::size_t alignment) noexcept { put(p, alignment); }

    template <class T, class... Args>
    static T* create(Args&&... args) {
        const label what = label_of<T>();
        void* const p = get(sizeof(T), alignof(T), what);
        try {
            return ::new (p) T(std::forward<Args>(args)...);
        } catch (...) {
            put(p, alignof(T));
            throw;
        }
    }
    template <class T>
    static void destroy(T* p) noexcept {
        if (p == nullptr) return;
        p->~T();
        put(p, alignof(T));
    }
    template <class T>
    static T* create_array(std::size_t n) {
        const label what = label_of<T[]>();
        auto* const p = static_cast<T*>(get(std::max<std::size_t>(n * sizeof(T), 1), alignof(T), what));
        std::size_t made = 0;
        try {
            for (; made != n; ++made) ::new (p + made) T;
        } catch (...) {
            destroy_array(p, made);
            throw;
        }
        if (the_arena().contains(p)) the_arena().set_stride(p, std::max(sizeof(T), arena::line));
        return p;
    }
    template <class T>
    static void destroy_array(T* p, std::size_t n) noexcept {
        if (p == nullptr) return;
        while (n-- > 0) p[n].~T();
        put(p, alignof(T));
    }

    static constexpr void reach(const char*) noexcept {}
    static constexpr bool recheck(const char*) noexcept { return true; }

    static void law(bool holds, const char* what, site at = site::current()) noexcept {
        if (!holds) [[unlikely]]
            fail(what, at);
    }
    [[noreturn]] static void fail(const char* what, site at = site::current()) noexcept {
        std::fprintf(stderr, "apiary: law broken: %s (%s:%u, %s)\n", what, at.where.file, at.where.line, at.where.function);
        std::abort();
    }

private:
    template <class T>
    static inline const char key = 0;
    template <class T>
    static inline const char local_key = 0;

    template <class T>
    APIARY_UNSEEN static label label_of() {
        static const label what =
            intern(std::string(short_type_name<std::remove_extent_t<T>>()) + (std::is_array_v<T> ? "[]" : ""));
        return what;
    }

    APIARY_UNSEEN static void* get(std::size_t bytes, std::size_t alignment, label what) {
        if (machine::running() == nullptr) return ::operator new(bytes, std::align_val_t{std::max(alignment, arena::line)});
        machine& m = *machine::current();
        return m.allocate(bytes, alignment, what, m.priced().block);
    }
    APIARY_UNSEEN static void put(void* p, std::size_t alignment) noexcept {
        if (machine::running() != nullptr && the_arena().contains(p))
            machine::current()->release(p, machine::current()->priced().block);
        else
            ::operator delete(p, std::align_val_t{std::max(alignment, arena::line)});
    }
};

static_assert(sync_policy<virtual_sync>);
static_assert(sizeof(virtual_sync::mutex) == sizeof(real_sync::mutex));
static_assert(alignof(virtual_sync::mutex) == alignof(real_sync::mutex));
static_assert(sizeof(virtual_sync::condvar) == sizeof(real_sync::condvar));
static_assert(sizeof(virtual_sync::futex) == sizeof(real_sync::futex));

}  // namespace apiary::virt

template <>
inline constexpr bool apiary::recycles_memory<apiary::virt::virtual_sync> = true;
