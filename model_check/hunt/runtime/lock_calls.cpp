// lock_calls: mutexes, shared mutexes, spin locks, the guards of statics, call_once.
#include <cstring>

#include "locks.hpp"
#include "machine.hpp"
#include "times.hpp"

using namespace apiary::hunt;

namespace {

bool is_recursive(const pthread_mutex_t* m) { return (m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE; }
bool checks(const pthread_mutex_t* m) { return (m->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK; }

int lock(const call& here, pthread_mutex_t* m, std::uint64_t deadline) {
    lock_state& l = state_of(here.me(), m);
    switch (take(here.me(), l, deadline)) {
        case lock_result::taken:
            return 0;
        case lock_result::timed_out:
            return ETIMEDOUT;
        case lock_result::is_mine:
            break;
    }
    if (is_recursive(m)) {
        ++l.count;
        return 0;
    }
    if (checks(m)) return EDEADLK;
    misuse(here.me(), here.me().doing_at, "a mutex is locked twice by its owner", m);
}
int lock_or_not(const call& here, pthread_mutex_t* m) {
    lock_state& l = state_of(here.me(), m);
    const bool mine = l.owner == here.me().id() + 1;
    if (!is_free(l) && !(mine && is_recursive(m))) return EBUSY;
    return lock(here, m, forever);
}
int unlock(const call& here, pthread_mutex_t* m) {
    lock_state& l = state_of(here.me(), m);
    if (l.owner != here.me().id() + 1) {
        if (checks(m)) return EPERM;
        misuse(here.me(), here.me().doing_at, "a mutex is unlocked by a thread that does not own it", m);
    }
    if (--l.count == 0) give_back(here.me(), l);
    return 0;
}
int answer(lock_result r) {
    return r == lock_result::taken ? 0 : r == lock_result::timed_out ? ETIMEDOUT : EDEADLK;
}

void end_of(const volatile void* p, std::uintptr_t place) {
    thread* const t = program_calls();
    if (t == nullptr) return;
    t->inside = true;
    if (the_scheduler.waits(&the_shadow.lock_at(p)) || !is_free(the_shadow.lock_at(p)))
        misuse(*t, place, "a lock is destroyed while a thread has it or waits for it", p);
    the_shadow.forget_lock(p);
    t->inside = false;
}
void beginning_of(const volatile void* p) {
    thread* const t = program_calls();
    if (t == nullptr) return;
    t->inside = true;
    the_shadow.forget_lock(p);
    t->inside = false;
}

}  // namespace

extern "C" {

int pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* a) {
    machine::fill(m, 0, sizeof *m);
    int robust = PTHREAD_MUTEX_STALLED;
    if (a != nullptr) {
        pthread_mutexattr_gettype(a, &m->__data.__kind);
        pthread_mutexattr_getrobust(a, &robust);
    }
    if (robust != PTHREAD_MUTEX_STALLED) {
        const call here("pthread_mutex_init", CALLER);
        if (here) refuse(here, "a robust mutex");
    }
    beginning_of(m);
    return 0;
}
int pthread_mutex_destroy(pthread_mutex_t* m) {
    end_of(m, CALLER);
    return 0;
}
int pthread_mutex_lock(pthread_mutex_t* m) {
    const call here("lock", CALLER, m);
    return here ? lock(here, m, forever) : 0;
}
int pthread_mutex_trylock(pthread_mutex_t* m) {
    const call here("try_lock", CALLER, m);
    return here ? lock_or_not(here, m) : 0;
}
int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* t) {
    const call here("timed lock", CALLER, m);
    return here ? lock(here, m, until(t)) : 0;
}
int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t, const timespec* t) {
    const call here("timed lock", CALLER, m);
    return here ? lock(here, m, until(t)) : 0;
}
int pthread_mutex_unlock(pthread_mutex_t* m) {
    const call here("unlock", CALLER, m);
    return here ? unlock(here, m) : 0;
}

int pthread_spin_init(pthread_spinlock_t* l, int) {
    *const_cast<int*>(l) = 0;
    beginning_of(l);
    return 0;
}
int pthread_spin_destroy(pthread_spinlock_t* l) {
    end_of(l, CALLER);
    return 0;
}
int pthread_spin_lock(pthread_spinlock_t* l) {
    const call here("spin lock", CALLER, l);
    if (!here) return 0;
    const lock_result r = take(here.me(), state_of(here.me(), l), forever);
    if (r == lock_result::is_mine) misuse(here.me(), CALLER, "a spin lock is locked twice by its owner", l);
    return 0;
}
int pthread_spin_trylock(pthread_spinlock_t* l) {
    const call here("spin try_lock", CALLER, l);
    if (!here) return 0;
    lock_state& s = state_of(here.me(), l);
    return is_free(s) ? answer(take(here.me(), s, forever)) : EBUSY;
}
int pthread_spin_unlock(pthread_spinlock_t* l) {
    const call here("spin unlock", CALLER, l);
    if (here) give_back(here.me(), state_of(here.me(), l));
    return 0;
}

