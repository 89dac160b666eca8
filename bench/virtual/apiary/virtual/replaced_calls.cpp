// What a program that has a virtual machine replaces: operator new, and the calls of the system that shipped headers make
// without the policy.
//
// What a virtual thread allocates comes from the arena, everything else from malloc. Memory is given back to where it came
// from. A virtual thread that yields spends the price of that.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include <apiary/virtual/machine.hpp>

namespace {

using apiary::virt::arena;
using apiary::virt::machine;

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

void* get(std::size_t bytes, std::size_t alignment) {
    if (machine::running() != nullptr) {
        static const apiary::virt::label what = apiary::virt::intern("heap");
        machine& m = *machine::current();
        return m.allocate(bytes, alignment, what, m.priced().heap);
    }
    if (alignment <= usual) {
        if (void* const p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
        throw std::bad_alloc();
    }
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* const p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

void put(void* p) noexcept {
    if (p == nullptr) return;
    if (!apiary::virt::the_arena().contains(p)) return std::free(p);
    if (machine::running() != nullptr) return machine::current()->release(p, machine::current()->priced().heap);
    arena::shelf blocks;
    (void)apiary::virt::the_arena().release(p, blocks);
    apiary::virt::the_arena().empty(blocks);
}

}  // namespace

void* operator new(std::size_t bytes) { return get(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t a) { return get(bytes, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { put(p); }
void operator delete(void* p, std::size_t) noexcept { put(p); }
void operator delete(void* p, std::align_val_t) noexcept { put(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { put(p); }

extern "C" int sched_yield() noexcept {
    if (machine::running() == nullptr) return static_cast<int>(::syscall(SYS_sched_yield));
    machine::current()->yield();
    return 0;
}
