// stack_bounds: where the stack of the calling thread lies.
//
// Errors. {0, UINTPTR_MAX}, which limits nothing, where the system does not tell, and under
//         AddressSanitizer, which puts local variables on stacks of its own.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace apiary {

// Not under AddressSanitizer, of which g++ tells by a macro and clang by a feature.
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
    // The lowest address that leaves `reserve` bytes below it; the highest there is, when no address does.
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
    // The guard is not among it. Of attributes that are filled in it cannot fail.
    (void)::pthread_attr_getstack(&attributes, &lowest, &size);
    ::pthread_attr_destroy(&attributes);
    all.lowest = reinterpret_cast<std::uintptr_t>(lowest);
    all.highest = reinterpret_cast<std::uintptr_t>(lowest) + size;
    return all;
}
}  // namespace detail

// Asked once by each thread: for the main one the system reads a file.
inline const stack_bounds& bounds_of_this_stack() noexcept {
    thread_local const stack_bounds bounds = detail::ask_for_stack_bounds();
    return bounds;
}

}  // namespace apiary
