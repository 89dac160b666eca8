// shared_locks: pthread_rwlock_* (std::shared_mutex stands on them) and sem_*, as operations of the
// explorer.
//
// The model prefers neither readers nor writers. An unlock of a reader orders the next reader, too,
// as it does in glibc; [thread.sharedmutex.requirements] promises that to a writer alone.
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <apiary/model_check/as_it_is/before_main.hpp>
#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/places.hpp>

namespace {

using namespace apiary::model::as_it_is;
namespace ex = apiary::model::explorer;

#define CALLER __builtin_return_address(0)

// What is asked of a lock: by its location, and where.
template <class Ask>
int ask(pthread_rwlock_t* l, void* pc, Ask of) {
    if (is_librarys(l, pc)) return 0;
    const outside_program now;
    the_runtime().effect();
    return of(lock_at(l, pc), place_of_call(pc));
}

// Before main: 0, or the error where it is held.
int take(pthread_rwlock_t* l, hold how, int error, void* pc) { return take_before_main(l, 8, how, pc) ? 0 : error; }

int read_until(pthread_rwlock_t* l, const timespec* t, void* pc) {
    if (is_a_globals(l)) return take(l, hold::shared, ETIMEDOUT, pc);
    return ask(l, pc, [&](ex::object& o, const ex::code_place& at) {
        const std::int64_t deadline = deadline_at(t);
        const bool may_own = !is_by_the_library(pc);
        if (has_passed(deadline)) return ex::try_lock_shared(o, at, may_own) ? 0 : ETIMEDOUT;
        if (ex::lock_shared_or_give_up(o, at, may_own)) return 0;
        sleep_until(deadline);
        return ETIMEDOUT;
    });
}
int write_until(pthread_rwlock_t* l, const timespec* t, void* pc) {
    if (is_a_globals(l)) return take(l, hold::alone, ETIMEDOUT, pc);
    return ask(l, pc, [&](ex::object& o, const ex::code_place& at) {
        return lock_until(o, deadline_at(t), at) ? 0 : ETIMEDOUT;
    });
}

// A location of the explorer begins with what stands in memory: sem_init writes it there.
ex::object& semaphore_at(sem_t* s, void* pc) {
    return the_runtime().locate(number(s), sizeof(std::uint64_t), role::atomic, access_kind::atomic_write, pc);
}

// A semaphore of a global's, whose word stands in its bytes. False: there is none to take.
bool change_before_main(sem_t* s, std::int64_t by) {
    std::uint64_t word = 0;
    std::memcpy(&word, s, sizeof word);
    const std::uint64_t count = word == ex::semaphore_word(0) ? 0 : word;
    if (by < 0 && count == 0) return false;
    word = ex::semaphore_word(count + static_cast<std::uint64_t>(by));
    std::memcpy(s, &word, sizeof word);
    return true;
}
int take_one_before_main(sem_t* s, int error) {
    if (change_before_main(s, -1)) return 0;
    errno = error;
    return -1;
}

// The program's errno is the thread's own: it is set when its block is back.
template <class Ask>
int ask(sem_t* s, void* pc, Ask of) {
    if (!in_program) return 0;
    int error = 0;
    {
        const outside_program now;
        if (!the_runtime().may_be_touched(number(s))) the_runtime().refuse("a semaphore of a library", pc);
        the_runtime().effect();
        error = of(semaphore_at(s, pc), place_of_call(pc));
    }
    if (error == 0) return 0;
    errno = error;
    return -1;
}

int wait_until(sem_t* s, const timespec* t, void* pc) {
    if (is_a_globals(s)) return take_one_before_main(s, ETIMEDOUT);
    return ask(s, pc, [&](ex::object& o, const ex::code_place& at) {
        const std::int64_t deadline = deadline_at(t);
        if (has_passed(deadline)) return ex::semaphore_try_wait(o, at) ? 0 : ETIMEDOUT;
        if (ex::semaphore_wait(o, true, at)) return 0;
        sleep_until(deadline);
        return ETIMEDOUT;
    });
}

template <class T>
int ends(T* p, void* pc) {
    if (is_librarys(p, pc)) return 0;
    const outside_program now;
    the_runtime().touch_bytes(number(p), sizeof *p, access_kind::write, pc);
    return 0;
}

}  // namespace

