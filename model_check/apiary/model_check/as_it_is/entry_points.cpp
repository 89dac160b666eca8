// entry_points: what g++ and clang++ call under -fsanitize=thread, in front of each access.
//
// A load, an exchange and a compare-exchange come through a few instructions that keep the caller's registers, for
// runtime::may_stall.
#include <cstdint>
#include <cstring>

#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>

using namespace apiary::model::as_it_is;
namespace ex = apiary::model::explorer;

extern "C" {
registers apiary_registers;
}

namespace {

#define CALLER __builtin_return_address(0)

std::uintptr_t number(const volatile void* p) { return reinterpret_cast<std::uintptr_t>(p); }

void plain(const volatile void* p, std::size_t n, access_kind how, void* pc) {
    if (!in_program) return;
    const outside_program now;
    the_runtime().touch_bytes(number(p), n, how, pc);
}

// The compilers add bits of their own above the order.
std::memory_order order_of(int m) { return static_cast<std::memory_order>(m & 7); }

template <class T>
std::uint64_t word(T v) {
    std::uint64_t w = 0;
    std::memcpy(&w, &v, sizeof v);
    return w;
}

template <class T>
ex::object& at(const volatile T* p, access_kind how, void* pc) {
    return the_runtime().locate(number(p), sizeof(T), role::atomic, how, pc);
}

template <class T>
T load(const volatile T* p, int order, void* pc) {
    if (!in_program) return __atomic_load_n(p, __ATOMIC_SEQ_CST);
    const registers where = apiary_registers;
    const outside_program now;
    the_runtime().may_stall(pc, where);
    return static_cast<T>(ex::load(at(p, access_kind::atomic_read, pc), order_of(order), place_of_call(pc)));
}

template <class T>
void store(volatile T* p, T v, int order, void* pc) {
    if (!in_program) return __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
    const outside_program now;
    the_runtime().effect();
    ex::store(at(p, access_kind::atomic_write, pc), word(v), order_of(order), place_of_call(pc));
}

template <class T, class F>
T change(volatile T* p, int order, void* pc, const char* name, F f) {
    const outside_program now;
    const ex::change to{[](const void* closure, std::uint64_t old) {
                            return word(static_cast<T>((*static_cast<const F*>(closure))(static_cast<T>(old))));
                        },
                        &f};
    const T old = static_cast<T>(
        ex::read_modify_write(at(p, access_kind::atomic_write, pc), to, order_of(order), place_of_call(pc), name));
    if (static_cast<T>(f(old)) != old) the_runtime().effect();  // a loop that writes back what it read changes nothing
    return old;
}

template <class T>
T exchange(volatile T* p, T v, int order, void* pc) {
    if (!in_program) return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
    const registers where = apiary_registers;
    {
        const outside_program now;
        the_runtime().may_stall(pc, where);
    }
    return change(p, order, pc, "exchange", [v](T) { return v; });
}

template <class T>
bool compare_exchange(volatile T* p, T* expected, T desired, int success, int failure, bool weak, void* pc) {
    if (!in_program)
        return __atomic_compare_exchange_n(p, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    const registers where = apiary_registers;
    const outside_program now;
    runtime& r = the_runtime();
    r.may_stall(pc, where);
    r.touch_bytes(number(expected), sizeof(T), access_kind::read, pc);
    const T wanted = *expected;
    std::uint64_t seen = word(wanted);
    const bool done = ex::compare_exchange(at(p, access_kind::atomic_write, pc), seen, word(desired), order_of(success),
                                           order_of(failure), weak, place_of_call(pc));
    if (done) {
        if (wanted != desired) r.effect();
        return true;
    }
    // A write of what stood there is one for races, and changes nothing for a waiting loop.
    const std::uint64_t effects = r.me().effects;
    r.touch_bytes(number(expected), sizeof(T), access_kind::write, pc);
    if (static_cast<T>(seen) == wanted) r.me().effects = effects;
    *expected = static_cast<T>(seen);
    return false;
}

void fence(int order, void* pc) {
    if (!in_program) return;
    const outside_program now;
    ex::fence(order_of(order), place_of_call(pc));
}

[[noreturn]] void too_wide(void* pc) {
    in_program = false;
    the_runtime().refuse("an atomic of sixteen bytes", pc);
}

}  // namespace

// Keeps the registers and goes on as apiary_NAME.
#define KEEPS_REGISTERS(name)                                                                  \
    __asm__(".text\n.globl __tsan_" #name "\n.type __tsan_" #name ",@function\n__tsan_" #name  \
            ":\n"                                                                              \
            "  movq %rbx, apiary_registers(%rip)\n  movq %rbp, apiary_registers+8(%rip)\n"     \
            "  movq %r12, apiary_registers+16(%rip)\n  movq %r13, apiary_registers+24(%rip)\n" \
            "  movq %r14, apiary_registers+32(%rip)\n  movq %r15, apiary_registers+40(%rip)\n" \
            "  movq %rsp, apiary_registers+48(%rip)\n  jmp apiary_" #name                      \
            "\n"                                                                               \
            ".size __tsan_" #name ",.-__tsan_" #name "\n");

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void* caller) {
    if (!in_program) return;
    modelled_thread& m = the_runtime().me();
    if (m.depth < m.calls.size()) m.calls[m.depth] = caller;
    ++m.depth;
}
void __tsan_func_exit() {
    if (in_program && the_runtime().me().depth > 0) --the_runtime().me().depth;
}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}

