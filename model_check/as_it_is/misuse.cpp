// What the standard leaves undefined, and most machines let pass: memory orders that an operation cannot have, and mutexes and
// condition variables that are used as they must not be. Each beside what is like it and right.
#include <apiary/check.hpp>

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

// ---- memory orders ------------------------------------------------------------------------------------------------

namespace {
template <class Ask>
void beside_another(Ask ask) {
    std::atomic<int> n{0};
    std::thread a([&] { ask(n); }), b([&] { n.store(1); });
    a.join();
    b.join();
}
void with_a_flag(void (*ask)(std::atomic_flag&)) {
    std::atomic_flag f;
    std::thread a([&] { ask(f); }), b([&] { f.test_and_set(); });
    a.join();
    b.join();
}
struct two_words {
    std::uint64_t a = 0, b = 0;
};
// No constant where the operation is compiled.
volatile std::memory_order found_when_run = std::memory_order_acq_rel;
}  // namespace

APIARY_SCENARIO(orders_that_each_may_have, "load_release") {
    beside_another([](std::atomic<int>& n) {
        int expected = n.load(std::memory_order_consume);
        n.store(2, std::memory_order_release);
        n.compare_exchange_strong(expected, 3, std::memory_order_relaxed, std::memory_order_seq_cst);
        n.compare_exchange_strong(expected, 3, std::memory_order_release, std::memory_order_acquire);
        n.compare_exchange_weak(expected, 3, std::memory_order_acq_rel);
        n.compare_exchange_weak(expected, 3, std::memory_order_release);
        n.fetch_add(1, std::memory_order_consume);
        std::atomic_thread_fence(std::memory_order_consume);
    });
}
APIARY_FAILING_SCENARIO(load_release,
                        "undefined behaviour: load with the order release at model_check/as_it_is/misuse.cpp:") {
    beside_another([](std::atomic<int>& n) { (void)n.load(std::memory_order_release); });
}
APIARY_FAILING_SCENARIO(load_acq_rel, "undefined behaviour: load with the order acq_rel") {
    beside_another([](std::atomic<int>& n) { (void)n.load(std::memory_order_acq_rel); });
}
APIARY_FAILING_SCENARIO(load_by_an_order_found_when_run, "undefined behaviour: load with the order acq_rel") {
    beside_another([](std::atomic<int>& n) { (void)n.load(found_when_run); });
}
APIARY_FAILING_SCENARIO(store_acquire,
                        "undefined behaviour: store with the order acquire at model_check/as_it_is/misuse.cpp:") {
    beside_another([](std::atomic<int>& n) { n.store(2, std::memory_order_acquire); });
}
APIARY_FAILING_SCENARIO(store_consume, "undefined behaviour: store with the order consume") {
    beside_another([](std::atomic<int>& n) { n.store(2, std::memory_order_consume); });
}
APIARY_FAILING_SCENARIO(store_acq_rel, "undefined behaviour: store with the order acq_rel") {
    beside_another([](std::atomic<int>& n) { n.store(2, std::memory_order_acq_rel); });
}
APIARY_FAILING_SCENARIO(
    exchange_fails_release,
    "undefined behaviour: compare_exchange_strong with the failure order release at model_check/as_it_is/misuse") {
    beside_another([](std::atomic<int>& n) {
        int expected = 0;
        n.compare_exchange_strong(expected, 3, std::memory_order_seq_cst, std::memory_order_release);
    });
}
APIARY_FAILING_SCENARIO(exchange_fails_acq_rel,
                        "undefined behaviour: compare_exchange_weak with the failure order acq_rel") {
    beside_another([](std::atomic<int>& n) {
        int expected = 0;
        n.compare_exchange_weak(expected, 3, std::memory_order_acq_rel, std::memory_order_acq_rel);
    });
}
APIARY_FAILING_SCENARIO(wait_release, "undefined behaviour: load with the order release") {
    beside_another([](std::atomic<int>& n) { n.wait(7, std::memory_order_release); });
}
APIARY_FAILING_SCENARIO(flag_is_tested_by_release, "undefined behaviour: load with the order release") {
    with_a_flag([](std::atomic_flag& f) { (void)f.test(std::memory_order_release); });
}
APIARY_FAILING_SCENARIO(flag_is_cleared_by_acquire, "undefined behaviour: store with the order acquire") {
    with_a_flag([](std::atomic_flag& f) { f.clear(std::memory_order_acquire); });
}
APIARY_FAILING_SCENARIO(sixteen_bytes_are_loaded_by_release, "undefined behaviour: load with the order release") {
    alignas(16) two_words both;
    std::thread a([&] { (void)std::atomic_ref(both).load(std::memory_order_release); });
    std::thread b([&] { std::atomic_ref(both).store({1, 2}); });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(store_acquire_before_any_thread, "undefined behaviour: store with the order acquire") {
    std::atomic<int> n{0};
    n.store(1, std::memory_order_acquire);
    std::thread a([&] { n.store(2); });
    a.join();
}

// ---- mutexes ------------------------------------------------------------------------------------------------------

namespace {
template <class First, class Second = void (*)()>
void two_threads(First first, Second second = [] {}) {
    std::thread a(first), b(second);
    a.join();
    b.join();
}
}  // namespace

APIARY_SCENARIO(mutexes_are_used_as_they_may_be, "unlocked_by_another_thread") {
    std::recursive_timed_mutex again;
    std::timed_mutex timed;
    std::shared_mutex shared;
    const auto use = [&] {
        std::mutex own;
        const std::scoped_lock held(again, timed, own);
        apiary::check(again.try_lock() && again.try_lock_for(1ms));
        again.unlock();
        again.unlock();
        const std::shared_lock reads(shared);
    };
    two_threads(use, use);
}
APIARY_FAILING_SCENARIO(unlocked_by_another_thread,
                        "unlock of a mutex that this thread does not hold (unlock at model_") {
    std::mutex m;
    std::atomic<int> turn{0};
    two_threads(
        [&] {
            m.lock();
            turn.store(1);
            while (turn.load() != 2) {
            }
            m.unlock();
        },
        [&] {
            if (turn.load() == 1) m.unlock();
            turn.store(2);
        });
}
APIARY_FAILING_SCENARIO(unlocked_by_nobody_that_has_it, "unlock of a mutex that this thread does not hold") {
    std::mutex m;
    two_threads([&] { m.unlock(); });
}
APIARY_FAILING_SCENARIO(locked_twice, "deadlock") {
    std::mutex m;
    two_threads([&] {
        const std::lock_guard held(m);
        m.lock();
    });
}
APIARY_FAILING_SCENARIO(tried_by_its_owner, "undefined behaviour: try_lock of a mutex that this thread holds already") {
    std::mutex m;
    two_threads([&] {
        const std::lock_guard held(m);
        apiary::check(!m.try_lock());
    });
}
APIARY_FAILING_SCENARIO(tried_for_a_time_by_its_owner, "of a mutex that this thread holds already") {
    std::timed_mutex m;
    two_threads([&] {
        const std::lock_guard held(m);
        apiary::check(!m.try_lock_for(1ms));
    });
}
APIARY_FAILING_SCENARIO(tried_shared_by_its_owner, "of a mutex that this thread holds already") {
    std::shared_mutex m;
    two_threads([&] {
        const std::lock_guard held(m);
        apiary::check(!m.try_lock_shared());
    });
}
APIARY_FAILING_SCENARIO(tried_by_a_reader, "of a mutex that this thread holds already") {
    std::shared_mutex m;
    two_threads([&] {
        const std::shared_lock held(m);
        apiary::check(!m.try_lock());
    });
}
APIARY_FAILING_SCENARIO(unlocked_by_no_reader, "unlock of a lock that this thread does not hold") {
    std::shared_mutex m;
    two_threads([&] { m.unlock_shared(); });
}

APIARY_FAILING_SCENARIO(read_twice_by_one_thread,
                        "undefined behaviour: lock_shared of a mutex that this thread holds already") {
    std::shared_mutex m;
    two_threads([&] { const std::shared_lock once(m), twice(m); });
}
// C's own calls may be made by a thread that has the lock.
APIARY_SCENARIO(c_answers_its_owner, "tried_by_its_owner") {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    const auto ask = [&] {
        ::pthread_mutex_lock(&m);
        apiary::check(::pthread_mutex_trylock(&m) == EBUSY);
        ::pthread_mutex_unlock(&m);
        ::pthread_rwlock_rdlock(&l);
        ::pthread_rwlock_rdlock(&l);
        apiary::check(::pthread_rwlock_trywrlock(&l) == EBUSY);
        ::pthread_rwlock_unlock(&l);
        ::pthread_rwlock_unlock(&l);
    };
    two_threads(ask, ask);
}
APIARY_FAILING_SCENARIO(read_by_one_thread_eight_times,
                        "refused: a lock that one thread holds shared more than seven times (lock_shared at model_check/") {
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    const auto reads = [&] {
        for (int i = 0; i != 8; ++i) ::pthread_rwlock_rdlock(&l);
        for (int i = 0; i != 8; ++i) ::pthread_rwlock_unlock(&l);
    };
    two_threads(reads, reads);
}

// A thread that ends may own none ([thread.mutex.class]); nobody else could give it back.
APIARY_FAILING_SCENARIO(thread_ends_with_a_mutex,
                        "undefined behaviour: thread 1 ends and holds a mutex (lock at model_check/as_it_is") {
    std::mutex m;
    two_threads([&] { m.lock(); });
}
APIARY_FAILING_SCENARIO(thread_ends_with_a_mutex_that_it_tried,
                        "undefined behaviour: thread 1 ends and holds a mutex") {
    std::mutex m;
    two_threads([&] { (void)m.try_lock(); });
}
APIARY_FAILING_SCENARIO(thread_ends_as_a_reader, "undefined behaviour: thread 1 ends and holds a mutex") {
    std::shared_mutex m;
    two_threads([&] { m.lock_shared(); });
}
APIARY_FAILING_SCENARIO(thread_ends_with_a_recursive_mutex, "undefined behaviour: thread 1 ends and holds a mutex") {
    std::recursive_mutex m;
    two_threads([&] {
        m.lock();
        const std::lock_guard held(m);
    });
}
APIARY_FAILING_SCENARIO(scenario_ends_with_a_mutex, "undefined behaviour: thread 0 ends and holds a mutex") {
    static std::mutex m;
    two_threads([] { const std::lock_guard held(m); });
    m.lock();
}
APIARY_SCENARIO(mutex_ends_behind_its_unlock, "mutex_ends_while_it_is_held") {
    two_threads([] {
        const auto m = std::make_unique<std::mutex>();
        m->lock();
        m->unlock();
    });
}
APIARY_FAILING_SCENARIO(mutex_ends_while_it_is_held,
                        "undefined behaviour: a mutex ends that thread 1 holds (lock at model_check/as_it_is") {
    two_threads([] {
        const auto m = std::make_unique<std::mutex>();
        m->lock();
    });
}
APIARY_FAILING_SCENARIO(mutex_ends_while_another_thread_holds_it,
                        "undefined behaviour: a mutex ends that thread 1 holds") {
    auto m = std::make_unique<std::mutex>();
    std::atomic<bool> locked{false}, gone{false};
    std::thread a([&] {
        m->lock();
        locked.store(true);
        while (!gone.load()) {
        }
    });
    while (!locked.load()) {
    }
    m.reset();
    gone.store(true);
    a.join();
}
APIARY_FAILING_SCENARIO(mutex_is_made_anew_while_it_is_held, "undefined behaviour: a mutex ends that thread 1 holds") {
    std::mutex m;
    two_threads([&] {
        m.lock();
        new (&m) std::mutex;
        m.lock();
        m.unlock();
    });
}
APIARY_FAILING_SCENARIO(mutex_of_the_c_library_is_destroyed_while_held,
                        "undefined behaviour: a mutex ends that thread 1 holds") {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    two_threads([&] {
        ::pthread_mutex_lock(&m);
        ::pthread_mutex_destroy(&m);
    });
}
APIARY_FAILING_SCENARIO(shared_mutex_ends_while_it_is_read, "undefined behaviour: a mutex ends that thread 1 holds") {
    two_threads([] {
        const auto m = std::make_unique<std::shared_mutex>();
        m->lock_shared();
    });
}

// ---- condition variables ------------------------------------------------------------------------------------------

namespace {
// Two wait at once, or one after the other.
void wait_by(std::mutex& first, std::mutex& second, bool at_once) {
    std::condition_variable told;
    std::atomic<int> turn{0};
    const auto wait = [&](std::mutex& m, int mine) {
        std::unique_lock held(m);
        if (!at_once)
            while (turn.load() != mine) {
            }
        (void)told.wait_for(held, 1ms);
        turn.store(mine + 1);
    };
    two_threads([&] { wait(first, 0); }, [&] { wait(second, 1); });
}
}  // namespace

APIARY_SCENARIO(two_wait_with_one_mutex, "two_wait_with_two_mutexes") {
    std::mutex m;
    wait_by(m, m, true);
}
APIARY_SCENARIO(two_wait_with_two_mutexes_one_after_the_other, "two_wait_with_two_mutexes") {
    std::mutex m, o;
    wait_by(m, o, false);
}
APIARY_FAILING_SCENARIO(two_wait_with_two_mutexes,
                        "undefined behaviour: threads 1 and 2 wait for one condition variable with different mutexes") {
    std::mutex m, o;
    wait_by(m, o, true);
}
APIARY_FAILING_SCENARIO(waits_without_the_mutex, "unlock of a mutex that this thread does not hold") {
    std::mutex m;
    std::condition_variable told;
    two_threads([&] {
        std::unique_lock held(m);
        m.unlock();
        told.wait(held);
        held.release();
    });
}
namespace {
template <class End>
void one_waits(End end) {
    std::mutex m;
    auto told = std::make_unique<std::condition_variable>();
    bool waits = false;
    std::thread a([&] {
        std::unique_lock held(m);
        waits = true;
        (void)told->wait_for(held, 1ms);
    });
    std::unique_lock held(m);
    if (waits) end(told);
    held.unlock();
    a.join();
}
}  // namespace
APIARY_SCENARIO(condition_ends_behind_its_notify, "condition_ends_while_a_thread_waits") {
    one_waits([](auto& told) {
        told->notify_all();
        told.reset();
    });
}
APIARY_FAILING_SCENARIO(condition_ends_while_a_thread_waits,
                        "undefined behaviour: a condition variable ends that thread 1 waits for") {
    one_waits([](auto& told) { told.reset(); });
}
APIARY_FAILING_SCENARIO(condition_is_made_anew_while_a_thread_waits,
                        "undefined behaviour: a condition variable ends that thread 1 waits for") {
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    static bool waits = false;
    two_threads(
        [] {
            ::pthread_mutex_lock(&m);
            waits = true;
            ::pthread_cond_wait(&c, &m);
            ::pthread_mutex_unlock(&m);
        },
        [] {
            ::pthread_mutex_lock(&m);
            if (waits) ::pthread_cond_init(&c, nullptr);
            ::pthread_cond_signal(&c);
            ::pthread_mutex_unlock(&m);
        });
}
