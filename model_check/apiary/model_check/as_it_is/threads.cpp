// threads: what a program asks of the threads' library and of the kernel, as operations of the explorer.
//
// A futex's queue stands apart from its word. The kernel compares and enqueues in one step: a thread that enters the queue
// and still sees the old value may sleep. Here it looks first (another value: it does not sleep), enters, passes a
// fence, and must see the value again; an execution in which it does not is none, because the first look could have
// read the newer value. A waker passes a fence between its store and the queue. So not both miss each other. Both
// fences are seq_cst ones, as the kernel's barriers are: they make no other thread pass one.
#include <dlfcn.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <ctime>

#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/as_it_is/tls.hpp>

namespace {

using namespace apiary::model::as_it_is;
namespace ex = apiary::model::explorer;

#define CALLER __builtin_return_address(0)

std::uintptr_t number(const volatile void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// A mutex, by its first bytes: whatever is written there begins another one.
ex::object& mutex_at(const void* p, void* pc, std::size_t bytes = 8) {
    return the_runtime().locate(number(p), bytes, role::mutex, access_kind::atomic_write, pc);
}
ex::object& queue_at(const void* p, std::size_t bytes, void* pc) {
    return the_runtime().locate(number(p), bytes, role::queue, access_kind::atomic_write, pc);
}

// A lock inside a library guards what is not watched; modelled threads change places at the program's own operations only.
bool is_librarys(const void* p) { return !in_program || !the_runtime().may_be_touched(number(p)); }

bool is_recursive(const pthread_mutex_t* m) { return (m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP; }
bool holds(const ex::object& o) {
    const std::uint8_t holder = runtime::engine().heap().objects[o.id].holder;
    return holder == 1 + runtime::engine().current_thread();
}

struct once_state {
    static constexpr std::uint64_t done = 2;
};

int futex_wait(std::uint32_t* word, std::uint32_t expected, bool may_time_out, void* pc) {
    runtime& r = the_runtime();
    const ex::code_place& at = place_of_call(pc);
    const auto look = [&]() -> ex::object& {
        return r.locate(number(word), 4, role::atomic, access_kind::atomic_read, pc);
    };
    if (ex::load(look(), std::memory_order_relaxed, at) != expected) return EAGAIN;
    ex::enter_queue(queue_at(word, 4, pc), at);
    ex::fence(std::memory_order_seq_cst, at);
    const ex::predicate same{[](const void* e, std::uint64_t v) { return v == *static_cast<const std::uint32_t*>(e); },
                             &expected};
    ex::wait_until(look(), same, std::memory_order_relaxed, at, "futex compares", true);
    return ex::block_in_queue(queue_at(word, 4, pc), may_time_out, at) ? 0 : ETIMEDOUT;
}

long futex_wake(std::uint32_t* word, int most, void* pc) {
    const ex::code_place& at = place_of_call(pc);
    ex::fence(std::memory_order_seq_cst, at);
    ex::object& queue = queue_at(word, 4, pc);
    if (most >= static_cast<int>(ex::max_threads)) return ex::notify_all(queue, at);
    long woken = 0;
    while (most-- > 0) woken += ex::notify_one(queue, at);
    return woken;
}

// Only the commands that are a fence order anything.
long membarrier(long command, void* pc) {
    constexpr long fences = MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_GLOBAL_EXPEDITED;
    constexpr long announcements = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    if (command == MEMBARRIER_CMD_QUERY) return fences | announcements;
    if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED || command == MEMBARRIER_CMD_GLOBAL_EXPEDITED)
        ex::fence_heavy(place_of_call(pc));
    else if (command != MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED &&
             command != MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)
        the_runtime().refuse("membarrier command " + std::to_string(command), pc);
    return 0;
}

}  // namespace

extern "C" {

// ---- threads --------------------------------------------------------------------------------------------------

int pthread_create(pthread_t* t, const pthread_attr_t*, void* (*start)(void*), void* argument) {
    if (!in_program) return EAGAIN;  // the checker starts no threads
    const outside_program now;
    the_runtime().touch_bytes(number(t), sizeof *t, access_kind::write, CALLER);
    *t = thread_pointer_of(the_runtime().start_thread(start, argument, CALLER));
    return 0;
}
int pthread_join(pthread_t t, void** result) {
    const outside_program now;
    const unsigned which = the_runtime().thread_of(t);
    if (which == ex::max_threads) the_runtime().fail("join of what is no thread", CALLER);
    void* const value = the_runtime().join(which, CALLER);
    if (result != nullptr) *result = value;
    return 0;
}
int pthread_detach(pthread_t) { return 0; }
int sched_yield() { return 0; }
int nanosleep(const timespec*, timespec*) { return 0; }
int clock_nanosleep(clockid_t, int, const timespec*, timespec*) { return 0; }
int usleep(useconds_t) { return 0; }
unsigned sleep(unsigned) { return 0; }

int __cxa_thread_atexit(void (*destroy)(void*), void* object, void*) noexcept {
    const outside_program now;
    the_runtime().me().at_end.emplace_back(destroy, object);
    return 0;
}

// The destructor of a static local: the variable is put back before the next execution instead.
int __cxa_atexit(void (*destroy)(void*), void* object, void* module) noexcept {
    const auto library = reinterpret_cast<int (*)(void (*)(void*), void*, void*)>(::dlsym(RTLD_NEXT, "__cxa_atexit"));
    return in_program ? 0 : library(destroy, object, module);
}

// ---- mutex, condition variable, once ----------------------------------------------------------------------------

// A plain write begins another mutex in the same place.
int pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* how) {
    const bool ours = !is_librarys(m);
    const outside_program now;
    if (ours) the_runtime().touch_bytes(number(m), sizeof *m, access_kind::write, CALLER);
    const auto library = reinterpret_cast<int (*)(pthread_mutex_t*, const pthread_mutexattr_t*)>(
        ::dlsym(RTLD_NEXT, "pthread_mutex_init"));
    return library(m, how);
}
int pthread_mutex_destroy(pthread_mutex_t* m) {
    if (is_librarys(m)) return 0;
    const outside_program now;
    the_runtime().touch_bytes(number(m), sizeof *m, access_kind::write, CALLER);
    return 0;
}
int pthread_mutex_lock(pthread_mutex_t* m) {
    if (is_librarys(m)) return 0;
    const outside_program now;
    the_runtime().effect();
    ex::object& o = mutex_at(m, CALLER);
    if (holds(o) && is_recursive(m)) {
        ++m->__data.__count;
        return 0;
    }
    ex::lock(o, place_of_call(CALLER));
    return 0;
}
int pthread_mutex_trylock(pthread_mutex_t* m) {
    if (is_librarys(m)) return 0;
    const outside_program now;
    the_runtime().effect();
    ex::object& o = mutex_at(m, CALLER);
    if (holds(o) && is_recursive(m)) {
        ++m->__data.__count;
        return 0;
    }
    return ex::try_lock(o, place_of_call(CALLER)) ? 0 : EBUSY;
}
int pthread_mutex_unlock(pthread_mutex_t* m) {
    if (is_librarys(m)) return 0;
    const outside_program now;
    the_runtime().effect();
    ex::object& o = mutex_at(m, CALLER);
    if (holds(o) && is_recursive(m) && m->__data.__count > 0) {
        --m->__data.__count;
        return 0;
    }
    ex::unlock(o, place_of_call(CALLER));
    return 0;
}
int pthread_mutex_timedlock(pthread_mutex_t*, const timespec*) {
    const outside_program now;
    the_runtime().refuse("a mutex that is waited for with a deadline", CALLER);
}
int pthread_mutex_clocklock(pthread_mutex_t*, clockid_t, const timespec*) {
    const outside_program now;
    the_runtime().refuse("a mutex that is waited for with a deadline", CALLER);
}

int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
    const outside_program now;
    the_runtime().effect();
    ex::object queue = queue_at(c, 8, CALLER), mutex = mutex_at(m, CALLER);
    ex::wait(queue, mutex, place_of_call(CALLER));
    return 0;
}
int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec*) {
    const outside_program now;
    the_runtime().effect();
    ex::object queue = queue_at(c, 8, CALLER), mutex = mutex_at(m, CALLER);
    return ex::wait_or_give_up(queue, mutex, place_of_call(CALLER)) ? 0 : ETIMEDOUT;
}
int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t, const timespec*) {
    const outside_program now;
    the_runtime().effect();
    ex::object queue = queue_at(c, 8, CALLER), mutex = mutex_at(m, CALLER);
    return ex::wait_or_give_up(queue, mutex, place_of_call(CALLER)) ? 0 : ETIMEDOUT;
}
int pthread_cond_signal(pthread_cond_t* c) {
    const outside_program now;
    the_runtime().effect();
    ex::notify_one(queue_at(c, 8, CALLER), place_of_call(CALLER));
    return 0;
}
int pthread_cond_broadcast(pthread_cond_t* c) {
    const outside_program now;
    the_runtime().effect();
    ex::notify_all(queue_at(c, 8, CALLER), place_of_call(CALLER));
    return 0;
}
int pthread_cond_init(pthread_cond_t* c, const pthread_condattr_t* how) {
    const bool ours = !is_librarys(c);
    const outside_program now;
    if (ours) the_runtime().touch_bytes(number(c), sizeof *c, access_kind::write, CALLER);
    const auto library =
        reinterpret_cast<int (*)(pthread_cond_t*, const pthread_condattr_t*)>(::dlsym(RTLD_NEXT, "pthread_cond_init"));
    return library(c, how);
}
int pthread_cond_destroy(pthread_cond_t* c) {
    if (!in_program) return 0;
    const outside_program now;
    the_runtime().touch_bytes(number(c), sizeof *c, access_kind::write, CALLER);
    return 0;
}

