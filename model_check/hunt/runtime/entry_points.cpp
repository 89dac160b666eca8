// entry_points: what g++ and clang++ call under -fsanitize=thread, in front of each access or in its place.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "machine.hpp"
#include "mutant.hpp"
#include "scheduler.hpp"
#include "shadow.hpp"

using namespace apiary::hunt;

namespace {

std::uintptr_t number(const volatile void* p) { return reinterpret_cast<std::uintptr_t>(p); }

[[gnu::always_inline]] inline void plain(const volatile void* p, std::size_t bytes, std::uint8_t how,
                                         std::uintptr_t place) {
    thread* const t = program_calls();
    if (t == nullptr) return;
    if ((++report->plain_accesses & 0xfffff) == 0) [[unlikely]] {  // a loop that polls a plain variable goes on, too
        const call here("many plain accesses", place);
        the_scheduler.yields(*t);
    }
    if (!shadow::adds_nothing(*t, number(p), bytes, how)) the_shadow.touches(*t, number(p), bytes, how, place);
}

// The compilers add bits of their own above the order.
int order_of(int order, std::uintptr_t place, bool of_failure = false) {
    order &= 7;
    return the_mutant.count == 0 ? order : the_mutant.order_at(place, of_failure, order);
}

template <class T>
wide_value widened(T v) {
    wide_value w = 0;
    machine::copy(&w, &v, sizeof v);
    return w;
}

// The place after which a store goes, or the store that is read: the newest, or where the run is weak a drawn one.
void was_stale(row& r, const char* note) {
    ++report->stale_reads;
    r.note = note;
}

row& last_row() { return report->last[(report->rows - 1) % shared_report::most_rows]; }

template <class T>
void put_newest(volatile T* p, const location& l) {
    machine::copy(const_cast<T*>(p), &l.order.back().value, sizeof(T));
}

template <class T>
T load(const volatile T* p, int order, std::uintptr_t place) {
    order = order_of(order, place);
    const call here("load", place, p);
    if (!here) return *p;
    weak_memory& memory = the_scheduler.memory;
    location& l = the_shadow.atomic_at(here.me(), number(p), sizeof(T), access_read, place).stores;
    std::size_t which = l.order.size() - 1;
    if (which > 0 && the_scheduler.looks_back(here.me()))
        which -= the_scheduler.goes_back(here.me(), l.order.size() - memory.oldest(here.sees(), l, order));
    row& r = last_row();
    if (which + 1 != l.order.size()) was_stale(r, "an older store");
    const auto value = static_cast<T>(memory.read(here.sees(), l, which, order));
    r.value = static_cast<std::uint64_t>(value);
    r.order = order;
    remember(r.value);
    return value;
}

template <class T>
void store(volatile T* p, T v, int order, std::uintptr_t place) {
    order = order_of(order, place);
    const call here("store", place, p);
    if (!here) {
        *p = v;
        return;
    }
    the_scheduler.changed(here.me());
    weak_memory& memory = the_scheduler.memory;
    location& l = the_shadow.atomic_at(here.me(), number(p), sizeof(T), access_write, place).stores;
    std::size_t at = l.order.size();
    row& r = last_row();
    if (at > 1 && the_scheduler.looks_back(here.me())) {
        const std::size_t drawn =
            at - the_scheduler.goes_back(here.me(), at - memory.first_place(here.sees(), l, order) + 1);
        if (drawn != at && !weak_memory::is_tied(l, drawn)) {
            at = drawn;
            was_stale(r, "before another store");
        }
    }
    memory.write(here.sees(), l, at, widened(v), order);
    put_newest(p, l);
    r.value = static_cast<std::uint64_t>(v);
    r.order = order;
    remember(r.value);
}

// A read-modify-write that may read an older store, where no other has read that one.
std::size_t change_which(const thread& t, const location& l, int order) {
    const std::size_t newest = l.order.size() - 1;
    if (newest == 0 || !the_scheduler.looks_back(t)) return newest;
    const std::size_t drawn =
        newest - the_scheduler.goes_back(t, newest - the_scheduler.memory.oldest(t.sees, l, order) + 1);
    return weak_memory::is_tied(l, drawn + 1) ? newest : drawn;
}

template <class T, class F>
T change(volatile T* p, int order, const char* name, std::uintptr_t place, F f) {
    order = order_of(order, place);
    const call here(name, place, p);
    if (!here) {
        const T old = *p;
        *p = f(old);
        return old;
    }
    location& l = the_shadow.atomic_at(here.me(), number(p), sizeof(T), access_write, place).stores;
    const std::size_t which = change_which(here.me(), l, order);
    row& r = last_row();
    if (which + 1 != l.order.size()) was_stale(r, "an older store");
    const auto old = static_cast<T>(l.order[which].value);
    const T made = f(old);
    if (made != old) the_scheduler.changed(here.me());
    the_scheduler.memory.change(here.sees(), l, which, widened(made), order);
    put_newest(p, l);
    r.value = static_cast<std::uint64_t>(made);
    r.order = order;
    remember(r.value);
    return old;
}

template <class T>
bool compare_exchange(volatile T* p, T* expected, T desired, int success, int failure, bool weak,
                      std::uintptr_t place) {
    success = order_of(success, place);
    failure = order_of(failure, place, true);
    const call here("compare-exchange", place, p);
    if (!here) {
        const T old = *p;
        const bool equal = old == *expected;
        if (equal)
            *p = desired;
        else
            *expected = old;
        return equal;
    }
    weak_memory& memory = the_scheduler.memory;
    location& l = the_shadow.atomic_at(here.me(), number(p), sizeof(T), access_write, place).stores;
    const std::size_t newest = l.order.size() - 1;
    const wide_value wanted = widened(*expected);
    std::size_t which = newest;
    if (newest > 0 && the_scheduler.looks_back(here.me())) {
        const std::size_t to_change = memory.oldest(here.sees(), l, success),
                          to_fail = memory.oldest(here.sees(), l, failure);
        const std::size_t drawn =
            newest - the_scheduler.goes_back(here.me(), newest - std::min(to_change, to_fail) + 1);
        const bool equal = l.order[drawn].value == wanted;
        if (equal ? drawn >= to_change && !weak_memory::is_tied(l, drawn + 1) : drawn >= to_fail) which = drawn;
    }
    bool changes = l.order[which].value == wanted;
    row& r = last_row();
    if (which != newest) was_stale(r, "an older store");
    if (changes && weak && the_scheduler.happens(here.me(), 32)) {
        changes = false;
        r.note = "fails for no reason";
    } else if (!changes) {
        r.note = which != newest ? "fails, an older store" : "fails";
    }
    const auto old = static_cast<T>(l.order[which].value);
    r.value = static_cast<std::uint64_t>(changes ? desired : old);
    r.order = changes ? success : failure;
    remember(r.value * 2 + (changes ? 1 : 0));
    if (changes) {
        if (old != desired) the_scheduler.changed(here.me());
        memory.change(here.sees(), l, which, widened(desired), success);
        put_newest(p, l);
    } else {
        memory.read(here.sees(), l, which, failure);
        *expected = old;
    }
    return changes;
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void* caller) {
    thread* const t = running;
    if (t != nullptr && !t->inside) t->enters(reinterpret_cast<std::uintptr_t>(caller));
}
void __tsan_func_exit() {
    thread* const t = running;
    if (t != nullptr && !t->inside) t->leaves();
}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}

