// threads_of_c: C's own threads (thrd_*, mtx_*, cnd_*, call_once, tss_*), and what POSIX has beside threads.cpp: keys, barriers,
// spin locks. All of it as operations of the explorer.
//
// glibc's mtx_t and cnd_t are pthread_mutex_t and pthread_cond_t under other names.
#include <pthread.h>
#include <threads.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <apiary/model_check/as_it_is/before_main.hpp>
#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>

namespace apiary::model::as_it_is {

void threads_of_c_are_linked() {}

}  // namespace apiary::model::as_it_is

namespace {

using namespace apiary::model::as_it_is;
namespace ex = apiary::model::explorer;

#define CALLER __builtin_return_address(0)

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));
pthread_mutex_t* posix(mtx_t* m) { return reinterpret_cast<pthread_mutex_t*>(m); }
pthread_cond_t* posix(cnd_t* c) { return reinterpret_cast<pthread_cond_t*>(c); }

int answer(int error) {
    return error == 0 ? thrd_success : error == EBUSY ? thrd_busy : error == ETIMEDOUT ? thrd_timedout : thrd_error;
}

bool is_ours(unsigned key) { return in_program && key >= runtime::first_key; }

// Of a global's: main's thread's.
bool make_before_main(unsigned* key, void (*destroy)(void*), void* pc) {
    if (!is_a_globals(key) || !is_of_the_program(number(pc))) return false;
    *key = make_key_before_main(destroy, pc);
    return true;
}
key_from_before* before_main(unsigned key) { return in_program ? nullptr : key_made_before(key); }

int make_key(unsigned* key, void (*destroy)(void*), void* pc) {
    const outside_program now;
    the_runtime().touch_bytes(number(key), sizeof *key, access_kind::write, pc);
    *key = the_runtime().make_key(destroy, pc);
    return 0;
}
void* get(unsigned key, void* pc) {
    const outside_program now;
    return const_cast<void*>(the_runtime().value_of_key(key, pc));
}
void set(unsigned key, std::uintptr_t value, void* pc) {
    const outside_program now;
    the_runtime().effect();
    the_runtime().value_of_key(key, pc) = reinterpret_cast<const void*>(value);
}
void end_key(unsigned key, void* pc) {
    const outside_program now;
    the_runtime().effect();
    the_runtime().end_key(key, pc);
}

// A barrier: in its first eight bytes those that have come to this round, and above them the round; then how many it waits for.
struct barrier {
    std::uint64_t state;
    std::uint32_t count;
};
static_assert(sizeof(barrier) <= sizeof(pthread_barrier_t));
constexpr std::uint64_t next_round = std::uint64_t{1} << 32;

}  // namespace

extern "C" {

// ---- keys -----------------------------------------------------------------------------------------------------

int pthread_key_create(pthread_key_t* k, void (*destroy)(void*)) noexcept {
    if (in_program) return make_key(k, destroy, CALLER);
    if (make_before_main(k, destroy, CALLER)) return 0;
    return library<int(pthread_key_t*, void (*)(void*))>("pthread_key_create")(k, destroy);
}
int pthread_key_delete(pthread_key_t k) noexcept {
    if (key_from_before* const b = before_main(k)) return b->key = 0, 0;
    if (!is_ours(k)) return library<int(pthread_key_t)>("pthread_key_delete")(k);
    end_key(k, CALLER);
    return 0;
}
void* pthread_getspecific(pthread_key_t k) noexcept {
    if (const key_from_before* const b = before_main(k)) return const_cast<void*>(b->value);
    return is_ours(k) ? get(k, CALLER) : library<void*(pthread_key_t)>("pthread_getspecific")(k);
}
int pthread_setspecific(pthread_key_t k, const void* value) noexcept {
    if (key_from_before* const b = before_main(k)) return b->value = value, 0;
    if (!is_ours(k)) return library<int(pthread_key_t, const void*)>("pthread_setspecific")(k, value);
    set(k, std::bit_cast<std::uintptr_t>(value), CALLER);
    return 0;
}
int tss_create(tss_t* k, tss_dtor_t destroy) {
    if (in_program) return make_key(k, destroy, CALLER);
    if (make_before_main(k, destroy, CALLER)) return thrd_success;
    return library<int(tss_t*, tss_dtor_t)>("tss_create")(k, destroy);
}
void tss_delete(tss_t k) {
    if (key_from_before* const b = before_main(k)) {
        b->key = 0;
        return;
    }
    if (!is_ours(k)) return library<void(tss_t)>("tss_delete")(k);
    end_key(k, CALLER);
}
void* tss_get(tss_t k) {
    if (const key_from_before* const b = before_main(k)) return const_cast<void*>(b->value);
    return is_ours(k) ? get(k, CALLER) : library<void*(tss_t)>("tss_get")(k);
}
int tss_set(tss_t k, void* value) {
    if (key_from_before* const b = before_main(k)) return b->value = value, thrd_success;
    if (!is_ours(k)) return library<int(tss_t, void*)>("tss_set")(k, value);
    set(k, std::bit_cast<std::uintptr_t>(value), CALLER);
    return thrd_success;
}

// ---- C's threads, mutexes and condition variables -----------------------------------------------------------------

int thrd_create(thrd_t* t, thrd_start_t start, void* argument) {
    if (!in_program) refuse_outside("a thread is started", CALLER);
    const outside_program now;
    the_runtime().touch_bytes(number(t), sizeof *t, access_kind::write, CALLER);
    *t = thread_pointer_of(the_runtime().start_thread(nullptr, start, argument, CALLER));
    return thrd_success;
}
int thrd_join(thrd_t t, int* result) {
    if (!in_program) refuse_outside("a thread is joined", CALLER);
    const outside_program now;
    void** const value = the_runtime().join(thread_named(t, CALLER), result != nullptr, CALLER);
    if (value == nullptr) return thrd_error;
    if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(*value));
    return thrd_success;
}
int thrd_detach(thrd_t t) {
    if (!in_program) return thrd_success;
    const outside_program now;
    the_runtime().leave(thread_named(t, CALLER), CALLER);
    return thrd_success;
}
thrd_t thrd_current() { return ::pthread_self(); }
void thrd_yield() {}
int thrd_sleep(const timespec* t, timespec* left) {
    if (!in_program) return library<int(const timespec*, timespec*)>("thrd_sleep")(t, left);
    const outside_program now;
    sleep_until(deadline_after(t));
    return 0;
}

