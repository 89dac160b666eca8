// heap: malloc and operator new of the program. The explorer gives the memory, at addresses that repeat, and may give again
// what was freed; outside the program they are the C library's.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>

#include <apiary/model_check/as_it_is/image.hpp>
#include <apiary/model_check/as_it_is/places.hpp>
#include <apiary/model_check/as_it_is/runtime.hpp>
#include <apiary/model_check/never_reached.hpp>

extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

using namespace apiary::model::as_it_is;
namespace ex = apiary::model::explorer;

constexpr std::size_t page = 4096;
constexpr std::size_t natural = alignof(std::max_align_t);

void* take(std::size_t size, std::size_t alignment, void* pc) {
    const outside_program now;
    the_runtime().effect();
    if (size > ex::memory::arena_bytes / 2) the_runtime().refuse("an allocation of more than two megabytes", pc);
    const std::size_t all = size + heap_overrun;
    alignment = alignment < natural ? natural : alignment;
    void* const p = the_runtime().is_quiet() ? the_runtime().take_quietly(all, alignment)
                                             : ex::allocate(all, alignment, "block of memory", ex::storage::raw);
    const auto& blocks = runtime::engine().heap().blocks;  // the last one is this
    if (tells_reach && std::any_of(blocks.begin(), blocks.end() - 1, [p](const ex::block& b) { return b.begin == p; }))
        the_runtime().came_to(apiary::model::came_to_again, pc);
    std::memset(p, unwritten, size);
    the_runtime().touch_bytes(reinterpret_cast<std::uintptr_t>(p), size, access_kind::allocation, pc);
    return p;
}

bool is_modelled(const void* p) { return ex::engine::active() != nullptr && runtime::engine().heap().owns(p); }

std::size_t size_of(const void* p) {
    if (was_taken_before_main(p)) return size_before_main(p);
    const auto& heap = runtime::engine().heap();
    const std::uint32_t around = heap.find_block(p);
    return around == 0 ? 0 : heap.blocks[around - 1].size - heap_overrun;
}

void give(void* p, void* pc) {
    if (p == nullptr) return;
    const outside_program now;
    runtime& r = the_runtime();
    r.effect();
    // Its room is not given again; the bytes come back with the next execution.
    if (was_taken_before_main(p))
        return r.touch_bytes(reinterpret_cast<std::uintptr_t>(p), size_of(p), access_kind::release, pc);
    if (!is_modelled(p)) r.refuse("memory that was taken before the scenario is freed in it", pc);
    const bool by_a_count = r.goes_by_a_count(p);
    if (!by_a_count) {
        ex::before_destroy(p, ex::storage::raw);
        r.touch_bytes(reinterpret_cast<std::uintptr_t>(p), size_of(p), access_kind::release, pc);
    }
    // std::thread's own record does not come back: that would only double the executions.
    if (by_a_count || r.is_of_a_start(p) || r.is_quiet())
        for (ex::block& b : runtime::engine().heap().blocks) b.freed = b.freed || b.begin == p;
    else {
        if (!r.is_alone()) r.came_to(apiary::model::came_to_freed, pc);
        ex::release(p);
    }
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {
void* malloc(std::size_t n) {
    if (in_program) return take(n, natural, CALLER);
    void* const early = take_before_main(n, natural);
    return early != nullptr ? early : __libc_malloc(n);
}
void free(void* p) {
    if (in_program)
        give(p, CALLER);
    else if (!is_modelled(p) && !was_taken_before_main(p))
        __libc_free(p);
}
void* calloc(std::size_t n, std::size_t each) {
    if (!in_program) return __libc_calloc(n, each);
    void* const p = take(n * each, natural, CALLER);
    std::memset(p, 0, n * each);
    return p;
}
void* realloc(void* p, std::size_t n) {
    if (!in_program && was_taken_before_main(p)) {
        void* const q = malloc(n);
        const std::size_t had = size_before_main(p);
        if (q != nullptr) std::memcpy(q, p, had < n ? had : n);
        return q;
    }
    if (!in_program) return __libc_realloc(p, n);
    void* const q = take(n, natural, CALLER);
    if (p != nullptr) {
        std::size_t had = 0;
        {
            const outside_program now;
            had = size_of(p);
            the_runtime().touch_bytes(reinterpret_cast<std::uintptr_t>(p), had < n ? had : n, access_kind::read,
                                      CALLER);
        }
        std::memcpy(q, p, had < n ? had : n);
        give(p, CALLER);
    }
    return q;
}
void* memalign(std::size_t a, std::size_t n) { return in_program ? take(n, a, CALLER) : __libc_memalign(a, n); }
void* aligned_alloc(std::size_t a, std::size_t n) { return in_program ? take(n, a, CALLER) : __libc_memalign(a, n); }
void* valloc(std::size_t n) { return in_program ? take(n, page, CALLER) : __libc_memalign(page, n); }
int posix_memalign(void** out, std::size_t a, std::size_t n) {
    void* const p = in_program ? take(n, a, CALLER) : __libc_memalign(a, n);
    if (p == nullptr) return ENOMEM;
    *out = p;
    return 0;
}
}

// The array and nothrow forms of the library call these.
void* operator new(std::size_t n) {
    if (in_program) return take(n, natural, CALLER);
    void* const p = malloc(n == 0 ? 1 : n);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void* operator new(std::size_t n, std::align_val_t a) {
    if (in_program) return take(n, static_cast<std::size_t>(a), CALLER);
    void* const early = take_before_main(n, static_cast<std::size_t>(a));
    if (early != nullptr) return early;
    void* const p = __libc_memalign(static_cast<std::size_t>(a), n == 0 ? 1 : n);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void operator delete(void* p) noexcept { in_program ? give(p, CALLER) : free(p); }
void operator delete(void* p, std::align_val_t) noexcept { in_program ? give(p, CALLER) : free(p); }
void operator delete(void* p, std::size_t) noexcept { in_program ? give(p, CALLER) : free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { in_program ? give(p, CALLER) : free(p); }

namespace {

// The C library takes a stream's buffer when it is first used, for ever: not from the memory of an execution.
[[gnu::constructor]] void give_buffers_to_streams() {
    static std::array<char, BUFSIZ> in, out;
    std::setvbuf(stdin, in.data(), _IOFBF, in.size());
    std::setvbuf(stdout, out.data(), ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, out.size());
}

}  // namespace

namespace apiary::model::as_it_is {
void heap_is_linked() {}
}  // namespace apiary::model::as_it_is
