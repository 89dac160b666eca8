// memory: arenas, and the global operator new that uses them while modelled code runs.
#include <apiary/model_check/explorer/memory.hpp>

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include <apiary/model_check/explorer/engine.hpp>

namespace apiary::model::explorer {

constinit thread_local allocation_scope program_heap;

namespace {
// One engine at a time; deletes must recognise arena addresses after the program has ended, too.
std::uintptr_t arena_begin = 0;
constexpr std::size_t all_arenas = memory::arena_bytes * (max_threads + 1);
bool in_arena(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) - arena_begin < all_arenas && arena_begin != 0;
}

// The arenas are never unmapped: a stray pointer into them stays recognisable.
char* arenas() {
    static char* const base = [] {
        // At one address in every process, where it is free: what a program makes of addresses is then the same, too.
        void* const here = reinterpret_cast<void*>(memory::address);
        void* p = ::mmap(here, all_arenas, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) std::abort();
        arena_begin = reinterpret_cast<std::uintptr_t>(p);
        return static_cast<char*>(p);
    }();
    return base;
}
}  // namespace

memory::memory() : base_(arenas()) {}
memory::~memory() = default;

void memory::reset() {
    used_.fill(0);
    names_.fill(0);
    objects.clear();
    histories.clear();
    blocks.clear();
    static std::uint32_t runs = 0;
    run = ++runs;
}

void* memory::take(unsigned thread, std::size_t size, std::size_t alignment) {
    std::size_t& used = used_[thread];
    used = (used + alignment - 1) & ~(alignment - 1);
    if (used + size > arena_bytes) {
        program_heap = {};
        engine::active()->fail("refused: more memory than a thread has, which is " +
                               std::to_string(arena_bytes / 1024 / 1024) + " MiB");
    }
    char* p = base_ + arena_bytes * thread + used;
    used += size == 0 ? 1 : size;
    std::memset(p, 0, size);
    return p;
}

std::uint32_t memory::find_block(const void* p) const {
    const char* c = static_cast<const char*>(p);
    for (std::size_t i = blocks.size(); i-- > 0;)
        if (c >= blocks[i].begin && c < blocks[i].begin + blocks[i].size) return static_cast<std::uint32_t>(i + 1);
    return 0;
}

namespace {
void* obtain(std::size_t size, std::size_t alignment) {
    if (program_heap.heap != nullptr) return program_heap.heap->take(program_heap.thread, size, alignment);
    void* p = alignment <= alignof(std::max_align_t)
                  ? std::malloc(size == 0 ? 1 : size)
                  : std::aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void give_back(void* p) noexcept {
    if (!in_arena(p)) std::free(p);
}
}  // namespace

}  // namespace apiary::model::explorer

// Replaced for the whole program; outside modelled code they are malloc and free. Weak, because a program
// that also holds Relacy has Relacy's: there, plain `new` in modelled code is malloc, and is lost when a run
// is given up half-way. The array and sized forms of the library call these.
__attribute__((weak)) void* operator new(std::size_t n) {
    return apiary::model::explorer::obtain(n, alignof(std::max_align_t));
}
__attribute__((weak)) void operator delete(void* p) noexcept { apiary::model::explorer::give_back(p); }
__attribute__((weak)) void* operator new(std::size_t n, std::align_val_t a) {
    return apiary::model::explorer::obtain(n, static_cast<std::size_t>(a));
}
__attribute__((weak)) void operator delete(void* p, std::align_val_t) noexcept {
    apiary::model::explorer::give_back(p);
}
__attribute__((weak)) void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }
__attribute__((weak)) void operator delete(void* p, std::size_t, std::align_val_t a) noexcept {
    ::operator delete(p, a);
}