int __cxa_guard_acquire(std::int64_t* guard) {
    auto* const flag = reinterpret_cast<char*>(guard);
    if (is_librarys(guard)) return *flag == 0 ? 1 : 0;
    const outside_program now;
    runtime& r = the_runtime();
    r.effect();
    const ex::code_place& at = place_of_call(CALLER);
    ex::lock(mutex_at(flag + 1, CALLER, 1), at);
    if (ex::load(r.locate(number(flag), 1, role::atomic, access_kind::atomic_read, CALLER), std::memory_order_relaxed,
                 at) == 0)
        return 1;
    ex::unlock(mutex_at(flag + 1, CALLER, 1), at);
    return 0;
}
void __cxa_guard_release(std::int64_t* guard) {
    auto* const flag = reinterpret_cast<char*>(guard);
    if (is_librarys(guard)) {
        *flag = 1;
        return;
    }
    const outside_program now;
    runtime& r = the_runtime();
    r.effect();
    const ex::code_place& at = place_of_call(CALLER);
    ex::store(r.locate(number(flag), 1, role::atomic, access_kind::atomic_write, CALLER), 1, std::memory_order_release,
              at);
    ex::unlock(mutex_at(flag + 1, CALLER, 1), at);
}
void __cxa_guard_abort(std::int64_t* guard) {
    if (is_librarys(guard)) return;
    const outside_program now;
    the_runtime().effect();
    ex::unlock(mutex_at(reinterpret_cast<char*>(guard) + 1, CALLER, 1), place_of_call(CALLER));
}

