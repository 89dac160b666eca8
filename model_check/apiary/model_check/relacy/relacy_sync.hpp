// relacy_sync: the policy under which a structure runs in the Relacy Race Detector.
//
// What blocks here blocks for real: a parked or awaiting thread is not scheduled until its word changes, so
// a lost wake is a deadlock that Relacy reports, and nobody spins. Blocking adds no happens-before of its
// own; only the orders on the words count.
//
//   futex        compares with the newest value and blocks in one step; wakes for no reason in the random modes.
//   parker       a word with acquire and release exchanges, and blocking on it. park() never returns
//                spuriously; park_until() may time out at any moment, and the virtual clock then stands
//                at its deadline.
//   condvar      Relacy's: spurious wake-ups in the random modes.
//   mutex        Relacy's: try_lock may fail spuriously.
//   random_source, weak compare-exchange: the engine decides.
//   heap         create and destroy go through Relacy: leak, double free, use after free; so do scoped
//                and allocate. A member that is no atomic, cell or mutex is not watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>

#include <apiary/model_check/relacy/relacy_atomic.hpp>
#include <apiary/sync/sync_policy.hpp>

namespace apiary::model {

struct relacy_sync {
    static constexpr bool checked = true;
    static constexpr std::int64_t forever = INT64_MAX;

    using site = std::source_location;

    template <class T>
    using atomic = relacy_detail::atomic<T>;
    template <class T>
    using cell = relacy_detail::cell<T>;

    static void fence(std::memory_order order, site at = site::current()) { relacy_detail::fence(order, at); }
    // Relacy has no asymmetric fences. Both are seq_cst here, which is too strong between light ones: what rests on that passes
    // here, and only the explorer sees it.
    static void fence_light(site at = site::current()) {
        relacy_detail::fence(std::memory_order_seq_cst, at, "fence_light");
    }
    static void fence_heavy(site at = site::current()) {
        relacy_detail::fence(std::memory_order_seq_cst, at, "fence_heavy");
    }

    class mutex {
    public:
        void lock(site at = site::current()) {
            const relacy_detail::recorder record(at, "lock", this);
            relacy_detail::the_world.asked(law_kind::deadlock);
            impl_.lock(relacy_detail::place(at));
            close(record);
        }
        bool try_lock(site at = site::current()) {
            const relacy_detail::recorder record(at, "try_lock", this);
            const bool got = impl_.try_lock(relacy_detail::place(at));
            close(record, got ? "-> true" : "-> false");
            return got;
        }
        void unlock(site at = site::current()) {
            const relacy_detail::recorder record(at, "unlock", this);
            impl_.unlock(relacy_detail::place(at));
            close(record);
        }

    private:
        friend struct relacy_sync;
        rl::mutex impl_;
    };

    class lock {
    public:
        explicit lock(mutex& m, site at = site::current()) : mutex_(m), at_(at) { mutex_.lock(at); }
        ~lock() { mutex_.unlock(at_); }
        lock(const lock&) = delete;
        lock& operator=(const lock&) = delete;

    private:
        friend struct relacy_sync;
        mutex& mutex_;
        const site at_;
    };

    class condvar {
    public:
        void wait(lock& l, site at = site::current()) {
            {
                const relacy_detail::recorder enters(at, "wait", this);
                close(enters, "lets the mutex go");
            }
            const relacy_detail::recorder record(at, "wait", this);
            relacy_detail::the_world.asked(law_kind::deadlock);
            held adapter{l.mutex_.impl_};
            impl_.wait(adapter, relacy_detail::place(at));
            close(record, "awake, holds the mutex");
        }
        void notify_one(site at = site::current()) {
            const relacy_detail::recorder record(at, "notify_one", this);
            impl_.notify_one(relacy_detail::place(at));
            close(record);
        }
        void notify_all(site at = site::current()) {
            const relacy_detail::recorder record(at, "notify_all", this);
            impl_.notify_all(relacy_detail::place(at));
            close(record);
        }

    private:
        struct held {
            rl::mutex& m;
            void lock(rl::debug_info_param info) { m.lock(info); }
            void unlock(rl::debug_info_param info) { m.unlock(info); }
        };
        rl::condition_variable_std<condvar> impl_;
    };

    class futex : public atomic<std::uint32_t> {
    public:
        explicit futex(std::uint32_t value) : atomic<std::uint32_t>(value) {}

