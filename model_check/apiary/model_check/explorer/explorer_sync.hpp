// explorer_sync: the policy under which the explorer sees every operation. The same header that ships with
// real_sync is checked with this one.
//
// When to use it. In checks, through run_explorer. When not: with real threads; every modelled thread is a
// fiber of one thread, and an operation outside an execution is an error.
//
// Limits. Atomics hold trivially copyable values of at most eight bytes. A failed law, a race or a deadlock
// ends the execution where it is: destructors of the modelled threads do not run.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <apiary/model_check/explorer/api.hpp>
#include <apiary/sync/sync_policy.hpp>

namespace apiary::model {

struct explorer_sync {
    static constexpr bool checked = true;

    struct site {
        explorer::code_place where;
        static constexpr site current(explorer::code_place at = explorer::code_place::current()) noexcept {
            return {at};
        }
    };

    template <class T>
    class atomic {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "the explorer's atomics are words");

    public:
        atomic() noexcept { explorer::construct_atomic(o_, false, 0); }
        explicit atomic(T value) noexcept { explorer::construct_atomic(o_, true, word(value)); }
        ~atomic() { explorer::object_ends(o_); }
        atomic(const atomic&) = delete;
        atomic& operator=(const atomic&) = delete;

        T load(std::memory_order order, site at = site::current()) const {
            return value(explorer::load(o_, order, at.where));
        }
        void store(T v, std::memory_order order, site at = site::current()) {
            explorer::store(o_, word(v), order, at.where);
        }
        T exchange(T v, std::memory_order order, site at = site::current()) {
            return change(order, at, "exchange", [v](T) { return v; });
        }
        bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                   site at = site::current()) {
            return compare_exchange(expected, desired, success, failure, true, at);
        }
        bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                     site at = site::current()) {
            return compare_exchange(expected, desired, success, failure, false, at);
        }
        T fetch_add(T v, std::memory_order order, site at = site::current()) {
            return change(order, at, "fetch_add", [v](T old) { return static_cast<T>(old + v); });
        }
        T fetch_sub(T v, std::memory_order order, site at = site::current()) {
            return change(order, at, "fetch_sub", [v](T old) { return static_cast<T>(old - v); });
        }
        T fetch_or(T v, std::memory_order order, site at = site::current()) {
            return change(order, at, "fetch_or", [v](T old) { return static_cast<T>(old | v); });
        }
        T fetch_and(T v, std::memory_order order, site at = site::current()) {
            return change(order, at, "fetch_and", [v](T old) { return static_cast<T>(old & v); });
        }

    private:
        friend struct explorer_sync;

        static std::uint64_t word(T v) {
            std::uint64_t w = 0;
            std::memcpy(&w, &v, sizeof v);
            return w;
        }
        static T value(std::uint64_t w) {
            T v;
            std::memcpy(&v, &w, sizeof v);
            return v;
        }
        template <class F>
        T change(std::memory_order order, const site& at, const char* operation, F f) {
            const explorer::change to{[](const void* closure, std::uint64_t old) {
                                          return word((*static_cast<const F*>(closure))(value(old)));
                                      },
                                      &f};
            return value(explorer::read_modify_write(o_, to, order, at.where, operation));
        }
        bool compare_exchange(T& expected, T desired, std::memory_order success, std::memory_order failure, bool weak,
                              const site& at) {
            std::uint64_t seen = word(expected);
            if (explorer::compare_exchange(o_, seen, word(desired), success, failure, weak, at.where)) return true;
            expected = value(seen);
            return false;
        }

        explorer::object o_;
    };

    static void fence(std::memory_order order, site at = site::current()) { explorer::fence(order, at.where); }
    static void fence_light(site at = site::current()) { explorer::fence_light(at.where); }
    static void fence_heavy(site at = site::current()) { explorer::fence_heavy(at.where); }

    template <class T>
    class cell {
    public:
        cell() { explorer::construct_cell(o_, false); }
        explicit cell(T value) : value_(std::move(value)) { explorer::construct_cell(o_, true); }
        ~cell() { explorer::object_ends(o_); }
        cell(const cell&) = delete;
        cell& operator=(const cell&) = delete;

        const T& read(site at = site::current()) const {
            explorer::read_cell(o_, at.where, number(value_).get());
            return value_;
        }
        void write(T value, site at = site::current()) {
            explorer::write_cell(o_, at.where, number(value).get());
            value_ = std::move(value);
        }
        T take(site at = site::current()) {
            explorer::read_cell(o_, at.where, number(value_).get());
            explorer::write_cell(o_, at.where, nullptr);
            return std::move(value_);
        }

    private:
        // What a trace shows of a value.
        struct shown {
            bool known;
            std::uint64_t value;
            [[nodiscard]] const std::uint64_t* get() const { return known ? &value : nullptr; }
        };
        static shown number(const T& v) {
            if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
                return {true, static_cast<std::uint64_t>(v)};
            else if constexpr (std::is_pointer_v<T>)
                return {true, reinterpret_cast<std::uintptr_t>(v)};
            else
                return {false, 0};
        }

        explorer::object o_;
        T value_{};
    };

    class mutex {
    public:
        mutex() { explorer::construct_blocker(o_); }
        ~mutex() {
            explorer::lock_ends(o_);
            explorer::object_ends(o_);
        }
        mutex(const mutex&) = delete;
        mutex& operator=(const mutex&) = delete;
        void lock(site at = site::current()) { explorer::lock(o_, at.where); }
        bool try_lock(site at = site::current()) { return explorer::try_lock(o_, at.where); }
        void unlock(site at = site::current()) { explorer::unlock(o_, at.where); }

    private:
        friend struct explorer_sync;
        explorer::object o_;
    };

    class lock {
    public:
        explicit lock(mutex& m, site at = site::current()) : mutex_(m), at_(at) { explorer::lock(m.o_, at.where); }
        ~lock() { explorer::unlock(mutex_.o_, at_.where); }
        lock(const lock&) = delete;
        lock& operator=(const lock&) = delete;

    private:
        friend struct explorer_sync;
        mutex& mutex_;
        site at_;
    };

    class condvar {
    public:
        condvar() { explorer::construct_blocker(o_); }
        ~condvar() { explorer::object_ends(o_); }
        condvar(const condvar&) = delete;
        condvar& operator=(const condvar&) = delete;
        void wait(lock& l, site at = site::current()) { explorer::wait(o_, l.mutex_.o_, at.where); }
        void notify_one(site at = site::current()) { explorer::notify_one(o_, at.where); }
        void notify_all(site at = site::current()) { explorer::notify_all(o_, at.where); }

    private:
        explorer::object o_;
    };

    // The program's word is the lower half of the location; every change of it leaves the upper half, in which the
    // explorer keeps the waiters. That is why there is no store: it would have to be a read-modify-write.
    class futex {
    public:
        explicit futex(std::uint32_t value) { explorer::construct_atomic(o_, true, value); }
        ~futex() { explorer::object_ends(o_); }
        futex(const futex&) = delete;
        futex& operator=(const futex&) = delete;

        std::uint32_t load(std::memory_order order, site at = site::current()) const {
            return word(explorer::load(o_, order, at.where));
        }
        std::uint32_t exchange(std::uint32_t v, std::memory_order order, site at = site::current()) {
            return change(order, at, "exchange", [v](std::uint32_t) { return v; });
        }
        std::uint32_t fetch_add(std::uint32_t v, std::memory_order order, site at = site::current()) {
            return change(order, at, "fetch_add", [v](std::uint32_t old) { return old + v; });
        }
        std::uint32_t fetch_sub(std::uint32_t v, std::memory_order order, site at = site::current()) {
            return change(order, at, "fetch_sub", [v](std::uint32_t old) { return old - v; });
        }
        std::uint32_t fetch_or(std::uint32_t v, std::memory_order order, site at = site::current()) {
            return change(order, at, "fetch_or", [v](std::uint32_t old) { return old | v; });
        }
        std::uint32_t fetch_and(std::uint32_t v, std::memory_order order, site at = site::current()) {
            return change(order, at, "fetch_and", [v](std::uint32_t old) { return old & v; });
        }
        bool compare_exchange_weak(std::uint32_t& expected, std::uint32_t desired, std::memory_order success,
                                   std::memory_order failure, site at = site::current()) {
            return compare_exchange(expected, desired, success, failure, true, at);
        }
        bool compare_exchange_strong(std::uint32_t& expected, std::uint32_t desired, std::memory_order success,
                                     std::memory_order failure, site at = site::current()) {
            return compare_exchange(expected, desired, success, failure, false, at);
        }

        // A timed wait may give up (bounds: timeouts), any other wakes for no reason (bounds: spurious_wakes).
        bool wait(std::uint32_t expected, std::int64_t deadline_ns, site at = site::current()) {
            std::int64_t& now = explorer::thread_clock();
            if (now >= deadline_ns) return load(std::memory_order_relaxed) != expected;
            if (explorer::futex_wait(o_, expected, deadline_ns != forever, at.where)) return true;
            now = deadline_ns;
            return false;
        }
        void wake_one(site at = site::current()) { explorer::futex_wake(o_, false, at.where); }
        void wake_all(site at = site::current()) { explorer::futex_wake(o_, true, at.where); }

    private:
        static std::uint32_t word(std::uint64_t w) { return static_cast<std::uint32_t>(w); }
        template <class F>
        struct keep_upper {
            static std::uint64_t of(const void* f, std::uint64_t old) {
                return (old & ~std::uint64_t{UINT32_MAX}) | (*static_cast<const F*>(f))(word(old));
            }
        };
        template <class F>
        std::uint32_t change(std::memory_order order, const site& at, const char* operation, F f) {
            return word(explorer::read_modify_write(o_, {keep_upper<F>::of, &f}, order, at.where, operation));
        }
        bool compare_exchange(std::uint32_t& expected, std::uint32_t desired, std::memory_order success,
                              std::memory_order failure, bool weak, const site& at) {
            const auto f = [desired](std::uint32_t) { return desired; };
            std::uint64_t seen = expected;
            if (explorer::compare_exchange(o_, seen, {keep_upper<decltype(f)>::of, &f}, UINT32_MAX, success, failure,
                                           weak, at.where))
                return true;
            expected = word(seen);
            return false;
        }

        explorer::object o_;
    };

    // What a parker promises and nothing more: impl/apiary/parking/parker.hpp is checked against it, and large checks use it
    // in that one's place.
    class parker {
    public:
        parker() { explorer::construct_blocker(o_); }
        ~parker() { explorer::object_ends(o_); }
        parker(const parker&) = delete;
        parker& operator=(const parker&) = delete;
        void park(site at = site::current()) { (void)explorer::park(o_, false, at.where); }
        bool park_until(std::int64_t deadline_ns, site at = site::current()) {
            std::int64_t& now = explorer::thread_clock();
            if (now >= deadline_ns) return explorer::take_token(o_, at.where);
            if (explorer::park(o_, deadline_ns != forever, at.where)) return true;
            now = deadline_ns;
            return false;
        }
        void unpark(site at = site::current()) { explorer::unpark(o_, at.where); }

    private:
        explorer::object o_;
    };

    static constexpr std::int64_t forever = INT64_MAX;

    template <class T, class Done>
    static T spin_until(const atomic<T>& a, Done done, site at = site::current()) {
        const explorer::predicate holds{
            [](const void* closure, std::uint64_t w) {
                return static_cast<bool>((*static_cast<const Done*>(closure))(atomic<T>::value(w)));
            },
            &done};
        return atomic<T>::value(explorer::spin_until(a.o_, holds, at.where));
    }

    static void relax(site = site::current()) noexcept {}
    static void yield(site = site::current()) noexcept {}
    static void prefetch(const void*, site = site::current()) noexcept {}
    static void prefetch_to_write(const void*, site = site::current()) noexcept {}
    static stack_bounds stack() noexcept { return {}; }

    // A clock of the thread's own, which moves when a deadline of the thread passes.
    static std::int64_t now_ns() { return explorer::thread_clock(); }
    static void sleep_ns(std::int64_t ns, site = site::current()) {
        std::int64_t& now = explorer::thread_clock();
        if (ns > 0) now = ns < forever - now ? now + ns : forever;
    }

    // Every number is a choice, in the threads; 0 in before() and after().
    class random_source {
    public:
        explicit random_source(std::uint64_t) noexcept {}
        std::uint32_t below(std::uint32_t n, site at = site::current()) { return explorer::choose(n, at.where); }
    };

    // Not on the modelled stack, whose next frame would write over it: an engine knows an object by what stands in it.
    template <class T>
    class scoped {
    public:
        template <class... Args>
        explicit scoped(Args&&... args)
            : object_(new(explorer::allocate(sizeof(T), alignof(T), typeid(T).name(), explorer::storage::scope))
                          T(std::forward<Args>(args)...)) {}
        ~scoped() {
            explorer::before_destroy(object_, explorer::storage::scope);
            object_->~T();
            explorer::release(object_);
        }
        scoped(const scoped&) = delete;
        scoped& operator=(const scoped&) = delete;

        T& operator*() noexcept { return *object_; }
        const T& operator*() const noexcept { return *object_; }
        T* operator->() noexcept { return object_; }
        const T* operator->() const noexcept { return object_; }

    private:
        T* const object_;
    };

    template <class T>
    static T* current() {
        return static_cast<T*>(explorer::thread_slot(&slot_key<T>));
    }
    template <class T>
    static void set_current(T* p) {
        explorer::thread_slot(&slot_key<T>) = p;
    }

    static void* allocate(std::size_t bytes, std::size_t alignment) {
        return explorer::allocate(bytes, alignment, "block of bytes", explorer::storage::raw);
    }
    static void deallocate(void* p, std::size_t bytes, std::size_t alignment) {
        if (p == nullptr) return;
        explorer::before_deallocate(p, bytes, alignment);
        explorer::release(p);
    }

    template <class T, class... Args>
    static T* create(Args&&... args) {
        return new (explorer::allocate(sizeof(T), alignof(T), typeid(T).name(), explorer::storage::heap))
            T(std::forward<Args>(args)...);
    }
    template <class T>
    static void destroy(T* p) {
        if (p == nullptr) return;
        explorer::before_destroy(p, explorer::storage::heap);
        p->~T();
        explorer::release(p);
    }
    template <class T>
    static T* create_array(std::size_t n) {
        T* p =
            static_cast<T*>(explorer::allocate(sizeof(T) * n, alignof(T), typeid(T[]).name(), explorer::storage::heap));
        for (std::size_t i = 0; i < n; ++i) new (p + i) T;
        return p;
    }
    template <class T>
    static void destroy_array(T* p, std::size_t n) {
        if (p == nullptr) return;
        explorer::before_destroy(p, explorer::storage::heap);
        for (std::size_t i = n; i > 0; --i) p[i - 1].~T();
        explorer::release(p);
    }

    static void reach(const char* name) { explorer::reach(name); }
    static bool recheck(const char* name) { return explorer::look_again(name); }

    static void law(bool holds, const char* what, site at = site::current()) {
        explorer::law_asked();
        if (!holds) fail(what, at);
    }
    [[noreturn]] static void fail(const char* what, site at = site::current()) { explorer::fail(what, at.where); }

private:
    template <class T>
    static inline const char slot_key = 0;
};

static_assert(sync_policy<explorer_sync>);

}  // namespace apiary::model
