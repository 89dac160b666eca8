// calls: what stands in front of the threads' library and of the kernel has in common (threads.cpp,
// shared_locks.cpp, kernel.cpp).
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>

namespace apiary::model::as_it_is {

// What stands behind: the library's.
template <class Function>
Function* library(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

inline std::uintptr_t number(const volatile void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// A lock, by its first bytes: whatever is written there begins another one.
inline explorer::object& lock_at(const void* p, void* pc, std::size_t bytes = 8) {
    return the_runtime().locate(number(p), bytes, role::mutex, access_kind::atomic_write, pc);
}
inline explorer::object& queue_at(const void* p, std::size_t bytes, void* pc) {
    return the_runtime().locate(number(p), bytes, role::queue, access_kind::atomic_write, pc);
}
inline explorer::object& futex_at(const void* p, void* pc) {
    return the_runtime().locate(number(p), 4, role::queue, access_kind::queue, pc);
}

[[noreturn]] void refuse_lock(void* pc);
// A lock inside a library guards what is not watched; modelled threads change places at the
// program's own operations only. One of the program's own that is not put back is refused.
inline bool is_librarys(const void* p, void* pc) {
    if (!in_program) return true;
    if (the_runtime().may_be_touched(number(p))) return false;
    if (!is_of_the_program(number(pc))) return true;
    refuse_lock(pc);
}

// An execution in which a thread's try_lock fails more often in a row because another thread has the lock is none.
inline constexpr unsigned most_failed_tries = 50;

// Whether the thread that runs holds it, alone.
inline bool holds(const explorer::object& o) {
    return runtime::engine().heap().objects[o.id].holder == 1 + runtime::engine().current_thread();
}

// As the C library's functions answer: 0, or errno's number (threads.cpp).
int lock_mutex(pthread_mutex_t* m, void* pc);
int try_lock_mutex(pthread_mutex_t* m, void* pc);
int lock_mutex_until(pthread_mutex_t* m, const timespec* t, void* pc);
int unlock_mutex(pthread_mutex_t* m, void* pc);
int condition_wait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until, void* pc);
int notify(pthread_cond_t* c, bool all, void* pc);
// Of those that were started, and the first.
unsigned thread_named(pthread_t t, void* pc);
int once_only(void* once, void (*initialise)(), void* pc);
[[noreturn]] void refuse_outside(const char* what, void* pc);

// Time: every clock is the thread's own.
inline constexpr std::int64_t never = INT64_MAX;
std::int64_t deadline_at(const timespec* t);  // null: never
std::int64_t deadline_after(const timespec* t);
bool has_passed(std::int64_t deadline);
void sleep_until(std::int64_t deadline);
// False: it has passed, and the lock was not free.
bool lock_until(explorer::object& lock, std::int64_t deadline, const explorer::code_place& at);

}  // namespace apiary::model::as_it_is