#define PLAIN(n)                                                                                  \
    void __tsan_read##n(void* p) { plain(p, n, access_kind::read, CALLER); }                      \
    void __tsan_write##n(void* p) { plain(p, n, access_kind::write, CALLER); }                    \
    void __tsan_unaligned_read##n(void* p) { plain(p, n, access_kind::read, CALLER); }            \
    void __tsan_unaligned_write##n(void* p) { plain(p, n, access_kind::write, CALLER); }          \
    void __tsan_volatile_read##n(void* p) { plain(p, n, access_kind::read, CALLER); }             \
    void __tsan_volatile_write##n(void* p) { plain(p, n, access_kind::write, CALLER); }           \
    void __tsan_unaligned_volatile_read##n(void* p) { plain(p, n, access_kind::read, CALLER); }   \
    void __tsan_unaligned_volatile_write##n(void* p) { plain(p, n, access_kind::write, CALLER); } \
    void __tsan_read_write##n(void* p) {                                                          \
        plain(p, n, access_kind::read, CALLER), plain(p, n, access_kind::write, CALLER);          \
    }                                                                                             \
    void __tsan_unaligned_read_write##n(void* p) {                                                \
        plain(p, n, access_kind::read, CALLER), plain(p, n, access_kind::write, CALLER);          \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4) PLAIN(8) PLAIN(16)

    void __tsan_read_range(void* p, unsigned long n) {
    plain(p, n, access_kind::read, CALLER);
}
void __tsan_write_range(void* p, unsigned long n) { plain(p, n, access_kind::write, CALLER); }
void __tsan_vptr_read(void** p) { plain(p, sizeof *p, access_kind::read, CALLER); }
void __tsan_vptr_update(void** p, void* v) {
    if (*p != v) plain(p, sizeof *p, access_kind::write, CALLER);
}

// Which of these a compiler emits itself, and which instrumented.hpp asks for.
void* __tsan_memcpy(void* to, const void* from, unsigned long n) {
    plain(from, n, access_kind::read, CALLER), plain(to, n, access_kind::write, CALLER);
    return __builtin_memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, unsigned long n) {
    plain(from, n, access_kind::read, CALLER), plain(to, n, access_kind::write, CALLER);
    return __builtin_memmove(to, from, n);
}
void* __tsan_memset(void* to, int v, unsigned long n) {
    plain(to, n, access_kind::write, CALLER);
    return __builtin_memset(to, v, n);
}

