// replaced_new: operator new and delete of a test program that counts its allocations, or makes one fail. It also
// counts deallocations.
//
// When to use it. In one file of a program of its own; that file defines before_allocation. When not: beside a runtime
// that replaces operator new itself.
//
// Threads. Any; before_allocation must suit the threads of its test.
// Errors.  operator new throws what before_allocation throws, and std::bad_alloc if the heap is empty.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace apiary {

// Called before every allocation of the program. Throws std::bad_alloc to make it fail. Must not allocate.
void before_allocation(std::size_t bytes, std::size_t alignment);

inline std::atomic<std::uint64_t> deallocations = 0;  // so far

namespace detail {
inline void* from_heap(std::size_t bytes, std::size_t alignment) {
    before_allocation(bytes, alignment);
    if (void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)) return p;
    throw std::bad_alloc();
}
inline void to_heap(void* p) noexcept {
    deallocations.fetch_add(1, std::memory_order_relaxed);
    std::free(p);
}
}  // namespace detail

}  // namespace apiary

// All out of line: if g++ inlines only one of a pair, it takes the two for mismatched.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    return apiary::detail::from_heap(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return apiary::detail::from_heap(bytes, static_cast<std::size_t>(alignment));
}
// Arrays, too: a sanitizer's own operators for arrays do not call those above.
[[gnu::noinline]] void* operator new[](std::size_t bytes) {
    return apiary::detail::from_heap(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return apiary::detail::from_heap(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete[](void* p) noexcept { apiary::detail::to_heap(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { apiary::detail::to_heap(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { apiary::detail::to_heap(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
    apiary::detail::to_heap(p);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { apiary::detail::to_heap(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { apiary::detail::to_heap(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { apiary::detail::to_heap(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { apiary::detail::to_heap(p); }