extern "C" {

// A plain write begins another lock in the same place.
int pthread_rwlock_init(pthread_rwlock_t* l, const pthread_rwlockattr_t*) noexcept {
    give_before_main(l);
    ends(l, CALLER);
    std::memset(l, 0, sizeof *l);
    return 0;
}
int pthread_rwlock_destroy(pthread_rwlock_t* l) noexcept { return ends(l, CALLER); }
int pthread_rwlock_rdlock(pthread_rwlock_t* l) noexcept {
    void* const pc = CALLER;
    if (is_a_globals(l)) return take_or_refuse(l, 8, hold::shared, pc);
    return ask(l, pc, [=](ex::object& o, const ex::code_place& at) {
        ex::lock_shared(o, at, !is_by_the_library(pc));
        return 0;
    });
}
int pthread_rwlock_wrlock(pthread_rwlock_t* l) noexcept {
    if (is_a_globals(l)) return take_or_refuse(l, 8, hold::alone, CALLER);
    return ask(l, CALLER, [](ex::object& o, const ex::code_place& at) { return ex::lock(o, at), 0; });
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) noexcept {
    void* const pc = CALLER;
    if (is_a_globals(l)) return take(l, hold::shared, EBUSY, pc);
    return ask(l, pc, [=](ex::object& o, const ex::code_place& at) {
        return ex::try_lock_shared(o, at, !is_by_the_library(pc)) ? 0 : EBUSY;
    });
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* l) noexcept {
    if (is_a_globals(l)) return take(l, hold::alone, EBUSY, CALLER);
    void* const pc = CALLER;
    return ask(l, pc, [=](ex::object& o, const ex::code_place& at) {
        return ex::try_lock(o, at, !is_by_the_library(pc)) ? 0 : EBUSY;
    });
}
int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* t) noexcept { return read_until(l, t, CALLER); }
int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* t) noexcept { return write_until(l, t, CALLER); }
int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t, const timespec* t) noexcept {
    return read_until(l, t, CALLER);
}
int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t, const timespec* t) noexcept {
    return write_until(l, t, CALLER);
}
int pthread_rwlock_unlock(pthread_rwlock_t* l) noexcept {
    give_before_main(l);
    return ask(l, CALLER, [](ex::object& o, const ex::code_place& at) {
        holds(o) ? ex::unlock(o, at) : ex::unlock_shared(o, at);
        return 0;
    });
}

int sem_init(sem_t* s, int, unsigned count) noexcept {
    if (count > SEM_VALUE_MAX) {
        errno = EINVAL;
        return -1;
    }
    ends(s, CALLER);
    const std::uint64_t word = ex::semaphore_word(count);
    std::memcpy(s, &word, sizeof word);
    return 0;
}
int sem_destroy(sem_t* s) noexcept { return ends(s, CALLER); }
int sem_wait(sem_t* s) {
    if (is_a_globals(s)) {
        if (!change_before_main(s, -1)) refuse_outside("a semaphore is waited for that nobody posts,", CALLER);
        return 0;
    }
    return ask(s, CALLER, [](ex::object& o, const ex::code_place& at) {
        ex::semaphore_wait(o, false, at);
        return 0;
    });
}
int sem_trywait(sem_t* s) noexcept {
    if (is_a_globals(s)) return take_one_before_main(s, EAGAIN);
    return ask(s, CALLER,
               [](ex::object& o, const ex::code_place& at) { return ex::semaphore_try_wait(o, at) ? 0 : EAGAIN; });
}
int sem_timedwait(sem_t* s, const timespec* t) { return wait_until(s, t, CALLER); }
int sem_clockwait(sem_t* s, clockid_t, const timespec* t) { return wait_until(s, t, CALLER); }
int sem_post(sem_t* s) noexcept {
    if (is_a_globals(s)) return change_before_main(s, 1), 0;
    return ask(s, CALLER, [](ex::object& o, const ex::code_place& at) { return ex::semaphore_post(o, at), 0; });
}
int sem_getvalue(sem_t* s, int* count) noexcept {
    void* const pc = CALLER;
    if (is_a_globals(s)) {
        std::uint64_t word = 0;
        std::memcpy(&word, s, sizeof word);
        *count = word == ex::semaphore_word(0) ? 0 : static_cast<int>(word);
        return 0;
    }
    return ask(s, pc, [&](ex::object& o, const ex::code_place& at) {
        the_runtime().touch_bytes(number(count), sizeof *count, access_kind::write, pc);
        *count = static_cast<int>(ex::semaphore_count(o, at));
        return 0;
    });
}
}

namespace apiary::model::as_it_is {
void shared_locks_are_linked() {}
}  // namespace apiary::model::as_it_is