int mtx_init(mtx_t* m, int type) noexcept {
    if (in_program && !is_librarys(m, CALLER)) {
        const outside_program now;
        the_runtime().touch_bytes(number(m), sizeof *m, access_kind::write, CALLER);
    }
    return library<int(mtx_t*, int)>("mtx_init")(m, type);
}
void mtx_destroy(mtx_t* m) noexcept {
    give_before_main(m);
    if (is_librarys(m, CALLER)) return;
    const outside_program now;
    the_runtime().touch_bytes(number(m), sizeof *m, access_kind::write, CALLER);
}
int apiary_mtx_lock(mtx_t* m) { return answer(lock_mutex(posix(m), CALLER)); }
int apiary_mtx_trylock(mtx_t* m) { return answer(try_lock_mutex(posix(m), CALLER)); }
KEEPS_REGISTERS_OF(mtx_lock, mtx_lock)
KEEPS_REGISTERS_OF(mtx_trylock, mtx_trylock)
int mtx_timedlock(mtx_t* m, const timespec* t) { return answer(lock_mutex_until(posix(m), t, CALLER)); }
int mtx_unlock(mtx_t* m) { return answer(unlock_mutex(posix(m), CALLER)); }

int cnd_init(cnd_t* c) { return answer(::pthread_cond_init(posix(c), nullptr)); }
void cnd_destroy(cnd_t* c) { (void)::pthread_cond_destroy(posix(c)); }
int cnd_signal(cnd_t* c) { return answer(notify(posix(c), false, CALLER)); }
int cnd_broadcast(cnd_t* c) { return answer(notify(posix(c), true, CALLER)); }
int cnd_wait(cnd_t* c, mtx_t* m) { return answer(condition_wait(posix(c), posix(m), nullptr, CALLER)); }
int cnd_timedwait(cnd_t* c, mtx_t* m, const timespec* t) {
    return answer(condition_wait(posix(c), posix(m), t, CALLER));
}
void call_once(once_flag* o, void (*initialise)()) { (void)once_only(o, initialise, CALLER); }

// ---- barriers and spin locks ----------------------------------------------------------------------------------------