int pthread_rwlock_init(pthread_rwlock_t* l, const pthread_rwlockattr_t*) {
    machine::fill(l, 0, sizeof *l);
    beginning_of(l);
    return 0;
}
int pthread_rwlock_destroy(pthread_rwlock_t* l) {
    end_of(l, CALLER);
    return 0;
}
#define SHARED(name, what, parameters, deadline)                                                              \
    int pthread_rwlock_##name parameters {                                                                    \
        const call here(what, CALLER, l);                                                                     \
        return here ? answer(take_shared(here.me(), state_of(here.me(), l), deadline)) : 0;                    \
    }
#define EXCLUSIVE(name, what, parameters, deadline)                                                           \
    int pthread_rwlock_##name parameters {                                                                    \
        const call here(what, CALLER, l);                                                                     \
        return here ? answer(take(here.me(), state_of(here.me(), l), deadline)) : 0;                           \
    }
SHARED(rdlock, "shared lock", (pthread_rwlock_t * l), forever)
SHARED(timedrdlock, "timed shared lock", (pthread_rwlock_t * l, const timespec* t), until(t))
SHARED(clockrdlock, "timed shared lock", (pthread_rwlock_t * l, clockid_t, const timespec* t), until(t))
EXCLUSIVE(wrlock, "exclusive lock", (pthread_rwlock_t * l), forever)
EXCLUSIVE(timedwrlock, "timed exclusive lock", (pthread_rwlock_t * l, const timespec* t), until(t))
EXCLUSIVE(clockwrlock, "timed exclusive lock", (pthread_rwlock_t * l, clockid_t, const timespec* t), until(t))
int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) {
    const call here("shared try_lock", CALLER, l);
    if (!here) return 0;
    lock_state& s = state_of(here.me(), l);
    return s.owner == 0 ? answer(take_shared(here.me(), s, forever)) : EBUSY;
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* l) {
    const call here("exclusive try_lock", CALLER, l);
    if (!here) return 0;
    lock_state& s = state_of(here.me(), l);
    return is_free(s) ? answer(take(here.me(), s, forever)) : EBUSY;
}
int pthread_rwlock_unlock(pthread_rwlock_t* l) {
    const call here("unlock of a shared mutex", CALLER, l);
    if (!here) return 0;
    lock_state& s = state_of(here.me(), l);
    if (s.owner == here.me().id() + 1)
        give_back(here.me(), s);
    else if (s.readers != 0)
        give_back_shared(here.me(), s);
    else
        misuse(here.me(), CALLER, "a shared mutex is unlocked that nobody has locked", l);
    return 0;
}

// The guard of a static: its first byte is what the program reads, as an atomic, before it calls.
int __cxa_guard_acquire(std::int64_t* g) {
    auto* const done = reinterpret_cast<volatile char*>(g);
    const call here("guard of a static", CALLER, g);
    if (!here) return *done == 0;
    lock_state& l = the_shadow.lock_at(g);
    if (take(here.me(), l, forever) == lock_result::is_mine)
        misuse(here.me(), CALLER, "a static is initialised by its own initialiser", g);
    if (*done == 0) return 1;
    give_back(here.me(), l);
    return 0;
}
void __tsan_atomic8_store(volatile std::uint8_t*, std::uint8_t, int);
void __cxa_guard_release(std::int64_t* g) {
    __tsan_atomic8_store(reinterpret_cast<volatile std::uint8_t*>(g), 1, __ATOMIC_RELEASE);
    const call here("static is initialised", CALLER, g);
    if (here) give_back(here.me(), the_shadow.lock_at(g));
}
void __cxa_guard_abort(std::int64_t* g) {
    const call here("initialiser of a static throws", CALLER, g);
    if (here) give_back(here.me(), the_shadow.lock_at(g));
}

int pthread_once(pthread_once_t* o, void (*f)()) {
    constexpr pthread_once_t done = 2;
    lock_state* l = nullptr;
    if (thread* const t = program_calls(); t != nullptr && *o == done) {  // as most calls find it: no step of its own
        t->inside = true;
        weak_memory::acquire(t->sees, the_shadow.lock_at(o).released);
        t->inside = false;
        return 0;
    }
    {
        const call here("call_once", CALLER, o);
        if (here) {
            l = &the_shadow.lock_at(o);
            if (take(here.me(), *l, forever) == lock_result::is_mine)
                misuse(here.me(), CALLER, "call_once calls itself", o);
            if (*o == done) {
                give_back(here.me(), *l);
                return 0;
            }
        } else if (*o == done) {
            return 0;
        }
    }
    struct at_end {
        pthread_once_t* once;
        lock_state* lock;
        bool returned = false;
        ~at_end() {
            const call here("call_once is over", CALLER, once);
            if (returned) *once = done;  // no switch between this and what it releases
            if (here && lock != nullptr) give_back(here.me(), *lock);
        }
    } end{o, l};
    f();
    end.returned = true;
    return 0;
}
}
