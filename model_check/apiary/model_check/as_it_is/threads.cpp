// threads: what a program asks of the threads' library, as operations of the explorer.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <apiary/model_check/as_it_is/before_main.hpp>
#include <apiary/model_check/as_it_is/calls.hpp>
#include <apiary/model_check/as_it_is/image.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>
#include <apiary/model_check/never_reached.hpp>

namespace apiary::model::as_it_is {

void threads_are_linked() {}

// There is nothing yet, or no longer, that could follow it; and what waits for it would wait for ever.
[[noreturn]] void refuse_outside(const char* what, void* pc) {
    std::fprintf(stderr, "refused: %s outside of a scenario (%s). Remedy: within APIARY_SCENARIO\n", what,
                 place_text(pc).c_str());
    std::_Exit(EXIT_FAILURE);
}

void refuse_lock(void* pc) {
    const outside_program now;
    the_runtime().refuse(
        "a lock in memory that is not put back between executions (a library's, or from before the scenario)", pc);
}

}  // namespace apiary::model::as_it_is

namespace {

using namespace apiary::model::as_it_is;
using apiary::model::came_to_locks;
using apiary::model::came_to_meets;
namespace ex = apiary::model::explorer;

#define CALLER __builtin_return_address(0)

bool is_recursive(const pthread_mutex_t* m) { return (m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP; }
struct once_state {
    static constexpr std::uint64_t done = 2;
};

// A lock that the thread holds already is counted, where the mutex is a recursive one.
bool takes_again(pthread_mutex_t* m, const ex::object& o) {
    if (!holds(o) || !is_recursive(m)) return false;
    the_runtime().effect();
    ++m->__data.__count;
    return true;
}

// Of the thread's tries since it last had the lock: those that failed because another thread had it.
unsigned failed_tries(const ex::object& o) {
    ex::engine& e = runtime::engine();
    if (e.sequential()) return 0;
    const std::uint32_t slot = e.heap().objects[o.id].slot;
    const auto& events = e.current().threads[e.current_thread()];
    unsigned n = 0;
    for (std::size_t i = e.next_index(); i-- > 0;) {
        if (events[i].slot != slot || events[i].kind != ex::event_kind::read) continue;
        if (events[i].has(ex::exclusive)) break;
        if (!events[i].has(ex::forced)) ++n;
    }
    return n;
}

}  // namespace

namespace apiary::model::as_it_is {

// Before main: a recursive mutex is counted in its bytes, as in a scenario.
static bool takes_again_before_main(pthread_mutex_t* m) {
    if (!is_held_before_main(m) || !is_recursive(m)) return false;
    ++m->__data.__count;
    return true;
}

int lock_mutex_until(pthread_mutex_t* m, const timespec* t, void* pc) {
    if (is_librarys(m, pc)) return takes_again_before_main(m) || take_before_main(m, 8, hold::alone, pc) ? 0 : ETIMEDOUT;
    const outside_program now;
    the_runtime().effect();
    ex::object& o = lock_at(m, pc);
    return takes_again(m, o) || lock_until(o, deadline_at(t), place_of_call(pc)) ? 0 : ETIMEDOUT;
}

int condition_wait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until, void* pc) {
    if (!in_program) refuse_outside("a condition is waited for", pc);
    const outside_program now;
    const std::int64_t deadline = deadline_at(until);
    the_runtime().effect();
    const ex::code_place& at = place_of_call(pc);
    ex::object queue = queue_at(c, 8, pc), mutex = lock_at(m, pc);
    if (deadline == never) {
        ex::wait(queue, mutex, at);
        return 0;
    }
    if (has_passed(deadline)) {
        ex::unlock(mutex, at);
        ex::lock(mutex, at);
        return ETIMEDOUT;
    }
    if (ex::wait_or_give_up(queue, mutex, at)) return 0;
    sleep_until(deadline);
    return ETIMEDOUT;
}

int lock_mutex(pthread_mutex_t* m, void* pc) {
    if (is_librarys(m, pc)) return takes_again_before_main(m) ? 0 : take_or_refuse(m, 8, hold::alone, pc);
    const registers where = apiary_registers.with(m);
    const outside_program now;
    the_runtime().may_stall(pc, where, "lock");
    ex::object& o = lock_at(m, pc);
    if (takes_again(m, o)) return 0;
    const ex::vector_clock knew = runtime::engine().knowledge();
    ex::lock(o, place_of_call(pc));
    if (tells_reach) the_runtime().tell_lock(knew, pc);
    the_runtime().takes(o);
    return 0;
}
int try_lock_mutex(pthread_mutex_t* m, void* pc) {
    if (is_librarys(m, pc)) return takes_again_before_main(m) || take_before_main(m, 8, hold::alone, pc) ? 0 : EBUSY;
    const registers where = apiary_registers.with(m);
    const outside_program now;
    the_runtime().may_stall(pc, where, "try_lock");
    ex::object& o = lock_at(m, pc);
    if (takes_again(m, o)) return 0;
    the_runtime().came_to(came_to_locks, pc);
    if (!ex::try_lock(o, place_of_call(pc), !is_by_the_library(pc))) {
        the_runtime().came_to(came_to_meets, pc);
        // A loop that counts its tries would go round for ever while another thread stands still.
        if (failed_tries(o) > most_failed_tries && runtime::engine().at_end())
            ex::stall({[](const void*, std::uint64_t) { return true; }, nullptr}, place_of_call(pc), "try_lock");
        return EBUSY;
    }
    the_runtime().takes(o);
    return 0;
}
int unlock_mutex(pthread_mutex_t* m, void* pc) {
    if (is_librarys(m, pc)) {
        if (is_held_before_main(m) && is_recursive(m) && m->__data.__count > 0)
            --m->__data.__count;
        else
            give_before_main(m);
        return 0;
    }
    const outside_program now;
    ex::object& o = lock_at(m, pc);
    if (holds(o) && is_recursive(m) && m->__data.__count > 0) {
        the_runtime().effect();
        --m->__data.__count;
        return 0;
    }
    ex::unlock(o, place_of_call(pc));
    the_runtime().gives_back(o);
    return 0;
}
int once_only(void* once, void (*initialise)(), void* pc) {
    auto* const flag = static_cast<char*>(once);
    if (is_librarys(once, pc)) {
        if (*flag == 0) initialise();
        *flag = 2;
        return 0;
    }
    const auto state = [&]() -> ex::object& {
        return the_runtime().locate(number(flag), 1, role::atomic, access_kind::atomic_write, pc);
    };
    const auto leave = [&](bool done) {
        const outside_program now;
        if (done) ex::store(state(), once_state::done, std::memory_order_release, place_of_call(pc));
        ex::unlock(lock_at(flag + 1, pc, 1), place_of_call(pc));
    };
    {
        const outside_program now;
        the_runtime().effect();
        const ex::code_place& at = place_of_call(pc);
        if (ex::load(state(), std::memory_order_acquire, at) == once_state::done) return 0;
        ex::lock(lock_at(flag + 1, pc, 1), at);
        if (ex::load(state(), std::memory_order_relaxed, at) == once_state::done) {
            ex::unlock(lock_at(flag + 1, pc, 1), at);
            return 0;
        }
    }
    try {
        initialise();
    } catch (...) {
        leave(false);
        throw;
    }
    leave(true);
    return 0;
}

unsigned thread_named(pthread_t t, void* pc) {
    const unsigned which = the_runtime().thread_of(t);
    if (which == ex::max_threads) the_runtime().fail("undefined behaviour: what is no thread is joined or detached", pc);
    return which;
}

int notify(pthread_cond_t* c, bool all, void* pc) {
    if (!in_program) return 0;
    const outside_program now;
    the_runtime().effect();
    ex::object& queue = queue_at(c, 8, pc);
    (void)(all ? ex::notify_all(queue, place_of_call(pc)) : ex::notify_one(queue, place_of_call(pc)));
    return 0;
}

}  // namespace apiary::model::as_it_is