int pthread_once(pthread_once_t* once, void (*initialise)()) {
    void* const pc = CALLER;
    auto* const flag = reinterpret_cast<char*>(once);
    if (is_librarys(once)) {
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
        ex::unlock(mutex_at(flag + 1, pc, 1), place_of_call(pc));
    };
    {
        const outside_program now;
        the_runtime().effect();
        const ex::code_place& at = place_of_call(pc);
        if (ex::load(state(), std::memory_order_acquire, at) == once_state::done) return 0;
        ex::lock(mutex_at(flag + 1, pc, 1), at);
        if (ex::load(state(), std::memory_order_relaxed, at) == once_state::done) {
            ex::unlock(mutex_at(flag + 1, pc, 1), at);
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

// ---- the kernel -----------------------------------------------------------------------------------------------------

long syscall(long which, ...) {
    std::va_list list;
    va_start(list, which);
    long a[6];
    for (long& x : a) x = va_arg(list, long);
    va_end(list);
    if (!in_program) {
        long result = 0;
        register long r10 __asm__("r10") = a[3];
        register long r8 __asm__("r8") = a[4];
        register long r9 __asm__("r9") = a[5];
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(which), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        if (result >= 0 || result < -4095) return result;
        errno = static_cast<int>(-result);
        return -1;
    }
    int error = 0;
    long result = 0;
    {
        const outside_program now;
        runtime& r = the_runtime();
        r.effect();
        auto* const word = reinterpret_cast<std::uint32_t*>(a[0]);
        const long operation = a[1] & FUTEX_CMD_MASK;
        if (which == SYS_membarrier)
            result = membarrier(a[0], CALLER);
        else if (which != SYS_futex)
            r.refuse("system call " + std::to_string(which), CALLER);
        else if ((operation == FUTEX_WAIT_BITSET || operation == FUTEX_WAKE_BITSET) &&
                 static_cast<std::uint32_t>(a[5]) != FUTEX_BITSET_MATCH_ANY)
            r.refuse("a futex with a mask", CALLER);
        else if (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET)
            error = futex_wait(word, static_cast<std::uint32_t>(a[2]), a[3] != 0, CALLER);
        else if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET)
            result = futex_wake(word, static_cast<int>(a[2]), CALLER);
        else
            r.refuse("futex operation " + std::to_string(operation), CALLER);
    }
    if (error == 0) return result;
    errno = error;
    return -1;
}

// A clock of the thread's own, which moves by a microsecond whenever it is asked.
int clock_gettime(clockid_t which, timespec* out) {
    if (!in_program) {
        long result = 0;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(SYS_clock_gettime), "D"(which), "S"(out)
                         : "rcx", "r11", "memory");
        return static_cast<int>(result);
    }
    const outside_program now;
    modelled_thread& m = the_runtime().me();
    ++m.effects;
    m.clock += 1000;
    out->tv_sec = 1'000'000 + m.clock / 1'000'000'000;
    out->tv_nsec = m.clock % 1'000'000'000;
    return 0;
}
}

namespace apiary::model::as_it_is {
void threads_are_linked() {}
}  // namespace apiary::model::as_it_is