#define PLAIN(n)                                                                                    \
    void __tsan_read##n(void* p) { plain(p, n, access_read, CALLER); }                              \
    void __tsan_write##n(void* p) { plain(p, n, access_write, CALLER); }                            \
    void __tsan_unaligned_read##n(void* p) { plain(p, n, access_read, CALLER); }                    \
    void __tsan_unaligned_write##n(void* p) { plain(p, n, access_write, CALLER); }                  \
    void __tsan_volatile_read##n(void* p) { plain(p, n, access_read, CALLER); }                     \
    void __tsan_volatile_write##n(void* p) { plain(p, n, access_write, CALLER); }                   \
    void __tsan_unaligned_volatile_read##n(void* p) { plain(p, n, access_read, CALLER); }           \
    void __tsan_unaligned_volatile_write##n(void* p) { plain(p, n, access_write, CALLER); }         \
    void __tsan_read_write##n(void* p) { plain(p, n, access_write, CALLER); }                       \
    void __tsan_unaligned_read_write##n(void* p) { plain(p, n, access_write, CALLER); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_read_range(void* p, std::size_t bytes) { plain(p, bytes, access_read, CALLER); }
void __tsan_write_range(void* p, std::size_t bytes) { plain(p, bytes, access_write, CALLER); }
void __tsan_vptr_read(void** p) { plain(p, 8, access_read, CALLER); }
void __tsan_vptr_update(void** p, void* v) {
    if (*p != v) plain(p, 8, access_write, CALLER);  // a destructor writes what is there already
}