int pthread_barrier_init(pthread_barrier_t* b, const pthread_barrierattr_t* how, unsigned count) noexcept {
    const bool before = is_a_globals(b);
    if (!in_program && !before)
        return library<int(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned)>("pthread_barrier_init")(b, how,
                                                                                                                count);
    if (count == 0) return EINVAL;
    const barrier fresh{0, count};
    if (before) {
        std::memcpy(static_cast<void*>(b), &fresh, sizeof fresh);
        return 0;
    }
    const outside_program now;
    the_runtime().touch_bytes(number(b), sizeof *b, access_kind::write, CALLER);
    std::memcpy(static_cast<void*>(b), &fresh, sizeof fresh);
    return 0;
}
// Of one that others have not left yet it is a race here: that glibc waits for them is not modelled.
int pthread_barrier_destroy(pthread_barrier_t* b) noexcept {
    if (is_a_globals(b)) return 0;
    if (!in_program) return library<int(pthread_barrier_t*)>("pthread_barrier_destroy")(b);
    const outside_program now;
    the_runtime().touch_bytes(number(b), sizeof *b, access_kind::write, CALLER);
    return 0;
}
int pthread_barrier_wait(pthread_barrier_t* b) noexcept {
    if (is_a_globals(b)) {  // alone: where it waits for others, none will come
        barrier now{};
        std::memcpy(&now, static_cast<const void*>(b), sizeof now);
        if (now.count != 1) refuse_outside("a barrier is waited for", CALLER);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    if (!in_program) return library<int(pthread_barrier_t*)>("pthread_barrier_wait")(b);
    const outside_program now;
    runtime& r = the_runtime();
    const ex::code_place& at = place_of_call(CALLER);
    r.effect();
    r.touch_bytes(number(b) + offsetof(barrier, count), sizeof(std::uint32_t), access_kind::read, CALLER);
    std::uint32_t count = 0;
    std::memcpy(&count, reinterpret_cast<const char*>(b) + offsetof(barrier, count), sizeof count);
    const auto state = [&]() -> ex::object& {
        return r.locate(number(b), sizeof(std::uint64_t), role::atomic, access_kind::atomic_write, CALLER);
    };
    const ex::change comes{[](const void* n, std::uint64_t old) {
                               const bool last = (old & UINT32_MAX) + 1 == *static_cast<const std::uint32_t*>(n);
                               return last ? (old | UINT32_MAX) + 1 : old + 1;
                           },
                           &count};
    const std::uint64_t before = ex::read_modify_write(state(), comes, std::memory_order_acq_rel, at, "barrier");
    if ((before & UINT32_MAX) + 1 == count) return PTHREAD_BARRIER_SERIAL_THREAD;
    const ex::predicate is_over{[](const void* own, std::uint64_t seen) {
                                    return (seen ^ *static_cast<const std::uint64_t*>(own)) >= next_round;
                                },
                                &before};
    ex::wait_until(state(), is_over, std::memory_order_acquire, at, "barrier (waits)", false);
    return 0;
}

int pthread_spin_init(pthread_spinlock_t* l, int) noexcept {
    if (is_a_globals(l)) return give_before_main(l), 0;
    if (is_librarys(const_cast<const int*>(l), CALLER)) return library<int(pthread_spinlock_t*, int)>("pthread_spin_init")(l, 0);
    const outside_program now;
    the_runtime().touch_bytes(number(l), sizeof *l, access_kind::write, CALLER);
    return 0;
}
int pthread_spin_destroy(pthread_spinlock_t* l) noexcept { return pthread_spin_init(l, 0); }
int pthread_spin_lock(pthread_spinlock_t* l) noexcept {
    if (is_a_globals(l)) return take_or_refuse(l, sizeof *l, hold::alone, CALLER);
    if (is_librarys(const_cast<const int*>(l), CALLER)) return library<int(pthread_spinlock_t*)>("pthread_spin_lock")(l);
    const outside_program now;
    the_runtime().effect();
    ex::lock(lock_at(const_cast<const int*>(l), CALLER, sizeof *l), place_of_call(CALLER));
    return 0;
}
int pthread_spin_trylock(pthread_spinlock_t* l) noexcept {
    if (is_a_globals(l)) return take_before_main(l, sizeof *l, hold::alone, CALLER) ? 0 : EBUSY;
    if (is_librarys(const_cast<const int*>(l), CALLER)) return library<int(pthread_spinlock_t*)>("pthread_spin_trylock")(l);
    const outside_program now;
    the_runtime().effect();
    return ex::try_lock(lock_at(const_cast<const int*>(l), CALLER, sizeof *l), place_of_call(CALLER), false) ? 0 : EBUSY;
}
int pthread_spin_unlock(pthread_spinlock_t* l) noexcept {
    if (is_a_globals(l)) return give_before_main(l), 0;
    if (is_librarys(const_cast<const int*>(l), CALLER)) return library<int(pthread_spinlock_t*)>("pthread_spin_unlock")(l);
    const outside_program now;
    the_runtime().effect();
    ex::unlock(lock_at(const_cast<const int*>(l), CALLER, sizeof *l), place_of_call(CALLER));
    return 0;
}
}
