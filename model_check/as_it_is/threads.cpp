// What whole programs do with threads: they start them from threads, join and leave them, and use what POSIX and C have beside
// mutexes: keys, barriers, spin locks, C's own threads. Each with a program that must fail for a like reason.
#include <apiary/check.hpp>

#include <pthread.h>
#include <threads.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

namespace {
std::atomic<int> word;

template <class F>
void two_threads(F f) {
    std::thread a(f), b(f);
    a.join();
    b.join();
}
}  // namespace

// ---- threads from threads ---------------------------------------------------------------------------------------------

APIARY_SCENARIO(child_sees_its_parents_writes, "child_races_with_its_parent") {
    int plain = 0;
    std::thread a([&] {
        plain = 1;
        std::thread child([&] { apiary::check(++plain == 2, "the parent's write is not seen"); });
        child.join();
        ++plain;
    });
    a.join();
    apiary::check(plain == 3, "the child's write is not seen");
}
APIARY_FAILING_SCENARIO(child_races_with_its_parent, "data race") {
    int plain = 0;
    std::thread a([&] {
        std::thread child([&] { ++plain; });
        ++plain;
        child.join();
    });
    a.join();
}
// Which of the two starts its child first differs from one execution to another.
APIARY_SCENARIO(two_threads_have_a_child_each, "two_children_race") {
    two_threads([] { std::thread([] { word.fetch_add(1); }).join(); });
    apiary::check(word == 2, "a child is lost");
}
APIARY_FAILING_SCENARIO(two_children_race, "data race") {
    static int plain;
    two_threads([] { std::thread([] { ++plain; }).join(); });
}
// One is started in some executions only, by a thread that another one may start.
APIARY_SCENARIO(grandchild_now_and_then, "grandchild_that_nobody_tells") {
    std::thread a([] {
        if (word.load() != 0) std::thread([] { std::thread([] { word.fetch_add(1); }).join(); }).join();
    });
    word.store(1);
    a.join();
    apiary::check(word == 1 || word == 2, "a grandchild is lost");
}
APIARY_FAILING_SCENARIO(grandchild_that_nobody_tells, "the grandchild was there") {
    std::thread a([] {
        if (word.load() != 0) std::thread([] { std::thread([] { word.fetch_add(1); }).join(); }).join();
    });
    word.store(1);
    a.join();
    apiary::check(word == 1, "the grandchild was there");
}
// What thread 0 has written between two starts the first thread knows if the second tells it.
APIARY_SCENARIO(second_tells_the_first, "second_tells_the_first_too_late") {
    int plain = 0;
    std::thread a([&] {
        if (word.load(std::memory_order_acquire) == 1) apiary::check(plain == 1, "what was told is not seen");
    });
    plain = 1;
    std::thread b([] { word.store(1, std::memory_order_release); });
    a.join();
    b.join();
}
APIARY_FAILING_SCENARIO(second_tells_the_first_too_late, "data race") {
    int plain = 0;
    std::thread a([&] {
        if (word.load(std::memory_order_acquire) == 1) apiary::check(plain == 1, "what was told is not seen");
    });
    std::thread b([] { word.store(1, std::memory_order_release); });
    plain = 1;
    a.join();
    b.join();
}
APIARY_SCENARIO(fifteen_threads, "sixteen_threads") {
    std::atomic<int> slots[15] = {};
    std::vector<std::thread> threads;
    for (std::atomic<int>& s : slots) threads.emplace_back([&s] { s.store(1); });
    for (std::thread& t : threads) t.join();
    for (const std::atomic<int>& s : slots) apiary::check(s == 1, "a thread is lost");
}
APIARY_FAILING_SCENARIO(sixteen_threads, "refused: more than fifteen threads beside the first") {
    std::atomic<int> slots[16] = {};
    std::vector<std::thread> threads;
    for (std::atomic<int>& s : slots) threads.emplace_back([&s] { s.store(1); });
    for (std::thread& t : threads) t.join();
}
APIARY_FAILING_SCENARIO(fifteenth_thread_races, "data race") {
    int slots[15] = {};
    std::vector<std::thread> threads;
    for (int& s : slots) threads.emplace_back([&s] { s = 1; });
    slots[14] = 2;
    for (std::thread& t : threads) t.join();
}

// ---- joins ------------------------------------------------------------------------------------------------------------

