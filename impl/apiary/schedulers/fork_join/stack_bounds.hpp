// stack_bounds: where the stack of the calling thread ends.
//
// Errors. 0, which limits nothing, where the system does not tell, and under AddressSanitizer, which
//         puts local variables on stacks of its own.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace apiary {

// The lowest address that leaves `reserve` bytes below it; the highest there is, when no address does.
inline std::uintptr_t stack_floor(std::size_t reserve) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    return reserve * 0;
#else
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
    void* lowest = nullptr;
    std::size_t size = 0, guard = 0;
    (void)::pthread_attr_getstack(&attributes, &lowest, &size);  // of attributes that are filled in neither can fail
    (void)::pthread_attr_getguardsize(&attributes, &guard);
    ::pthread_attr_destroy(&attributes);
    const std::uintptr_t usable = reinterpret_cast<std::uintptr_t>(lowest) + guard;
    return reserve < UINTPTR_MAX - usable ? usable + reserve : UINTPTR_MAX;
#endif
}

}  // namespace apiary
