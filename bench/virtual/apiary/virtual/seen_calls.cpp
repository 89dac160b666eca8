// What the compiler calls in scenarios that are compiled to be seen: in each basic block (-fsanitize-coverage=trace-pc), and
// in front of each access to plain memory and to std::atomic (-fsanitize=thread; no sanitizer is linked).
//
// A block adds its price to the clock of the thread. An access costs nothing where the processor has the line: its
// instruction is in a block. Where the line has to come it costs what any access costs. An operation of std::atomic is one
// of the policy. Outside of a thread of the machine all of them are free.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <apiary/virtual/machine.hpp>

namespace {

using apiary::virt::access;
using apiary::virt::machine;
using apiary::virt::picoseconds;
using apiary::virt::place;

#define CALLER __builtin_return_address(0)

[[gnu::always_inline]] inline void plain(const volatile void* p, std::size_t bytes, access kind, const void* pc) {
    if (machine::running() != nullptr) machine::current()->touch_plain(const_cast<const void*>(p), bytes, kind, pc);
}

// One thread of the host: plain memory does.
void shared(const volatile void* p, std::size_t bytes, access kind, const void* pc) {
    if (machine::running() == nullptr) return;
    machine& m = *machine::current();
    const picoseconds hit = kind == access::change ? m.priced().change_hit : m.priced().hit;
    m.touch(const_cast<const void*>(p), bytes, kind, hit, machine::place_of(pc));
}
template <class T, class F>
T change(volatile T* p, const void* pc, F f) {
    shared(p, sizeof(T), access::change, pc);
    const T old = *p;
    *p = static_cast<T>(f(old));
    return old;
}
template <class T>
bool compare_exchange(volatile T* p, T* expected, T desired, const void* pc) {
    shared(p, sizeof(T), access::change, pc);
    const T old = *p;
    if (old == *expected) {
        *p = desired;
        return true;
    }
    *expected = old;
    return false;
}

}  // namespace

extern "C" {

void __sanitizer_cov_trace_pc() { ++machine::blocks_run; }

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define PLAIN(n)                                                                                        \
    void __tsan_read##n(void* p) { plain(p, n, access::load, CALLER); }                                 \
    void __tsan_write##n(void* p) { plain(p, n, access::store, CALLER); }                               \
    void __tsan_unaligned_read##n(void* p) { plain(p, n, access::load, CALLER); }                       \
    void __tsan_unaligned_write##n(void* p) { plain(p, n, access::store, CALLER); }                     \
    void __tsan_volatile_read##n(void* p) { plain(p, n, access::load, CALLER); }                        \
    void __tsan_volatile_write##n(void* p) { plain(p, n, access::store, CALLER); }                      \
    void __tsan_unaligned_volatile_read##n(void* p) { plain(p, n, access::load, CALLER); }              \
    void __tsan_unaligned_volatile_write##n(void* p) { plain(p, n, access::store, CALLER); }            \
    void __tsan_read_write##n(void* p) { plain(p, n, access::store, CALLER); }                          \
    void __tsan_unaligned_read_write##n(void* p) { plain(p, n, access::store, CALLER); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_read_range(void* p, unsigned long n) { plain(p, n, access::load, CALLER); }
void __tsan_write_range(void* p, unsigned long n) { plain(p, n, access::store, CALLER); }
void __tsan_vptr_read(void** p) { plain(p, sizeof *p, access::load, CALLER); }
void __tsan_vptr_update(void** p, void*) { plain(p, sizeof *p, access::store, CALLER); }

#define ATOMIC(n, T)                                                                                            \
    T __tsan_atomic##n##_load(const volatile T* p, int) {                                                       \
        shared(p, sizeof(T), access::load, CALLER);                                                             \
        return *p;                                                                                              \
    }                                                                                                           \
    void __tsan_atomic##n##_store(volatile T* p, T v, int m) {                                                  \
        shared(p, sizeof(T), m == __ATOMIC_SEQ_CST ? access::change : access::store, CALLER);                   \
        *p = v;                                                                                                 \
    }                                                                                                           \
    T __tsan_atomic##n##_exchange(volatile T* p, T v, int) {                                                    \
        return change(p, CALLER, [v](T) { return v; });                                                         \
    }                                                                                                           \
    bool __tsan_atomic##n##_compare_exchange_strong(volatile T* p, T* e, T d, int, int) {                       \
        return compare_exchange(p, e, d, CALLER);                                                               \
    }                                                                                                           \
    bool __tsan_atomic##n##_compare_exchange_weak(volatile T* p, T* e, T d, int, int) {                         \
        return compare_exchange(p, e, d, CALLER);                                                               \
    }                                                                                                           \
    T __tsan_atomic##n##_compare_exchange_val(volatile T* p, T e, T d, int, int) {                              \
        (void)compare_exchange(p, &e, d, CALLER);                                                               \
        return e;                                                                                               \
    }                                                                                                           \
    T __tsan_atomic##n##_fetch_add(volatile T* p, T v, int) {                                                   \
        return change(p, CALLER, [v](T o) { return o + v; });                                                   \
    }                                                                                                           \
    T __tsan_atomic##n##_fetch_sub(volatile T* p, T v, int) {                                                   \
        return change(p, CALLER, [v](T o) { return o - v; });                                                   \
    }                                                                                                           \
    T __tsan_atomic##n##_fetch_and(volatile T* p, T v, int) {                                                   \
        return change(p, CALLER, [v](T o) { return o & v; });                                                   \
    }                                                                                                           \
    T __tsan_atomic##n##_fetch_or(volatile T* p, T v, int) {                                                    \
        return change(p, CALLER, [v](T o) { return o | v; });                                                   \
    }                                                                                                           \
    T __tsan_atomic##n##_fetch_xor(volatile T* p, T v, int) {                                                   \
        return change(p, CALLER, [v](T o) { return o ^ v; });                                                   \
    }
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)

void __tsan_atomic_thread_fence(int m) {
    if (m == __ATOMIC_SEQ_CST && machine::running() != nullptr) machine::current()->fence();
}
void __tsan_atomic_signal_fence(int) {}
}
