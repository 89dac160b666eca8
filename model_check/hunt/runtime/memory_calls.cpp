// memory_calls: blocks, mappings, and copies of bytes.
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <new>

#include "heap.hpp"
#include "machine.hpp"
#include "scheduler.hpp"
#include "shadow.hpp"

using namespace apiary::hunt;

namespace {

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

void* get(std::size_t bytes, std::size_t alignment, std::uintptr_t place) {
    const std::uint64_t used_again = program_heap.used_again();
    void* const p = program_heap.get(bytes, alignment);
    if (p == nullptr) {
        errno = ENOMEM;
    } else if (thread* const t = program_calls()) {
        the_reach.all().used_again += program_heap.used_again() - used_again;
        the_shadow.allocated(*t, number(p), bytes, place);
    }
    return p;
}

// Places in the program itself. Libraries are not instrumented: what orders a library's accesses to its own blocks,
// such as the counts of an exception's holders, is not seen, so what they free is not compared with the accesses
// before.
extern "C" char __executable_start, etext;
bool is_ours(std::uintptr_t place) { return place >= number(&__executable_start) && place < number(&etext); }

void put(void* p, std::uintptr_t place) {
    if (p == nullptr || !program_heap.owns(p)) return;
    if (thread* const t = program_calls()) {
        if (heap::is_freed(p)) {
            t->inside = true;
            say("double free of %p by thread %u\n", p, t->id());
            tell_stack(*t, place);
            the_shadow.tell_free(number(p));
            report->where[0] = place;
            found(ending::misuse);
        }
        ++the_reach.all().freed;
        the_shadow.freed(*t, number(p), heap::of(p).bytes, place, is_ours(place));
    }
    program_heap.put(p);
}

[[gnu::always_inline]] inline void touches(const void* p, std::size_t bytes, std::uint8_t how, std::uintptr_t place) {
    if (bytes == 0) return;
    if (thread* const t = program_calls()) the_shadow.touches(*t, number(p), bytes, how, place);
}


void forgets_mappings(std::uintptr_t begin, std::uintptr_t end) {
    own_vector<mapping> rest;
    for (const mapping& m : the_scheduler.mappings) {
        if (m.begin < begin) rest.push_back({m.begin, m.end < begin ? m.end : begin});
        if (m.end > end) rest.push_back({m.begin > end ? m.begin : end, m.end});
    }
    the_scheduler.mappings.swap(rest);
}
// One that follows another, or that another follows, is one with it. Of the first `known` bytes nothing is forgotten.
void knows_mapping(thread& t, std::uintptr_t begin, std::size_t bytes, std::size_t known = 0) {
    constexpr std::uintptr_t page = 4096;
    std::uintptr_t end = (begin + bytes + page - 1) & ~(page - 1);
    t.inside = true;
    the_shadow.mapped(begin + known, bytes - known);
    forgets_mappings(begin, end);
    auto& all = the_scheduler.mappings;
    for (std::size_t i = 0; i < all.size();) {
        if (all[i].end != begin && all[i].begin != end) {
            ++i;
            continue;
        }
        begin = all[i].begin < begin ? all[i].begin : begin;
        end = all[i].end > end ? all[i].end : end;
        all[i] = all.back();
        all.pop_back();
    }
    all.push_back({begin, end});
    t.inside = false;
}
void knows_end(thread& t, std::uintptr_t begin, std::size_t bytes) {
    constexpr std::uintptr_t page = 4096;
    t.inside = true;
    forgets_mappings(begin, (begin + bytes + page - 1) & ~(page - 1));
    t.inside = false;
}

void* get_or_throw(std::size_t bytes, std::size_t alignment, std::uintptr_t place) {
    void* const p = get(bytes, alignment, place);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

}  // namespace

extern "C" {

void* malloc(std::size_t bytes) noexcept { return get(bytes, 16, CALLER); }
void free(void* p) noexcept { put(p, CALLER); }
void* calloc(std::size_t count, std::size_t each) noexcept {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    void* const p = get(bytes, 16, CALLER);
    if (p != nullptr) machine::fill(p, 0, bytes);
    return p;
}
void* realloc(void* p, std::size_t bytes) noexcept {
    void* const made = get(bytes, 16, CALLER);
    if (p == nullptr || made == nullptr) return made;
    const std::size_t had = heap::of(p).bytes;
    machine::copy(made, p, had < bytes ? had : bytes);
    put(p, CALLER);
    return made;
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept { return get(bytes, alignment, CALLER); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return get(bytes, alignment, CALLER); }
int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) noexcept {
    void* const p = get(bytes, alignment, CALLER);
    if (p == nullptr) return ENOMEM;
    *to = p;
    return 0;
}
std::size_t malloc_usable_size(void* p) noexcept { return p != nullptr ? heap::of(p).bytes : 0; }

// The program's own calls: those of the library are not these.
void* mmap(void* at, std::size_t bytes, int protection, int how, int file, off_t from) noexcept {
    const auto length = static_cast<long>(bytes);
    void* const p = reinterpret_cast<void*>(
        machine::answered(machine::call(SYS_mmap, machine::word(at), length, protection, how, file, from)));
    if (thread* const t = program_calls(); t != nullptr && p != MAP_FAILED) knows_mapping(*t, number(p), bytes);
    return p;
}
void* mmap64(void* at, std::size_t bytes, int protection, int how, int file, off64_t from) noexcept {
    return mmap(at, bytes, protection, how, file, from);
}

int munmap(void* at, std::size_t bytes) noexcept {
    const long result = machine::answered(machine::call(SYS_munmap, machine::word(at), static_cast<long>(bytes)));
    if (thread* const t = program_calls(); t != nullptr && result == 0) knows_end(*t, number(at), bytes);
    return static_cast<int>(result);
}
void* mremap(void* from, std::size_t had, std::size_t bytes, int how, ...) noexcept {
    va_list rest;
    va_start(rest, how);
    const long to = (how & MREMAP_FIXED) != 0 ? machine::word(va_arg(rest, void*)) : 0;
    va_end(rest);
    void* const p = reinterpret_cast<void*>(machine::answered(machine::call(
        SYS_mremap, machine::word(from), static_cast<long>(had), static_cast<long>(bytes), how, to)));
    thread* const t = program_calls();
    if (t == nullptr || p == MAP_FAILED) return p;
    if ((how & MREMAP_DONTUNMAP) == 0) knows_end(*t, number(from), had);
    knows_mapping(*t, number(p), bytes, p != from ? 0 : had < bytes ? had : bytes);
    return p;
}

void* memcpy(void* to, const void* from, std::size_t bytes) noexcept {
    touches(from, bytes, access_read, CALLER);
    touches(to, bytes, access_write, CALLER);
    machine::copy(to, from, bytes);
    return to;
}
void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
    touches(from, bytes, access_read, CALLER);
    touches(to, bytes, access_write, CALLER);
    if (number(to) - number(from) >= bytes)
        machine::copy(to, from, bytes);
    else
        machine::copy_backward(to, from, bytes);
    return to;
}
void* memset(void* to, int value, std::size_t bytes) noexcept {
    touches(to, bytes, access_write, CALLER);
    machine::fill(to, value, bytes);
    return to;
}
// clang's names for them.
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) { return memcpy(to, from, bytes); }
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) { return memmove(to, from, bytes); }
void* __tsan_memset(void* to, int value, std::size_t bytes) { return memset(to, value, bytes); }
}