#define CHANGE(bits, T, name, value) \
    T __tsan_atomic##bits##_##name(volatile T* p, T v, int order) { \
        return change(p, order, #name, CALLER, [v](T old) { (void)old; return static_cast<T>(value); }); \
    }
#define ATOMIC(bits, T)                                                                                         \
    T __tsan_atomic##bits##_load(const volatile T* p, int order) { return load(p, order, CALLER); }             \
    void __tsan_atomic##bits##_store(volatile T* p, T v, int order) { store(p, v, order, CALLER); }             \
    CHANGE(bits, T, exchange, v)                                                                                \
    CHANGE(bits, T, fetch_add, old + v)                                                                         \
    CHANGE(bits, T, fetch_sub, old - v)                                                                         \
    CHANGE(bits, T, fetch_and, old & v)                                                                         \
    CHANGE(bits, T, fetch_or, old | v)                                                                          \
    CHANGE(bits, T, fetch_xor, old ^ v)                                                                         \
    CHANGE(bits, T, fetch_nand, ~(old & v))                                                                     \
    bool __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* e, T d, int success, int failure) {    \
        return compare_exchange(p, e, d, success, failure, false, CALLER);                                      \
    }                                                                                                           \
    bool __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* e, T d, int success, int failure) {      \
        return compare_exchange(p, e, d, success, failure, true, CALLER);                                       \
    }                                                                                                           \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T e, T d, int success, int failure) {           \
        compare_exchange(p, &e, d, success, failure, false, CALLER);                                            \
        return e;                                                                                               \
    }
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)
ATOMIC(128, wide_value)

// g++ leaves atomics of sixteen bytes to libatomic.
wide_value apiary_load_16(const volatile wide_value* p, int order) asm("__atomic_load_16");
wide_value apiary_load_16(const volatile wide_value* p, int order) { return load(p, order, CALLER); }
void apiary_store_16(volatile wide_value* p, wide_value v, int order) asm("__atomic_store_16");
void apiary_store_16(volatile wide_value* p, wide_value v, int order) { store(p, v, order, CALLER); }
wide_value apiary_exchange_16(volatile wide_value* p, wide_value v, int order) asm("__atomic_exchange_16");
wide_value apiary_exchange_16(volatile wide_value* p, wide_value v, int order) {
    return change(p, order, "exchange", CALLER, [v](wide_value) { return v; });
}
bool apiary_compare_16(volatile wide_value* p, wide_value* e, wide_value d, int s,
                       int f) asm("__atomic_compare_exchange_16");
bool apiary_compare_16(volatile wide_value* p, wide_value* e, wide_value d, int s, int f) {
    return compare_exchange(p, e, d, s, f, false, CALLER);
}

void __tsan_atomic_thread_fence(int order) {
    order = order_of(order, CALLER);
    if (order == mutant::dropped) return;
    const call here("fence", CALLER);
    if (!here) return;
    last_row().order = order;
    the_scheduler.memory.fence(here.sees(), order);
}
void __tsan_atomic_signal_fence(int) {}
}
