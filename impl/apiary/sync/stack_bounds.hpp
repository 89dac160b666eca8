// stack_bounds: where the stack of the calling thread lies.
//
// When to use it. As `Sync::stack()`: to tell how deep a thread may recurse (fork_context). When not: under
// AddressSanitizer, which puts local variables on stacks of its own; the bounds limit nothing there.
//
// Threads. The calling thread's own bounds.
// Errors.  {0, UINTPTR_MAX}, which limits nothing, if the system does not tell.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace apiary {

// False under AddressSanitizer: g++ tells by a macro, clang by a feature.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool stacks_have_bounds = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool stacks_have_bounds = false;
#else
inline constexpr bool stacks_have_bounds = true;
#endif
#else
inline constexpr bool stacks_have_bounds = true;
#endif

struct stack_bounds {
    std::uintptr_t lowest = 0, highest = UINTPTR_MAX;

    bool contain(const void* address) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        return lowest <= at && at <= highest;
    }
    // The lowest address that leaves `reserve` bytes below it; the highest there is, if none does.
    std::uintptr_t floor(std::size_t reserve) const noexcept {
        if (highest == UINTPTR_MAX) return 0;
        return reserve < UINTPTR_MAX - lowest ? lowest + reserve : UINTPTR_MAX;
    }
};

namespace detail {
inline stack_bounds ask_for_stack_bounds() noexcept {
    stack_bounds all;
    if constexpr (!stacks_have_bounds) return all;
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return all;
    void* lowest = nullptr;
    std::size_t size = 0;
    // The guard pages are not part of it. It cannot fail for attributes that are filled in.
    (void)::pthread_attr_getstack(&attributes, &lowest, &size);
    ::pthread_attr_destroy(&attributes);
    all.lowest = reinterpret_cast<std::uintptr_t>(lowest);
    all.highest = reinterpret_cast<std::uintptr_t>(lowest) + size;
    return all;
}
}  // namespace detail

// Each thread asks once: for the main thread the system reads a file.
inline const stack_bounds& bounds_of_this_stack() noexcept {
    thread_local const stack_bounds bounds = detail::ask_for_stack_bounds();
    return bounds;
}

}  // namespace apiary