// Weak: a program may have its own.
#define WEAK [[gnu::weak]]
WEAK void* operator new(std::size_t n) { return get_or_throw(n, 16, CALLER); }
WEAK void* operator new[](std::size_t n) { return get_or_throw(n, 16, CALLER); }
WEAK void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return get(n, 16, CALLER); }
WEAK void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return get(n, 16, CALLER); }
WEAK void* operator new(std::size_t n, std::align_val_t a) {
    return get_or_throw(n, static_cast<std::size_t>(a), CALLER);
}
WEAK void* operator new[](std::size_t n, std::align_val_t a) {
    return get_or_throw(n, static_cast<std::size_t>(a), CALLER);
}
WEAK void operator delete(void* p) noexcept { put(p, CALLER); }
WEAK void operator delete[](void* p) noexcept { put(p, CALLER); }
WEAK void operator delete(void* p, std::size_t) noexcept { put(p, CALLER); }
WEAK void operator delete[](void* p, std::size_t) noexcept { put(p, CALLER); }
WEAK void operator delete(void* p, std::align_val_t) noexcept { put(p, CALLER); }
WEAK void operator delete[](void* p, std::align_val_t) noexcept { put(p, CALLER); }
WEAK void operator delete(void* p, std::size_t, std::align_val_t) noexcept { put(p, CALLER); }
WEAK void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { put(p, CALLER); }
