// entry_points: what g++ and clang++ call under -fsanitize=thread, in front of each access.
//
// What may be all that a loop does to memory comes through a few instructions that keep the caller's registers, for
// runtime::may_stall.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/as_it_is/wide.hpp>
#include <apiary/model_check/never_reached.hpp>

using namespace apiary::model::as_it_is;
using apiary::model::came_to_fails;
namespace ex = apiary::model::explorer;

namespace apiary::model::as_it_is {
registers apiary_registers;
}

namespace {

#define CALLER __builtin_return_address(0)

std::uintptr_t number(const volatile void* p) { return reinterpret_cast<std::uintptr_t>(p); }

[[gnu::always_inline]] inline void plain(const volatile void* p, std::size_t n, access_kind how, void* pc) {
    if (!in_program) return;
    const beside_program now;
    made_runtime->touches(number(p), n, how, pc);
}

// The value of a volatile changes by a race or not at all, so a loop around such reads that has changed nothing never ends. Once
// the thread stands still the others go on, and the write that it waits for shows the race.
void volatile_read(const volatile void* p, std::size_t n, void* pc) {
    if (!in_program) return;
    const registers where = apiary_registers.with(p);
    const outside_program now;
    the_runtime().touches(number(p), n, access_kind::read, pc);
    the_runtime().may_spin(pc, where, "volatile read");
}

// The compilers add bits of their own above the order.
std::memory_order order_of(int m) { return static_cast<std::memory_order>(m & 7); }

// A value as the explorer has it, and back.
template <class T>
std::uint64_t word(T v) {
    if constexpr (sizeof(T) > sizeof(std::uint64_t)) {
        return number_of(v);
    } else {
        std::uint64_t w = 0;
        std::memcpy(&w, &v, sizeof v);
        return w;
    }
}
template <class T>
T from_word(std::uint64_t w) {
    if constexpr (sizeof(T) > sizeof(std::uint64_t))
        return value_of(w);
    else
        return static_cast<T>(w);
}

// Outside the program there is one thread: plain memory does, and needs no library of atomics.
template <class T, class F>
T change_outside(volatile T* p, F f) {
    const T old = *p;
    *p = static_cast<T>(f(old));
    return old;
}

template <class T>
ex::object& at(const volatile T* p, access_kind how, void* pc) {
    return made_runtime->atomic_at<sizeof(T)>(number(p), how, pc);
}

// As the explorer has it.
std::uint32_t site_of(const char* operation, std::memory_order order, void* pc) {
    return runtime::engine().sites().intern(place_of_call(pc), operation, static_cast<std::uint8_t>(order));
}

template <class T>
T load(const volatile T* p, int order, void* pc) {
    if (!in_program) return *p;
    const registers where = apiary_registers.with(p);
    const outside_program now;
    runtime& r = the_runtime();
    const ex::event* const again = r.may_stall(pc, where, "load");
    ex::object& o = at(p, access_kind::atomic_read, pc);
    if (again != nullptr && r.reads_again(*again, o, site_of("load", order_of(order), pc)))
        return from_word<T>(again->value);
    return from_word<T>(ex::load(o, order_of(order), place_of_call(pc)));
}

// Values of sixteen bytes are numbers that say nothing.
template <class T>
[[gnu::cold]] void tell_write(runtime& r, const volatile T* p, std::uint64_t old, T value, void* pc, bool adds = false) {
    if constexpr (sizeof(T) <= sizeof(std::uint64_t)) r.tell_write(number(p), old, word(value), adds, pc);
}

template <class T>
void store(volatile T* p, T v, int order, void* pc) {
    if (!in_program) {
        *p = v;
        return;
    }
    const outside_program now;
    runtime& r = the_runtime();
    r.effect();
    ex::object& o = at(p, access_kind::atomic_write, pc);
    ex::store(o, word(v), order_of(order), place_of_call(pc));
    if (tells_reach) tell_write(r, p, r.replaced_value(), v, pc);
}

// `may_keep`: it may write back what it reads.
template <class T, class F>
T change(volatile T* p, T v, int order, void* pc, const char* name, bool may_keep, F f) {
    if (!in_program) return change_outside(p, f);
    const registers where = apiary_registers.with(p, v);
    const outside_program now;
    runtime& r = the_runtime();
    const ex::event* const again = may_keep ? r.may_stall(pc, where, name) : nullptr;
    ex::object& o = at(p, access_kind::atomic_write, pc);
    if (again != nullptr && word(static_cast<T>(f(from_word<T>(again->value)))) == again->value &&
        r.reads_again(*again, o, site_of(name, order_of(order), pc)))
        return from_word<T>(again->value);
    const ex::change to{[](const void* closure, std::uint64_t old) {
                            return word(static_cast<T>((*static_cast<const F*>(closure))(from_word<T>(old))));
                        },
                        &f};
    const T old = from_word<T>(
        ex::read_modify_write(o, to, order_of(order), place_of_call(pc), name));
    if (tells_reach) tell_write(r, p, word(old), static_cast<T>(f(old)), pc, std::strcmp(name, "fetch_add") == 0);
    if (static_cast<T>(f(old)) != old) r.effect();  // a loop that writes back what it read changes nothing
    return old;
}

template <class T>
T exchange(volatile T* p, T v, int order, void* pc) {
    return change(p, v, order, pc, "exchange", true, [v](T) { return v; });
}

// `where`: with the arguments that came by value.
template <class T>
bool compare_exchange(volatile T* p, T* expected, T desired, int success, int failure, bool weak, void* pc,
                      const registers& where) {
    if (!in_program) {
        const T wanted = *expected;
        *expected = change_outside(p, [&](T old) { return old == wanted ? desired : old; });
        return *expected == wanted;
    }
    const outside_program now;
    runtime& r = the_runtime();
    const ex::event* const again = r.may_stall(pc, where, "compare_exchange");
    r.touches(number(expected), sizeof(T), access_kind::read, pc);
    const T wanted = *expected;
    std::uint64_t seen = word(wanted);
    ex::object& o = at(p, access_kind::atomic_write, pc);
    const char* const name = weak ? "compare_exchange_weak" : "compare_exchange_strong";
    if (again != nullptr && again->value != seen && r.reads_again(*again, o, site_of(name, order_of(success), pc))) {
        seen = again->value;
    } else if (ex::compare_exchange(o, seen, word(desired), order_of(success), order_of(failure), weak,
                                    place_of_call(pc))) {
        if (tells_reach) tell_write(r, p, word(wanted), desired, pc);
        if (wanted != desired) r.effect();
        return true;
    }
    if (seen != word(wanted)) r.came_to(came_to_fails, pc);
    r.note_moment();
    r.touches(number(expected), sizeof(T), access_kind::write, pc);
    *expected = from_word<T>(seen);
    return false;
}

void fence(int order, void* pc) {
    if (!in_program) return;
    const outside_program now;
    ex::fence(order_of(order), place_of_call(pc));
}

[[noreturn]] void too_wide(std::size_t bytes, void* pc) {
    in_program = false;
    the_runtime().refuse("an atomic of " + std::to_string(bytes) + " bytes", pc);
}

}  // namespace

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
    void apiary_volatile_read##n(void* p) { volatile_read(p, n, CALLER); }                        \
    KEEPS_REGISTERS(volatile_read##n)                                                             \
    KEEPS_REGISTERS_OF(__tsan_unaligned_volatile_read##n, volatile_read##n)                       \
    void __tsan_volatile_write##n(void* p) { plain(p, n, access_kind::write, CALLER); }           \
    void __tsan_unaligned_volatile_write##n(void* p) { plain(p, n, access_kind::write, CALLER); } \
    void __tsan_read_write##n(void* p) {                                                          \
        plain(p, n, access_kind::read, CALLER), plain(p, n, access_kind::write, CALLER);          \
    }                                                                                             \
    void __tsan_unaligned_read_write##n(void* p) {                                                \
        plain(p, n, access_kind::read, CALLER), plain(p, n, access_kind::write, CALLER);          \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void* p, unsigned long n) { plain(p, n, access_kind::read, CALLER); }
