// instrumented: included first in every source that is checked as it is. g++ instruments no copy and no fill that it leaves
// to the library; under these names they come to the runtime.
#pragma once
#if defined(__cplusplus)
extern "C" {
void* memcpy(void*, const void*, unsigned long) noexcept(true) __asm__("__tsan_memcpy");
void* memmove(void*, const void*, unsigned long) noexcept(true) __asm__("__tsan_memmove");
void* memset(void*, int, unsigned long) noexcept(true) __asm__("__tsan_memset");
}
#else
void* memcpy(void*, const void*, unsigned long) __asm__("__tsan_memcpy");
void* memmove(void*, const void*, unsigned long) __asm__("__tsan_memmove");
void* memset(void*, int, unsigned long) __asm__("__tsan_memset");
#endif
