// Ordinary C++ that waits: mutexes, condition variables, std::atomic::wait, loops; and the same with the mistake in it.
#include <apiary/check.hpp>

#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

// ---- mutex, condition variable ------------------------------------------------------------------------------

APIARY_SCENARIO(mutex_guards, "mutex_left_out") {
    std::mutex m;
    int n = 0;
    const auto add = [&] {
        const std::lock_guard held(m);
        ++n;
    };
    std::thread a(add), b(add);
    a.join();
    b.join();
    apiary::check(n == 2, "an addition was lost");
}

APIARY_FAILING_SCENARIO(mutex_left_out, "data race") {
    std::mutex m;
    int n = 0;
    std::thread a([&] {
        const std::lock_guard held(m);
        ++n;
    });
    std::thread b([&] { ++n; });
    a.join();
    b.join();
}

APIARY_FAILING_SCENARIO(mutexes_in_both_orders, "deadlock") {
    std::mutex m, o;
    std::thread a([&] {
        const std::lock_guard first(m);
        const std::lock_guard second(o);
    });
    std::thread b([&] {
        const std::lock_guard first(o);
        const std::lock_guard second(m);
    });
    a.join();
    b.join();
}

// Locks on the heap from before the scenario are put back; those in memory that the system gave are not.
namespace {
std::vector<std::mutex> two_locks(2);
const auto shared_lock = std::make_unique<std::shared_mutex>();
const auto once_from_before = std::make_unique<std::once_flag>();
auto* const lock_of_the_system =
    new (::mmap(nullptr, sizeof(std::mutex), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) std::mutex;

void take_both(int first) {
    const std::lock_guard held(two_locks[std::size_t(first)]), too(two_locks[std::size_t(1 - first)]);
}
}  // namespace
APIARY_SCENARIO(mutexes_from_before, "mutexes_from_before_in_both_orders") {
    std::thread a(take_both, 0), b(take_both, 0);
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(mutexes_from_before_in_both_orders, "deadlock") {
    std::thread a(take_both, 0), b(take_both, 1);
    a.join();
    b.join();
}
APIARY_SCENARIO(shared_mutex_from_before, "mutexes_from_before_in_both_orders") {
    std::thread a([] { const std::shared_lock held(*shared_lock); });
    { const std::lock_guard held(*shared_lock); }
    a.join();
}
APIARY_SCENARIO(once_flag_from_before, "mutexes_from_before_in_both_orders") {
    int calls = 0;
    std::thread a([&] { std::call_once(*once_from_before, [&] { ++calls; }); });
    std::call_once(*once_from_before, [&] { ++calls; });
    a.join();
    apiary::check(calls == 1, "an earlier execution's call counts");
}
APIARY_FAILING_SCENARIO(mutex_of_the_system, "refused: a lock in memory that is not put back") {
    std::thread a([] { const std::lock_guard held(*lock_of_the_system); });
    a.join();
}

APIARY_SCENARIO(condition_with_predicate, "condition_without_predicate") {
    std::mutex m;
    std::condition_variable posted;
    bool is_posted = false;
    std::thread waiter([&] {
        std::unique_lock held(m);
        posted.wait(held, [&] { return is_posted; });
    });
    {
        const std::lock_guard held(m);
        is_posted = true;
    }
    posted.notify_one();
    waiter.join();
}

APIARY_FAILING_SCENARIO(condition_without_predicate, "deadlock") {
    std::mutex m;
    std::condition_variable posted;
    std::thread waiter([&] {
        std::unique_lock held(m);
        posted.wait(held);
    });
    posted.notify_one();
    waiter.join();
}

// ---- once, for each thread, exceptions ------------------------------------------------------------------------

APIARY_SCENARIO(call_once_is_once, "mutex_left_out") {
    std::once_flag once;
    int n = 0;
    const auto call = [&] {
        std::call_once(once, [&] { ++n; });
        apiary::check(n == 1, "called twice, or not seen");
    };
    std::thread a(call), b(call);
    a.join();
    b.join();
}

namespace {
struct counted {
    counted() : value(7) {}
    int value;
};
int first_use() {
    static const counted one;
    return one.value;
}
thread_local int mine = 5;
}  // namespace

APIARY_SCENARIO(static_local_is_made_once, "mutex_left_out") {
    std::thread a([] { apiary::check(first_use() == 7, "used before it was made"); });
    std::thread b([] { apiary::check(first_use() == 7, "used before it was made"); });
    a.join();
    b.join();
}

APIARY_SCENARIO(thread_local_has_its_own_address, "mutex_left_out") {
    std::atomic<int*> where[2] = {nullptr, nullptr};
    const auto use = [&](int i) {
        apiary::check(mine == 5, "a new thread sees what another one left");
        mine = i;
        where[i] = &mine;
        apiary::check(mine == i, "another thread's variable");
    };
    std::thread a(use, 0), b(use, 1);
    a.join();
    b.join();
    apiary::check(where[0] != where[1] && where[0] != &mine, "two threads' variables at one address");
}

APIARY_SCENARIO(exceptions_stay_in_their_threads, "mutex_left_out") {
    std::atomic<int> n{0};
    const auto body = [&](int i) {
        try {
            throw i;
        } catch (const int caught) {
            n.fetch_add(1);
            apiary::check(caught == i, "another thread's exception");
        }
    };
    std::thread a(body, 1), b(body, 2);
    a.join();
    b.join();
    apiary::check(n == 2);
}

// ---- std::atomic::wait ----------------------------------------------------------------------------------------

APIARY_SCENARIO(atomic_wait_is_notified, "atomic_wait_without_notify") {
    std::atomic<int> word{0};
    std::thread waiter([&] {
        word.wait(0);
        apiary::check(word.load() == 1, "woken before the store");
    });
    word.store(1);
    word.notify_one();
    waiter.join();
}

APIARY_FAILING_SCENARIO(atomic_wait_without_notify, "deadlock") {
    std::atomic<int> word{0};
    std::thread waiter([&] { word.wait(0); });
    word.store(1);
    waiter.join();
}

// ---- loops --------------------------------------------------------------------------------------------------------

APIARY_SCENARIO(loop_waits_for_a_flag, "loop_waits_for_nobody") {
    int data = 0;
    std::atomic<bool> ready{false};
    std::thread reader([&] {
        while (!ready.load(std::memory_order_acquire)) {
        }
        apiary::check(data == 3, "stale");
    });
    data = 3;
    ready.store(true, std::memory_order_release);
    reader.join();
}

APIARY_FAILING_SCENARIO(loop_waits_for_nobody, "deadlock") {
    std::atomic<bool> ready{false};
    std::thread reader([&] {
        while (!ready.load(std::memory_order_acquire)) {
        }
    });
    reader.join();
}

namespace {
class spinlock {
public:
    void lock() {
        while (held_.exchange(true, std::memory_order_acquire)) {
        }
    }
    void unlock(std::memory_order order = std::memory_order_release) { held_.store(false, order); }

private:
    std::atomic<bool> held_{false};
};
}  // namespace

APIARY_SCENARIO(spinlock_guards, "spinlock_unlocks_relaxed") {
    spinlock l;
    int n = 0;
    const auto add = [&] {
        l.lock();
        ++n;
        l.unlock();
    };
    std::thread a(add), b(add);
    a.join();
    b.join();
    apiary::check(n == 2);
}

APIARY_FAILING_SCENARIO(spinlock_unlocks_relaxed, "data race") {
    spinlock l;
    int n = 0;
    const auto add = [&] {
        l.lock();
        ++n;
        l.unlock(std::memory_order_relaxed);
    };
    std::thread a(add), b(add);
    a.join();
    b.join();
}

APIARY_SCENARIO(three_threads_at_a_spinlock, "spinlock_unlocks_relaxed") {
    spinlock l;
    int n = 0;
    const auto add = [&] {
        l.lock();
        ++n;
        l.unlock();
    };
    std::thread a(add), b(add), c(add);
    a.join();
    b.join();
    c.join();
    apiary::check(n == 3);
}

// A bounded spin is executed, and its exhausted way is reached.
APIARY_FAILING_SCENARIO(bounded_spin_gives_up, "the spin gave up") {
    std::atomic<int> word{0};
    std::thread other([&] { word.store(1); });
    int tries = 0;
    while (word.load() == 0 && tries < 16) ++tries;
    other.join();
    apiary::check(tries < 16, "the spin gave up");
}

namespace {
struct seqlock {
    std::atomic<unsigned> sequence{0};
    std::atomic<int> a{0}, b{0};
    void write(int v, std::memory_order publish) {
        const unsigned s = sequence.load(std::memory_order_relaxed);
        sequence.store(s + 1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        a.store(v, std::memory_order_relaxed);
        b.store(v, std::memory_order_relaxed);
        sequence.store(s + 2, publish);
    }
    bool equal() {
        for (;;) {
            const unsigned s = sequence.load(std::memory_order_acquire);
            const int x = a.load(std::memory_order_relaxed), y = b.load(std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_acquire);
            if (s % 2 == 0 && sequence.load(std::memory_order_relaxed) == s) return x == y;
        }
    }
};
}  // namespace

APIARY_SCENARIO(seqlock_reader_retries, "seqlock_publishes_relaxed") {
    seqlock l;
    std::thread writer([&] { l.write(4, std::memory_order_release); });
    apiary::check(l.equal(), "half of a write was read");
    writer.join();
}

APIARY_FAILING_SCENARIO(seqlock_publishes_relaxed, "half of a write was read") {
    seqlock l;
    std::thread writer([&] { l.write(4, std::memory_order_relaxed); });
    apiary::check(l.equal(), "half of a write was read");
    writer.join();
}

// A wake that libstdc++ itself loses: the caller's line is named, and the header in which the thread sleeps.
APIARY_FAILING_SCENARIO(wake_is_lost_in_the_library, "blocking.cpp:336 in bits/atomic_wait.h:") {
    std::counting_semaphore<> s{1};
    const auto in_turn = [&] { s.acquire(), s.release(); };
    std::thread a(in_turn), b(in_turn);
    a.join(), b.join();
}

// ---- volatile ---------------------------------------------------------------------------------------------------

// The waiter stands still as soon as it goes round, so that the write comes and shows the race.
APIARY_FAILING_SCENARIO(flag_is_volatile, "a plain read of a volatile at model_check/as_it_is/blocking.cpp") {
    volatile bool ready = false;
    int data = 0;
    std::thread a([&] {
        data = 1;
        ready = true;
    });
    while (!ready) {
    }
    apiary::check(data == 1);
    a.join();
}
APIARY_FAILING_SCENARIO(volatile_of_nobody, "in a loop around volatile read at model_check/as_it_is/blocking.cpp") {
    static volatile bool ready = false;
    std::thread a([&] {
        while (!ready) {
        }
    });
    a.join();
}
// Loops around a volatile that come to their end: a delay that counts, and a question under a lock.
APIARY_SCENARIO(volatile_counts_and_is_guarded, "flag_is_volatile") {
    std::mutex m;
    volatile bool ready = false;
    std::thread a([&] {
        volatile int rounds = 0;
        while (rounds < 100) rounds = rounds + 1;
        const std::lock_guard held(m);
        ready = true;
    });
    for (bool seen = false; !seen;) {
        const std::lock_guard held(m);
        seen = ready;
    }
    a.join();
}