void __tsan_write_range(void* p, unsigned long n) { plain(p, n, access_kind::write, CALLER); }
void __tsan_vptr_read(void** p) { plain(p, sizeof *p, access_kind::read, CALLER); }
void __tsan_vptr_update(void** p, void* v) {
    if (*p != v) plain(p, sizeof *p, access_kind::write, CALLER);
}

// By our plug-in (gxx_plugin.cpp). What the last holder of an exception destroys is not asked about (libstdcxx.cpp).
void apiary_object_ends(void* p, unsigned long n) {
    if (in_program && !the_runtime().is_alone() && the_runtime().me().destroys_counted == 0)
        plain(p, n, access_kind::end, CALLER);
}

#define ATOMIC(n, T)                                                                                    \
    T apiary_atomic##n##_load(const volatile T* p, int m) { return load<T>(p, m, CALLER); }             \
    T apiary_atomic##n##_exchange(volatile T* p, T v, int m) { return exchange<T>(p, v, m, CALLER); }   \
    bool apiary_atomic##n##_compare_exchange_strong(volatile T* p, T* e, T d, int m, int f) {           \
        return compare_exchange<T>(p, e, d, m, f, false, CALLER, apiary_registers.with(p, d));          \
    }                                                                                                   \
    bool apiary_atomic##n##_compare_exchange_weak(volatile T* p, T* e, T d, int m, int f) {             \
        return compare_exchange<T>(p, e, d, m, f, true, CALLER, apiary_registers.with(p, d));           \
    }                                                                                                   \
    T apiary_atomic##n##_compare_exchange_val(volatile T* p, T e, T d, int m, int f) {                  \
        compare_exchange<T>(p, &e, d, m, f, false, CALLER, apiary_registers.with(p, d, e));             \
        return e;                                                                                       \
    }                                                                                                   \
    void __tsan_atomic##n##_store(volatile T* p, T v, int m) { store<T>(p, v, m, CALLER); }             \
    T apiary_atomic##n##_fetch_add(volatile T* p, T v, int m) {                                         \
        return change(p, v, m, CALLER, "fetch_add", v == 0, [v](T o) { return static_cast<T>(o + v); });   \
    }                                                                                                   \
    T apiary_atomic##n##_fetch_sub(volatile T* p, T v, int m) {                                         \
        return change(p, v, m, CALLER, "fetch_sub", v == 0, [v](T o) { return static_cast<T>(o - v); });   \
    }                                                                                                   \
    T apiary_atomic##n##_fetch_and(volatile T* p, T v, int m) {                                         \
        return change(p, v, m, CALLER, "fetch_and", true, [v](T o) { return static_cast<T>(o & v); });     \
    }                                                                                                   \
    T apiary_atomic##n##_fetch_or(volatile T* p, T v, int m) {                                          \
        return change(p, v, m, CALLER, "fetch_or", true, [v](T o) { return static_cast<T>(o | v); });      \
    }                                                                                                   \
    T apiary_atomic##n##_fetch_xor(volatile T* p, T v, int m) {                                         \
        return change(p, v, m, CALLER, "fetch_xor", v == 0, [v](T o) { return static_cast<T>(o ^ v); });   \
    }                                                                                                   \
    T apiary_atomic##n##_fetch_nand(volatile T* p, T v, int m) {                                        \
        return change(p, v, m, CALLER, "fetch_nand", true, [v](T o) { return static_cast<T>(~(o & v)); }); \
    }                                                                                                   \
    KEEPS_REGISTERS(atomic##n##_load)                                                                   \
    KEEPS_REGISTERS(atomic##n##_exchange)                                                               \
    KEEPS_REGISTERS(atomic##n##_fetch_add)                                                              \
    KEEPS_REGISTERS(atomic##n##_fetch_sub)                                                              \
    KEEPS_REGISTERS(atomic##n##_fetch_xor)                                                              \
    KEEPS_REGISTERS(atomic##n##_fetch_and)                                                              \
    KEEPS_REGISTERS(atomic##n##_fetch_or)                                                               \
    KEEPS_REGISTERS(atomic##n##_fetch_nand)                                                             \
    KEEPS_REGISTERS(atomic##n##_compare_exchange_strong)                                                \
    KEEPS_REGISTERS(atomic##n##_compare_exchange_weak)                                                  \
    KEEPS_REGISTERS(atomic##n##_compare_exchange_val)

ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)
ATOMIC(128, wide)
// The same where a compiler leaves sixteen bytes to the library of atomics; that one has no weak compare-exchange.
bool apiary_atomic_compare_exchange_16(volatile wide* p, wide* e, wide d, int m, int f) {
    return compare_exchange<wide>(p, e, d, m, f, false, CALLER, apiary_registers.with(p, d));
}
KEEPS_REGISTERS_OF(__atomic_load_16, atomic128_load)
KEEPS_REGISTERS_OF(__atomic_exchange_16, atomic128_exchange)
KEEPS_REGISTERS_OF(__atomic_compare_exchange_16, atomic_compare_exchange_16)
void apiary_atomic_store_16(volatile wide* p, wide v, int m) __asm__("__atomic_store_16");
void apiary_atomic_store_16(volatile wide* p, wide v, int m) { store<wide>(p, v, m, CALLER); }
// Larger ones have a lock in that library. Each is a function of its own: one that called another would be named as its place.
#define TOO_WIDE(name)                                                                       \
    [[gnu::no_icf]] void apiary_atomic_##name(std::size_t bytes) __asm__("__atomic_" #name); \
    void apiary_atomic_##name(std::size_t bytes) { too_wide(bytes, CALLER); }
TOO_WIDE(load)
TOO_WIDE(store)
TOO_WIDE(exchange)
TOO_WIDE(compare_exchange)
bool apiary_atomic_is_lock_free(std::size_t bytes, void* p) __asm__("__atomic_is_lock_free");
bool apiary_atomic_is_lock_free(std::size_t bytes, void* p) {
    return bytes <= sizeof(std::uint64_t) && (bytes & (bytes - 1)) == 0 && number(p) % bytes == 0;
}

#define DECLARED(n)                   \
    void __tsan_volatile_read##n(void*); \
    void __tsan_unaligned_volatile_read##n(void*);
DECLARED(1)
DECLARED(2)
DECLARED(4)
DECLARED(8)
DECLARED(16)

void __tsan_atomic_thread_fence(int m) { fence(m, CALLER); }
// Of the program's own asymmetric pair it is the light half; anything else that it orders is the compiler's affair.
void __tsan_atomic_signal_fence(int m) {
    if (!in_program || order_of(m) != std::memory_order_seq_cst) return;
    const outside_program now;
    ex::fence_light(place_of_call(CALLER));
}
}

namespace apiary::model::as_it_is {

// By the call itself, so that an access need not carry it: E8 and the distance, in a program that is not position-independent.
bool is_of_a_volatile(void* return_address) {
    const auto* const next = static_cast<const unsigned char*>(return_address);
    if (!is_of_the_program(number(next)) || next[-5] != 0xE8) return false;
    std::int32_t distance = 0;
    std::memcpy(&distance, next - sizeof distance, sizeof distance);
    const std::uintptr_t called = number(next) + static_cast<std::uintptr_t>(std::intptr_t{distance});
#define IS(n)                                                                                                        \
    called == number(reinterpret_cast<void*>(__tsan_volatile_read##n)) ||                                            \
        called == number(reinterpret_cast<void*>(__tsan_volatile_write##n)) ||                                       \
        called == number(reinterpret_cast<void*>(__tsan_unaligned_volatile_read##n)) ||                              \
        called == number(reinterpret_cast<void*>(__tsan_unaligned_volatile_write##n))
    return IS(1) || IS(2) || IS(4) || IS(8) || IS(16);
#undef IS
}

}  // namespace apiary::model::as_it_is