namespace {

int at_exit_of(const char* name, void (*destroy)(void*), void* object, void* module) {
    return reinterpret_cast<int (*)(void (*)(void*), void*, void*)>(::dlsym(RTLD_NEXT, name))(destroy, object, module);
}


// A plain write begins another one in the same place.
void ends(pthread_cond_t* c, void* pc) {
    the_runtime().condition_ends(number(c));
    the_runtime().touch_bytes(number(c), sizeof *c, access_kind::write, pc);
}

}  // namespace

extern "C" {

// ---- threads --------------------------------------------------------------------------------------------------

int pthread_create(pthread_t* t, const pthread_attr_t*, void* (*start)(void*), void* argument) {
    if (!in_program) refuse_outside("a thread is started", CALLER);
    const outside_program now;
    the_runtime().touch_bytes(number(t), sizeof *t, access_kind::write, CALLER);
    *t = thread_pointer_of(the_runtime().start_thread(start, nullptr, argument, CALLER));
    return 0;
}
int pthread_join(pthread_t t, void** result) {
    if (!in_program) refuse_outside("a thread is joined", CALLER);
    const outside_program now;
    void** const value = the_runtime().join(thread_named(t, CALLER), result != nullptr, CALLER);
    if (value == nullptr) return EDEADLK;
    if (result != nullptr) *result = *value;
    return 0;
}
int pthread_detach(pthread_t t) {
    if (!in_program) return 0;
    const outside_program now;
    the_runtime().leave(thread_named(t, CALLER), CALLER);
    return 0;
}
pthread_t pthread_self() noexcept {
    if (in_program) {
        const outside_program now;
        the_runtime().asks_who_it_is();
    } else if (a_global_is_made()) {
        return thread_pointer_before_main();
    }
    return reinterpret_cast<pthread_t>(__builtin_thread_pointer());
}
int sched_yield() { return 0; }
int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* module) noexcept {
    if (!in_program) return at_exit_of("__cxa_thread_atexit", destroy, object, module);
    const outside_program now;
    the_runtime().me().at_end.emplace_back(destroy, object);
    return 0;
}