        bool wait(std::uint32_t expected, std::int64_t deadline_ns, site at = site::current()) {
            const relacy_detail::recorder record(at, "futex wait", this);
            const bool blocks = is_now(expected, at);
            const bool late = relacy_detail::the_world.now >= deadline_ns;
            close(record, !blocks ? "the word has changed" : late ? "the deadline has passed" : "blocks");
            if (deadline_ns == forever) relacy_detail::the_world.asked(law_kind::deadlock);
            if (!blocks || late) return !blocks;
            const relacy_detail::recorder blocked(at, "futex wait", this);
            const rl::unpark_reason why = sleeping_.block(deadline_ns != forever, at, true);
            if (why == rl::unpark_reason_timeout && relacy_detail::the_world.now < deadline_ns)
                relacy_detail::the_world.now = deadline_ns;
            close(blocked, why == rl::unpark_reason_timeout    ? "times out"
                           : why == rl::unpark_reason_spurious ? "wakes for no reason"
                                                               : "wakes up");
            return why != rl::unpark_reason_timeout;
        }
        void wake_one(site at = site::current()) {
            const relacy_detail::recorder record(at, "wake_one", this);
            reschedule(at);
            sleeping_.wake_one(at);
            close(record);
        }
        void wake_all(site at = site::current()) {
            const relacy_detail::recorder record(at, "wake_all", this);
            reschedule(at);
            sleeping_.wake_all(at);
            close(record);
        }
        void store(std::uint32_t, std::memory_order, site = site::current()) = delete;  // explorer_sync has none

    private:
        // Another thread may come between the change of the word and the wake.
        void reschedule(const site& at) const { (void)is_now(0, at); }

        relacy_detail::waiters sleeping_;
    };

    // What a parker promises and nothing more: impl/apiary/parking/parker.hpp is checked against it, and large checks use it
    // in that one's place.
    class parker {
    public:
        parker() { word_.store({0, 0}, rl::mo_relaxed, relacy_detail::place(site::current())); }

        void park(site at = site::current()) { park_until(forever, at); }

        bool park_until(std::int64_t deadline_ns, site at = site::current()) {
            if (deadline_ns == forever) relacy_detail::the_world.asked(law_kind::deadlock);
            for (;;) {
                const relacy_detail::recorder record(at, "park", this);
                stamped seen{1, 0};
                const bool token = word_.compare_exchange(rl::bool_t<false>(), seen, stamped{0, 0}, rl::mo_acquire,
                                                          rl::mo_relaxed, relacy_detail::place(at));
                if (token || relacy_detail::the_world.now >= deadline_ns) {
                    close(record, token ? "takes the token" : "the deadline has passed");
                    return token;
                }
                close(record, "no token, blocks");
                const relacy_detail::recorder blocked(at, "park", this);
                const rl::unpark_reason why = waiting_.block(deadline_ns != forever, at);
                if (why == rl::unpark_reason_timeout && relacy_detail::the_world.now < deadline_ns)
                    relacy_detail::the_world.now = deadline_ns;
                close(blocked, why == rl::unpark_reason_timeout ? "times out" : "wakes up");
            }
        }

        void unpark(site at = site::current()) {
            const relacy_detail::recorder record(at, "unpark", this);
            const stamped before =
                word_.rmw(rl::rmw_type_t<rl::rmw_type_swap>(), stamped{1, 0}, rl::mo_release, relacy_detail::place(at));
            close(record, before.value != 0 ? "the token was there already" : "leaves the token");
            waiting_.wake_all(at);
        }

    private:
        using stamped = relacy_detail::stamped<unsigned>;
        rl::generic_atomic<stamped, false> word_;
        relacy_detail::waiters waiting_;
    };

    template <class T, class Done>
    static T spin_until(const atomic<T>& a, Done done, site at = site::current()) {
        relacy_detail::the_world.asked(law_kind::deadlock);
        for (;;) {
            const T value = a.load(std::memory_order_acquire, at, "spin_until");
            if (done(value)) return value;
            a.wait_for_change(value, at);
        }
    }

    static void relax(site at = site::current()) { rl::yield(1, relacy_detail::place(at)); }
    static void yield(site = site::current()) {}
    static void prefetch(const void*, site = site::current()) {}
    static void prefetch_to_write(const void*, site = site::current()) {}
    static stack_bounds stack() { return {}; }

    // A virtual clock: it moves when somebody times out.
    static std::int64_t now_ns() { return relacy_detail::the_world.now; }
    static void sleep_ns(std::int64_t ns, site = site::current()) {
        std::int64_t& now = relacy_detail::the_world.now;
        if (ns > 0) now = ns < forever - now ? now + ns : forever;
    }

    class random_source {
    public:
        explicit random_source(std::uint64_t) {}
        std::uint32_t below(std::uint32_t n, site = site::current()) { return n < 2 ? 0 : rl::rand(n); }
    };

