// api: what explorer_sync asks of the explorer. Values are 64-bit words; every call comes from a modelled
// thread (a fiber), and may never return when the execution ends there.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <apiary/model_check/check.hpp>

namespace apiary::model::explorer {

using code_place = std::source_location;

// Stands in every watched object and ties it to the execution that constructed it.
struct object {
    std::uint32_t run = 0;
    std::uint32_t id = 0;
};

// A predicate that outlives nothing: it is asked while its thread stands in spin_until().
struct predicate {
    bool (*holds)(const void* closure, std::uint64_t value);
    const void* closure;
};

// The end of an object, whatever it is.
void object_ends(object& o);

// Atomics.
void construct_atomic(object& o, bool has_value, std::uint64_t value);
std::uint64_t load(const object& o, std::memory_order order, const code_place& at);
void store(object& o, std::uint64_t value, std::memory_order order, const code_place& at,
           const char* operation = "store");
// What a read-modify-write makes of the value it read; pure.
struct change {
    std::uint64_t (*of)(const void* closure, std::uint64_t old);
    const void* closure;
};
std::uint64_t read_modify_write(object& o, change to, std::memory_order order, const code_place& at,
                                const char* operation);
bool compare_exchange(object& o, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure, bool weak, const code_place& at);
// Compares and changes only the bits of `mask`.
bool compare_exchange(object& o, std::uint64_t& expected, change to, std::uint64_t mask, std::memory_order success,
                      std::memory_order failure, bool weak, const code_place& at);
std::uint64_t spin_until(const object& o, predicate done, const code_place& at);
void fence(std::memory_order order, const code_place& at);
void fence_light(const code_place& at);
void fence_heavy(const code_place& at);

// Plain data.
void construct_cell(object& o, bool has_value);
// `shown`: the value, for a trace; null where it is no number.
void read_cell(const object& o, const code_place& at, const std::uint64_t* shown);
void write_cell(object& o, const code_place& at, const std::uint64_t* shown);

// Blocking primitives, each one location.
void construct_blocker(object& o);
void lock(object& mutex, const code_place& at);
// `may_own`: C's calls may be made by a thread that has the lock, those of C++ may not.
bool try_lock(object& mutex, const code_place& at, bool may_own = false);
void unlock(object& mutex, const code_place& at);
// The end of a mutex, of a condition variable: nobody may have it, or wait for it.
void lock_ends(const object& mutex);
void condition_ends(const object& condvar);
void wait(object& condvar, object& mutex, const code_place& at);
unsigned notify_one(object& condvar, const code_place& at);  // how many it woke
unsigned notify_all(object& condvar, const code_place& at);
// False when it gave up; never gives up when `may_time_out` is false.
bool park(object& parker, bool may_time_out, const code_place& at);
bool take_token(object& parker, const code_place& at);
void unpark(object& parker, const code_place& at);
// The lower half of the location is the program's word. False when it gave up.
bool futex_wait(object& futex, std::uint32_t expected, bool may_time_out, const code_place& at);
void futex_wake(object& futex, bool all, const code_place& at);

// Of a front end whose waits are no objects of ours (as_it_is/): a read with `order`, once `done` holds of it. Where it
// never does, the execution is a deadlock, or with `or_none` no execution at all.
std::uint64_t wait_until(const object& o, predicate done, std::memory_order order, const code_place& at,
                         const char* operation, bool or_none);
// The thread goes on no more, unless a later store serves one of its reads. `none` is asked at the end: whether the
// execution is none; else it is a deadlock.
[[noreturn]] void stall(predicate none, const code_place& at, const char* operation);
// A lock that may give up: false when it did.
bool lock_or_give_up(object& mutex, const code_place& at);
// A lock that readers share, at most fifteen times a thread; a writer has it by lock() and unlock().
void lock_shared(object& rwlock, const code_place& at, bool may_own = false);
bool lock_shared_or_give_up(object& rwlock, const code_place& at, bool may_own = false);
bool try_lock_shared(object& rwlock, const code_place& at, bool may_own = false);
void unlock_shared(object& rwlock, const code_place& at);
// A semaphore; its location begins with semaphore_word(count). False: it gave up, or it was 0.
std::uint64_t semaphore_word(std::uint64_t count);
bool semaphore_wait(object& semaphore, bool may_time_out, const code_place& at);
bool semaphore_try_wait(object& semaphore, const code_place& at);
void semaphore_post(object& semaphore, const code_place& at);
std::uint64_t semaphore_count(const object& semaphore, const code_place& at);
// A condition variable's wait that may give up: false when it did.
bool wait_or_give_up(object& condvar, object& mutex, const code_place& at);
// A queue of waiters apart from any word: to enter it, and to block in it until notify_one or notify_all.
void enter_queue(object& queue, const code_place& at);
bool block_in_queue(object& queue, bool may_time_out, const code_place& at);

// Choices, time, memory, verdicts.
std::uint32_t choose(std::uint32_t n, const code_place& at);
std::int64_t& thread_clock();
// What memory is for: an object of create(), bytes of allocate(), an object that ends with its scope.
enum class storage : std::uint8_t { heap, raw, scope };
void* allocate(std::size_t size, std::size_t alignment, const char* type, storage what);
void before_destroy(void* p, storage what);
// Bytes go back as many as they were, and aligned as they were.
void before_deallocate(void* p, std::size_t size, std::size_t alignment);
void release(void* p);
// The modelled thread's own pointer, one for each key; null when an execution begins.
void*& thread_slot(const void* key);
void reach(const char* name);
// What a verdict's bound must say is no matter of how the execution ends: one that is given up, too, has done it.
void reach_in_any_run(const char* name);
bool look_again(const char* name);
void law_asked();
[[noreturn]] void fail(const char* what, const code_place& at);

// A check without its type.
struct program {
    const char* name;
    unsigned threads;
    std::uint16_t alike;  // bits: threads that run the same code and never look at their own number
    std::size_t size, alignment;
    void (*construct)(void* where);
    void (*before)(void* check);
    void (*thread)(void* check, unsigned i);
    void (*invariant)(void* check);  // may be null
    void (*after)(void* check);
    std::string_view (*outcome)(void* check, std::array<char, 128>& buffer);  // may be null
    void (*destroy)(void* check);
    void (*left)();          // may be null; after each run, however it ended
    const char* recognised;  // may be null: waits are spin_until(), and no loop of the program's is recognised
    // May be null. A failure that begins with it ends the search, and nothing is drawn of it.
    const char* no_finding;
};

verdict explore(const program& p, const search_options& options);

}  // namespace apiary::model::explorer