APIARY_SCENARIO(joins_itself, "joined_twice") {
    std::thread a([] { apiary::check(::pthread_join(::pthread_self(), nullptr) == EDEADLK); });
    a.join();
}
APIARY_FAILING_SCENARIO(joined_twice, "undefined behaviour: a thread is joined that was joined or detached before") {
    pthread_t a{};
    ::pthread_create(&a, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
    ::pthread_join(a, nullptr);
    ::pthread_join(a, nullptr);
}
APIARY_FAILING_SCENARIO(joined_by_two, "undefined behaviour: a thread is joined that was joined or detached before") {
    static pthread_t a;
    ::pthread_create(&a, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
    std::thread b([] { ::pthread_join(a, nullptr); });
    ::pthread_join(a, nullptr);
    b.join();
}
APIARY_FAILING_SCENARIO(detached_and_joined, "undefined behaviour: a thread is joined that was joined or detached before") {
    pthread_t a{};
    ::pthread_create(&a, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
    ::pthread_detach(a);
    ::pthread_join(a, nullptr);
}
APIARY_FAILING_SCENARIO(detached_twice, "undefined behaviour: a thread is detached that was joined or detached before") {
    pthread_t a{};
    ::pthread_create(&a, nullptr, [](void*) -> void* { return nullptr; }, nullptr);
    ::pthread_detach(a);
    ::pthread_detach(a);
}
APIARY_FAILING_SCENARIO(joins_the_scenario, "refused: a join of the scenario's own thread") {
    std::thread a([first = ::pthread_self()] { ::pthread_join(first, nullptr); });
    a.join();
}
APIARY_FAILING_SCENARIO(joins_what_is_no_thread, "undefined behaviour: what is no thread is joined or detached") {
    std::thread a([] { ::pthread_join(pthread_t{12345}, nullptr); });
    a.join();
}

// ---- keys -------------------------------------------------------------------------------------------------------------

namespace {
pthread_key_t key;
std::atomic<int> ended;
void end_of_value(void* value) {
    ended.fetch_add(*static_cast<int*>(value));
    delete static_cast<int*>(value);
}
}  // namespace
APIARY_SCENARIO(value_is_the_threads_own, "value_is_another_threads") {
    ::pthread_key_create(&key, nullptr);
    two_threads([] {
        static int one, other;
        apiary::check(::pthread_getspecific(key) == nullptr, "a value from before the thread");
        int* const mine = word.fetch_add(1) == 0 ? &one : &other;
        ::pthread_setspecific(key, mine);
        word.load();
        apiary::check(::pthread_getspecific(key) == mine, "a value is lost");
    });
    ::pthread_key_delete(key);
}
APIARY_FAILING_SCENARIO(value_is_another_threads, "there is no value") {
    ::pthread_key_create(&key, nullptr);
    ::pthread_setspecific(key, &key);
    std::thread a([] { apiary::check(::pthread_getspecific(key) == &key, "there is no value"); });
    a.join();
}
APIARY_SCENARIO(value_ends_with_its_thread, "value_that_nobody_ends") {
    ::pthread_key_create(&key, end_of_value);
    two_threads([] { ::pthread_setspecific(key, new int(1)); });
    apiary::check(ended == 2, "a value outlives its thread");
}
APIARY_FAILING_SCENARIO(value_that_nobody_ends, "memory leak") {
    ::pthread_key_create(&key, nullptr);
    two_threads([] { ::pthread_setspecific(key, new int(1)); });
}
APIARY_FAILING_SCENARIO(key_after_its_end, "undefined behaviour: a key that was not made, or was deleted") {
    ::pthread_key_create(&key, nullptr);
    std::thread a([] { ::pthread_setspecific(key, &key); });
    a.join();
    ::pthread_key_delete(key);
    (void)::pthread_getspecific(key);
}
APIARY_FAILING_SCENARIO(key_is_made_while_it_is_used, "data race") {
    std::thread a([] { (void)::pthread_getspecific(key); });
    ::pthread_key_create(&key, nullptr);
    a.join();
}

// ---- barriers and spin locks --------------------------------------------------------------------------------------------

APIARY_SCENARIO(barrier_orders_both_sides, "barrier_of_one") {
    static pthread_barrier_t b;
    static int one, other;
    ::pthread_barrier_init(&b, nullptr, 2);
    std::atomic<int> last = 0;
    std::thread a([&] {
        one = 1;
        last += ::pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
        apiary::check(other == 1, "what came before the barrier is not seen");
        last += ::pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
        one = 2;
    });
    other = 1;
    last += ::pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
    apiary::check(one == 1, "what came before the barrier is not seen");
    last += ::pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
    a.join();
    ::pthread_barrier_destroy(&b);
    apiary::check(last == 2, "one of each round is told that it is the last");
}
APIARY_FAILING_SCENARIO(barrier_of_one, "data race") {
    static pthread_barrier_t b;
    static int one;
    ::pthread_barrier_init(&b, nullptr, 1);
    std::thread a([] {
        one = 1;
        ::pthread_barrier_wait(&b);
    });
    ::pthread_barrier_wait(&b);
    apiary::check(one == 1);
    a.join();
}
APIARY_FAILING_SCENARIO(barrier_of_three, "deadlock") {
    static pthread_barrier_t b;
    ::pthread_barrier_init(&b, nullptr, 3);
    two_threads([] { ::pthread_barrier_wait(&b); });
}
APIARY_SCENARIO(spin_lock_guards, "spin_lock_that_is_only_tried") {
    static pthread_spinlock_t l;
    static int plain;
    ::pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE);
    two_threads([] {
        ::pthread_spin_lock(&l);
        ++plain;
        ::pthread_spin_unlock(&l);
    });
    apiary::check(plain == 2, "a thread is lost");
}
APIARY_FAILING_SCENARIO(spin_lock_that_is_only_tried, "data race") {
    static pthread_spinlock_t l;
    static int plain;
    ::pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE);
    two_threads([] {
        const bool has = ::pthread_spin_trylock(&l) == 0;
        ++plain;
        if (has) ::pthread_spin_unlock(&l);
    });
}

// ---- C's threads ------------------------------------------------------------------------------------------------------

namespace {
mtx_t guard;
cnd_t changed;
tss_t own;
int sent;
int sends(void*) {
    ::mtx_lock(&guard);
    sent = 1;
    ::mtx_unlock(&guard);
    ::cnd_signal(&changed);
    return 7;
}
}  // namespace
APIARY_SCENARIO(threads_of_c, "thread_of_c_is_not_told") {
    static once_flag once = ONCE_FLAG_INIT;
    ::mtx_init(&guard, mtx_plain);
    ::cnd_init(&changed);
    thrd_t t{};
    apiary::check(::thrd_create(&t, sends, nullptr) == thrd_success);
    ::mtx_lock(&guard);
    while (sent == 0) ::cnd_wait(&changed, &guard);
    ::mtx_unlock(&guard);
    ::call_once(&once, [] { word.fetch_add(1); });
    int result = 0;
    apiary::check(::thrd_join(t, &result) == thrd_success && result == 7 && word == 1, "a result is lost");
    ::cnd_destroy(&changed);
    ::mtx_destroy(&guard);
}
APIARY_FAILING_SCENARIO(thread_of_c_is_not_told, "deadlock") {
    ::mtx_init(&guard, mtx_plain);
    ::cnd_init(&changed);
    thrd_t t{};
    ::thrd_create(&t, sends, nullptr);
    ::mtx_lock(&guard);
    ::cnd_wait(&changed, &guard);
    ::mtx_unlock(&guard);
    ::thrd_join(t, nullptr);
}
APIARY_SCENARIO(mutex_of_c_is_tried, "mutex_of_c_is_forgotten") {
    static int plain;
    ::mtx_init(&guard, mtx_plain);
    two_threads([] {
        const int how = ::mtx_trylock(&guard);
        apiary::check(how == thrd_success || how == thrd_busy, "another answer");
        if (how != thrd_success) return;
        ++plain;
        ::mtx_unlock(&guard);
    });
}
APIARY_FAILING_SCENARIO(mutex_of_c_is_forgotten, "data race") {
    static int plain;
    ::mtx_init(&guard, mtx_plain);
    two_threads([] {
        const bool has = ::mtx_trylock(&guard) == thrd_success;
        ++plain;
        if (has) ::mtx_unlock(&guard);
    });
}
APIARY_SCENARIO(value_of_c_ends_with_its_thread, "value_of_c_that_nobody_ends") {
    ::tss_create(&own, end_of_value);
    two_threads([] {
        int* const mine = new int(1);
        ::tss_set(own, mine);
        apiary::check(::tss_get(own) == mine, "a value is lost");
    });
    apiary::check(ended == 2, "a value outlives its thread");
    ::tss_delete(own);
}
APIARY_FAILING_SCENARIO(value_of_c_that_nobody_ends, "memory leak") {
    ::tss_create(&own, nullptr);
    two_threads([] { ::tss_set(own, new int(1)); });
}