// The destructor of a static local: the variable is put back before the next execution instead.
int __cxa_atexit(void (*destroy)(void*), void* object, void* module) noexcept {
    return in_program ? 0 : at_exit_of("__cxa_atexit", destroy, object, module);
}

// ---- mutex, condition variable, once ----------------------------------------------------------------------------

// A plain write begins another mutex in the same place.
int pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* how) {
    const bool ours = !is_librarys(m, CALLER);
    give_before_main(m);
    const outside_program now;
    if (ours) the_runtime().touch_bytes(number(m), sizeof *m, access_kind::write, CALLER);
    const auto library = reinterpret_cast<int (*)(pthread_mutex_t*, const pthread_mutexattr_t*)>(
        ::dlsym(RTLD_NEXT, "pthread_mutex_init"));
    return library(m, how);
}
int pthread_mutex_destroy(pthread_mutex_t* m) {
    give_before_main(m);
    if (is_librarys(m, CALLER)) return 0;
    const outside_program now;
    the_runtime().touch_bytes(number(m), sizeof *m, access_kind::write, CALLER);
    return 0;
}
int apiary_pthread_mutex_lock(pthread_mutex_t* m) { return lock_mutex(m, CALLER); }
int apiary_pthread_mutex_trylock(pthread_mutex_t* m) { return try_lock_mutex(m, CALLER); }
KEEPS_REGISTERS_OF(pthread_mutex_lock, pthread_mutex_lock)
KEEPS_REGISTERS_OF(pthread_mutex_trylock, pthread_mutex_trylock)
int pthread_mutex_unlock(pthread_mutex_t* m) { return unlock_mutex(m, CALLER); }
int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* t) { return lock_mutex_until(m, t, CALLER); }
int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t, const timespec* t) { return lock_mutex_until(m, t, CALLER); }

int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) { return condition_wait(c, m, nullptr, CALLER); }
int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* t) {
    return condition_wait(c, m, t, CALLER);
}
int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t, const timespec* t) {
    return condition_wait(c, m, t, CALLER);
}
int pthread_cond_signal(pthread_cond_t* c) {
    return notify(c, false, CALLER);
}
int pthread_cond_broadcast(pthread_cond_t* c) {
    return notify(c, true, CALLER);
}
int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* how) {
    const bool ours = !is_librarys(c, CALLER);
    const outside_program now;
    if (ours) ends(c, CALLER);
    const auto library =
        reinterpret_cast<int (*)(pthread_cond_t*, const pthread_condattr_t*)>(::dlsym(RTLD_NEXT, "pthread_cond_init"));
    return library(c, how);
}
int pthread_cond_destroy(pthread_cond_t* c) {
    if (!in_program) return 0;
    const outside_program now;
    ends(c, CALLER);
    return 0;
}

int __cxa_guard_acquire(std::int64_t* guard) {
    auto* const flag = reinterpret_cast<char*>(guard);
    if (is_librarys(guard, CALLER)) return *flag == 0 ? 1 : 0;
    const outside_program now;
    runtime& r = the_runtime();
    r.effect();
    const ex::code_place& at = place_of_call(CALLER);
    ex::lock(lock_at(flag + 1, CALLER, 1), at);
    if (ex::load(r.locate(number(flag), 1, role::atomic, access_kind::atomic_read, CALLER), std::memory_order_relaxed,
                 at) == 0)
        return 1;
    ex::unlock(lock_at(flag + 1, CALLER, 1), at);
    return 0;
}
void __cxa_guard_release(std::int64_t* guard) {
    auto* const flag = reinterpret_cast<char*>(guard);
    if (is_librarys(guard, CALLER)) {
        *flag = 1;
        return;
    }
    const outside_program now;
    runtime& r = the_runtime();
    r.effect();
    const ex::code_place& at = place_of_call(CALLER);
    ex::store(r.locate(number(flag), 1, role::atomic, access_kind::atomic_write, CALLER), 1, std::memory_order_release,
              at);
    ex::unlock(lock_at(flag + 1, CALLER, 1), at);
}
void __cxa_guard_abort(std::int64_t* guard) {
    if (is_librarys(guard, CALLER)) return;
    const outside_program now;
    the_runtime().effect();
    ex::unlock(lock_at(reinterpret_cast<char*>(guard) + 1, CALLER, 1), place_of_call(CALLER));
}

int pthread_once(pthread_once_t* once, void (*initialise)()) { return once_only(once, initialise, CALLER); }
}