    // On Relacy's heap: on a modelled stack the next frame would write over what tells that the object has ended.
    template <class T>
    class scoped {
    public:
        template <class... Args>
        explicit scoped(Args&&... args)
            : object_(new(take_memory(sizeof(T), alignof(T), "scoped")) T(std::forward<Args>(args)...)) {}
        ~scoped() { destroy(object_); }
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
        return static_cast<T*>(thread_slot(&slot_key<T>));
    }
    template <class T>
    static void set_current(T* p) {
        thread_slot(&slot_key<T>) = p;
    }

    // The size stands in front of the bytes.
    static void* allocate(std::size_t bytes, std::size_t alignment) {
        const std::size_t aligned = alignment > alignof(bytes_in_front) ? alignment : alignof(bytes_in_front);
        const std::size_t front = (sizeof(bytes_in_front) + aligned - 1) / aligned * aligned;
        auto* p = static_cast<char*>(take_memory(front + bytes, aligned, "allocate")) + front;
        new (p - sizeof(bytes_in_front)) bytes_in_front{p - front, bytes, alignment};
        return p;
    }
    static void deallocate(void* p, std::size_t bytes, std::size_t alignment, site at = site::current()) {
        if (p == nullptr) return;
        const bytes_in_front& front = static_cast<bytes_in_front*>(p)[-1];
        if (front.bytes != bytes || front.alignment != alignment)
            fail("bad deallocate: other bytes or another alignment than were allocated", at);
        give_memory(front.begin, alignment > alignof(bytes_in_front) ? alignment : alignof(bytes_in_front));
    }

    template <class T, class... Args>
    static T* create(Args&&... args) {
        T* object = new (take_memory(sizeof(T), alignof(T), "create")) T(std::forward<Args>(args)...);
        return object;
    }
    template <class T>
    static void destroy(T* p) {
        if (p == nullptr) return;
        p->~T();
        give_memory(p, alignof(T));
    }
    template <class T>
    static T* create_array(std::size_t n) {
        T* first = static_cast<T*>(take_memory(n * sizeof(T), alignof(T), "create_array"));
        for (std::size_t i = 0; i != n; ++i) new (first + i) T;
        return first;
    }
    template <class T>
    static void destroy_array(T* p, std::size_t n) {
        if (p == nullptr) return;
        for (std::size_t i = 0; i != n; ++i) p[i].~T();
        give_memory(p, alignof(T));
    }

    static void reach(const char* name, site at = site::current()) {
        if (rl::ctx().invariant_executing) return;
        relacy_detail::the_world.count_reach(name);
        const relacy_detail::recorder record(at, "reach", nullptr, relacy_detail::recorder::remark);
        close(record, name);
    }

    static bool recheck(const char* name) { return relacy_detail::the_world.recheck(name); }

    static void law(bool holds, const char* what, site at = site::current()) {
        relacy_detail::the_world.asked(law_kind::check);
        if (!holds) fail(what, at);
    }

    [[noreturn]] static void fail(const char* what, site at = site::current()) {
        const relacy_detail::recorder record(at, "fail", nullptr, relacy_detail::recorder::remark);
        relacy_detail::end_execution(what, rl::test_result_user_assert_failed, at);
    }

private:
    struct bytes_in_front {
        void* begin;
        std::size_t bytes, alignment;
    };

    template <class T>
    static inline const char slot_key = 0;
    static void*& thread_slot(const void* key) {
        void** const slot = relacy_detail::the_world.thread_slot(key);
        if (slot == nullptr) fail("more types with a current() than the engine has places for");
        return *slot;
    }

    static void close(const relacy_detail::recorder& record, const char* text = "") {
        if (record) relacy_detail::text_writer(record.close().text) << text;
    }

    // Relacy's blocks are aligned to 16. For more, the block's address stands in front of the object.
    static void* take_memory(std::size_t size, std::size_t alignment, const char* what) {
        const site at = site::current();
        relacy_detail::the_world.asked(law_kind::lifetime);
        const bool wide = alignment > rl::alignment;
        void* block = rl::ctx().alloc(wide ? size + alignment + sizeof(void*) : size, false,
                                      rl::debug_info(what, at.file_name(), at.line()));
        if (!wide) return block;
        const std::uintptr_t lowest = reinterpret_cast<std::uintptr_t>(block) + sizeof(void*);
        void** object = reinterpret_cast<void**>((lowest + alignment - 1) / alignment * alignment);
        object[-1] = block;
        return object;
    }
    static void give_memory(void* p, std::size_t alignment) {
        const site at = site::current();
        rl::ctx().free(alignment > rl::alignment ? static_cast<void**>(p)[-1] : p, false, relacy_detail::place(at));
    }
};

static_assert(sync_policy<relacy_sync>);

}  // namespace apiary::model
