// instrumented: included first in every source that is checked as it is. g++ instruments no call of the C library's that copies,
// fills, compares or searches bytes, its own calls among them. Here the assembler gives each the runtime's function (copies.cpp).
//
// And the program is not told that it is instrumented: a library that strengthens itself for a sanitizer is checked as it ships.
// check.hpp asks for APIARY_INSTRUMENTED. libstdc++ alone goes on as under a sanitizer (README.md says what that changes).
#pragma once
#pragma GCC system_header  // of what its macros make in other headers g++ tells nobody

#if defined(__SANITIZE_THREAD__)
#define APIARY_INSTRUMENTED
#undef __SANITIZE_THREAD__
#endif
#if defined(__has_feature)  // clang's word for it, and g++ 14's, which cannot be hidden
#if __has_feature(thread_sanitizer)
#undef APIARY_INSTRUMENTED
#define APIARY_INSTRUMENTED
#define APIARY_SHOWS_THE_INSTRUMENTATION
#endif
#endif
#if defined(APIARY_INSTRUMENTED)
#define _GLIBCXX_TSAN 1
#endif

__asm__(
    ".set memcpy,__tsan_memcpy\n.set memmove,__tsan_memmove\n.set memset,__tsan_memset\n"
    ".set memcmp,apiary_memcmp\n.set memchr,apiary_memchr\n.set strlen,apiary_strlen\n.set strnlen,apiary_strnlen\n"
    ".set strcmp,apiary_strcmp\n.set strncmp,apiary_strncmp\n.set strchr,apiary_strchr\n.set strrchr,apiary_strrchr\n"
    ".set strstr,apiary_strstr\n.set strcpy,apiary_strcpy\n.set strncpy,apiary_strncpy\n.set strcat,apiary_strcat\n"
    ".set strncat,apiary_strncat\n.set strdup,apiary_strdup\n");

// These headers also ask of the compiler by name, and where it knows the size it does them in place, unseen.
#if defined(__cplusplus)
#define APIARY_UNLESS_CONSTANT(in_place, called) (__builtin_is_constant_evaluated() ? in_place : called)
extern "C" {
void* __tsan_memcpy(void*, const void*, unsigned long) noexcept(true);
void* __tsan_memmove(void*, const void*, unsigned long) noexcept(true);
void* __tsan_memset(void*, int, unsigned long) noexcept(true);
int apiary_memcmp(const void*, const void*, unsigned long) noexcept(true);
int apiary_strcmp(const char*, const char*) noexcept(true);
int apiary_strncmp(const char*, const char*, unsigned long) noexcept(true);
unsigned long apiary_strlen(const char*) noexcept(true);
char* apiary_strcpy(char*, const char*) noexcept(true);
}
#else
#define APIARY_UNLESS_CONSTANT(in_place, called) called
void* __tsan_memcpy(void*, const void*, unsigned long);
void* __tsan_memmove(void*, const void*, unsigned long);
void* __tsan_memset(void*, int, unsigned long);
int apiary_memcmp(const void*, const void*, unsigned long);
int apiary_strcmp(const char*, const char*);
int apiary_strncmp(const char*, const char*, unsigned long);
unsigned long apiary_strlen(const char*);
char* apiary_strcpy(char*, const char*);
#endif
#define __builtin_memcpy(...) APIARY_UNLESS_CONSTANT(__builtin_memcpy(__VA_ARGS__), __tsan_memcpy(__VA_ARGS__))
#define __builtin_memmove(...) APIARY_UNLESS_CONSTANT(__builtin_memmove(__VA_ARGS__), __tsan_memmove(__VA_ARGS__))
#define __builtin_memset(...) APIARY_UNLESS_CONSTANT(__builtin_memset(__VA_ARGS__), __tsan_memset(__VA_ARGS__))
#define __builtin_memcmp(...) APIARY_UNLESS_CONSTANT(__builtin_memcmp(__VA_ARGS__), apiary_memcmp(__VA_ARGS__))
#define __builtin_strcmp(...) APIARY_UNLESS_CONSTANT(__builtin_strcmp(__VA_ARGS__), apiary_strcmp(__VA_ARGS__))
#define __builtin_strncmp(...) APIARY_UNLESS_CONSTANT(__builtin_strncmp(__VA_ARGS__), apiary_strncmp(__VA_ARGS__))
#define __builtin_strlen(...) APIARY_UNLESS_CONSTANT(__builtin_strlen(__VA_ARGS__), apiary_strlen(__VA_ARGS__))
#define __builtin_strcpy(...) APIARY_UNLESS_CONSTANT(__builtin_strcpy(__VA_ARGS__), apiary_strcpy(__VA_ARGS__))