#define ATOMIC(n, T)                                                                                  \
    T apiary_atomic##n##_load(const volatile T* p, int m) { return load<T>(p, m, CALLER); }           \
    T apiary_atomic##n##_exchange(volatile T* p, T v, int m) { return exchange<T>(p, v, m, CALLER); } \
    bool apiary_atomic##n##_compare_exchange_strong(volatile T* p, T* e, T d, int m, int f) {         \
        return compare_exchange<T>(p, e, d, m, f, false, CALLER);                                     \
    }                                                                                                 \
    bool apiary_atomic##n##_compare_exchange_weak(volatile T* p, T* e, T d, int m, int f) {           \
        return compare_exchange<T>(p, e, d, m, f, true, CALLER);                                      \
    }                                                                                                 \
    T apiary_atomic##n##_compare_exchange_val(volatile T* p, T e, T d, int m, int f) {                \
        compare_exchange<T>(p, &e, d, m, f, false, CALLER);                                           \
        return e;                                                                                     \
    }                                                                                                 \
    void __tsan_atomic##n##_store(volatile T* p, T v, int m) { store<T>(p, v, m, CALLER); }           \
    T __tsan_atomic##n##_fetch_add(volatile T* p, T v, int m) {                                       \
        if (!in_program) return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                           \
        return change(p, m, CALLER, "fetch_add", [v](T o) { return static_cast<T>(o + v); });         \
    }                                                                                                 \
    T __tsan_atomic##n##_fetch_sub(volatile T* p, T v, int m) {                                       \
        if (!in_program) return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST);                           \
        return change(p, m, CALLER, "fetch_sub", [v](T o) { return static_cast<T>(o - v); });         \
    }                                                                                                 \
    T __tsan_atomic##n##_fetch_and(volatile T* p, T v, int m) {                                       \
        if (!in_program) return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST);                           \
        return change(p, m, CALLER, "fetch_and", [v](T o) { return static_cast<T>(o & v); });         \
    }                                                                                                 \
    T __tsan_atomic##n##_fetch_or(volatile T* p, T v, int m) {                                        \
        if (!in_program) return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST);                            \
        return change(p, m, CALLER, "fetch_or", [v](T o) { return static_cast<T>(o | v); });          \
    }                                                                                                 \
    T __tsan_atomic##n##_fetch_xor(volatile T* p, T v, int m) {                                       \
        if (!in_program) return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST);                           \
        return change(p, m, CALLER, "fetch_xor", [v](T o) { return static_cast<T>(o ^ v); });         \
    }                                                                                                 \
    T __tsan_atomic##n##_fetch_nand(volatile T* p, T v, int m) {                                      \
        if (!in_program) return __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST);                          \
        return change(p, m, CALLER, "fetch_nand", [v](T o) { return static_cast<T>(~(o & v)); });     \
    }                                                                                                 \
    KEEPS_REGISTERS(atomic##n##_load)                                                                 \
    KEEPS_REGISTERS(atomic##n##_exchange)                                                             \
    KEEPS_REGISTERS(atomic##n##_compare_exchange_strong)                                              \
    KEEPS_REGISTERS(atomic##n##_compare_exchange_weak)                                                \
    KEEPS_REGISTERS(atomic##n##_compare_exchange_val)

ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t) ATOMIC(64, std::uint64_t)
// Sixteen bytes: refused, and the linker finds them.
#define WIDE(name) \
    void __tsan_atomic128_##name() { too_wide(CALLER); }
    WIDE(load) WIDE(store) WIDE(exchange) WIDE(fetch_add) WIDE(fetch_sub) WIDE(fetch_and) WIDE(fetch_or) WIDE(fetch_xor)
        WIDE(fetch_nand) WIDE(compare_exchange_strong) WIDE(compare_exchange_weak) WIDE(compare_exchange_val)

            void __tsan_atomic_thread_fence(int m) {
    fence(m, CALLER);
}
// Of the program's own asymmetric pair it is the light half; anything else that it orders is the compiler's affair.
void __tsan_atomic_signal_fence(int m) {
    if (!in_program || order_of(m) != std::memory_order_seq_cst) return;
    const outside_program now;
    ex::fence_light(place_of_call(CALLER));
}
}
