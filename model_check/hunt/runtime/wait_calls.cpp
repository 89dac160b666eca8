// wait_calls: condition variables, semaphores, barriers.
#include <semaphore.h>

#include "locks.hpp"
#include "machine.hpp"
#include "times.hpp"

using namespace apiary::hunt;

namespace {

int wait(pthread_cond_t* c, pthread_mutex_t* m, std::uint64_t deadline, std::uintptr_t place) {
    const call here("condition wait", place, c);
    if (!here) return 0;
    thread& t = here.me();
    lock_state &condition = state_of(t, c), &mutex = state_of(t, m);
    if (mutex.owner != t.id() + 1) misuse(t, place, "a condition is waited for without its mutex", c);
    const std::uint32_t count = mutex.count;
    give_back(t, mutex);
    bool told = true;
    if (the_scheduler.ends_for_no_reason(here.me()))
        the_scheduler.point(t, "spurious wake", place, reinterpret_cast<std::uintptr_t>(c));
    else
        told = the_scheduler.wait(t, &condition, deadline);
    t.doing = "lock after a condition wait";
    take(t, mutex, forever);
    mutex.count = count;
    return told ? 0 : ETIMEDOUT;
}

// The count of a semaphore is its lock's.
int down(thread& t, lock_state& s, std::uint64_t deadline) {
    while (s.count == 0) {
        if (the_scheduler.now >= deadline) return ETIMEDOUT;
        const bool in_time = the_scheduler.wait(t, &s, deadline);
        if (s.count != 0 && !t.interrupted) break;
        if (!in_time) return ETIMEDOUT;
        if (t.signalled == handled::ends || (t.signalled == handled::restarts && deadline != forever)) return EINTR;
    }
    --s.count;
    weak_memory::acquire(t.sees, s.released);
    the_scheduler.changed(t);
    return 0;
}
int down_at(sem_t* p, std::uint64_t deadline, const char* what, int error, std::uintptr_t place) {
    int result = 0;
    {
        const call here(what, place, p);
        if (here) result = down(here.me(), state_of(here.me(), p), deadline);
    }
    if (result == 0) return 0;
    errno = result == EINTR ? EINTR : error;
    return -1;
}

// Its state goes once all that were released have left it, as in the library.
void ends(const call& here, pthread_barrier_t* b) {
    if (!here) return;
    lock_state& s = the_shadow.lock_at(b);
    while (s.inside != 0) the_scheduler.wait(here.me(), &s, forever);
    the_shadow.forget_lock(b);
}

}  // namespace

extern "C" {

int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t*) {
    machine::fill(c, 0, sizeof *c);
    return 0;
}
int pthread_cond_destroy(pthread_cond_t*) { return 0; }
int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) { return wait(c, m, forever, CALLER); }
int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* t) {
    return wait(c, m, until(t), CALLER);
}
int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t, const timespec* t) {
    return wait(c, m, until(t), CALLER);
}
int pthread_cond_signal(pthread_cond_t* c) {
    const call here("notify_one", CALLER, c);
    if (!here) return 0;
    the_scheduler.changed(here.me());
    the_scheduler.wake_one(&state_of(here.me(), c));
    return 0;
}
int pthread_cond_broadcast(pthread_cond_t* c) {
    const call here("notify_all", CALLER, c);
    if (!here) return 0;
    the_scheduler.changed(here.me());
    the_scheduler.wake_all(&state_of(here.me(), c));
    return 0;
}

int sem_init(sem_t* p, int, unsigned count) {
    const call here("semaphore begins", CALLER, p);
    if (!here) return 0;
    the_shadow.forget_lock(p);
    the_shadow.lock_at(p).count = count;
    return 0;
}
int sem_destroy(sem_t*) { return 0; }
int sem_getvalue(sem_t* p, int* value) {
    const call here("sem_getvalue", CALLER, p);
    if (here) *value = static_cast<int>(state_of(here.me(), p).count);
    return 0;
}
int sem_post(sem_t* p) {
    const call here("sem_post", CALLER, p);
    if (!here) return 0;
    lock_state& s = state_of(here.me(), p);
    the_scheduler.changed(here.me());
    ++s.count;
    weak_memory::release(here.sees(), s.released);
    the_scheduler.wake_all(&s);
    return 0;
}
int sem_wait(sem_t* p) { return down_at(p, forever, "sem_wait", 0, CALLER); }
int sem_trywait(sem_t* p) { return down_at(p, 0, "sem_trywait", EAGAIN, CALLER); }
int sem_timedwait(sem_t* p, const timespec* t) { return down_at(p, until(t), "sem_timedwait", ETIMEDOUT, CALLER); }
int sem_clockwait(sem_t* p, clockid_t, const timespec* t) {
    return down_at(p, until(t), "sem_timedwait", ETIMEDOUT, CALLER);
}

// A barrier's own bytes hold how many it is for.
int pthread_barrier_init(pthread_barrier_t* b, const pthread_barrierattr_t*, unsigned count) {
    if (count == 0) return EINVAL;
    const call here("barrier begins", CALLER, b);
    ends(here, b);
    *reinterpret_cast<unsigned*>(b) = count;
    return 0;
}
int pthread_barrier_destroy(pthread_barrier_t* b) {
    const call here("barrier ends", CALLER, b);
    ends(here, b);
    return 0;
}
int pthread_barrier_wait(pthread_barrier_t* b) {
    const call here("barrier", CALLER, b);
    if (!here) return 0;
    lock_state& s = the_shadow.lock_at(b);
    the_scheduler.changed(here.me());
    weak_memory::release(here.sees(), s.released);
    const bool last = ++s.count == *reinterpret_cast<unsigned*>(b);
    const std::uint32_t round = s.rounds;
    ++s.inside;
    if (last) {
        s.count = 0;
        ++s.rounds;
        the_scheduler.wake_all(&s);
    }
    while (s.rounds == round) the_scheduler.wait(here.me(), &s, forever);
    weak_memory::acquire(here.sees(), s.released);
    if (--s.inside == 0) the_scheduler.wake_all(&s);
    return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}
}
