// machine: what the runtime asks of the kernel and of the processor, past the library whose calls it replaces.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace apiary::hunt::machine {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

template <class T>
long word(T* p) {
    return reinterpret_cast<long>(p);
}

// As the library answers: -1, and the reason in errno.
inline long answered(long result) {
    if (result >= 0 || result <= -4096) return result;
    errno = static_cast<int>(-result);
    return -1;
}

[[noreturn]] inline void end(int status) {
    call(SYS_exit_group, status);
    __builtin_unreachable();
}

// Where the runtime's own memory is: at the same place in each process, apart from the program's.
constexpr std::uintptr_t first_of_ours = 0x400000000000, of_shadow_table = first_of_ours, of_calls = 0x401000000000,
                         of_restart = 0x402000000000, of_touched = 0x403000000000, of_shadow = 0x410000000000,
                         last_of_ours = 0x520000000000;

// Zeroed pages, from `at` on where that is given. The process ends if there are none.
inline void* map(std::size_t bytes, std::uintptr_t at = 0) {
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != 0 ? MAP_FIXED_NOREPLACE : 0);
    const long result =
        call(SYS_mmap, static_cast<long>(at), static_cast<long>(bytes), PROT_READ | PROT_WRITE, how, -1, 0);
    if (result < 0 && result > -4096) {
        constexpr char said[] = "apiary hunt: no memory can be mapped\n";
        call(SYS_write, 2, word(said), sizeof said - 1);
        end(3);
    }
    return reinterpret_cast<void*>(result);
}

// The compiler would turn loops into calls of the program's memcpy.
inline void copy(void* to, const void* from, std::size_t bytes) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
}
inline void copy_backward(void* to, const void* from, std::size_t bytes) {
    char* last_to = static_cast<char*>(to) + bytes - 1;
    const char* last_from = static_cast<const char*>(from) + bytes - 1;
    asm volatile("std; rep movsb; cld" : "+D"(last_to), "+S"(last_from), "+c"(bytes)::"memory");
}
inline void fill(void* to, int value, std::size_t bytes) {
    asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
}

}  // namespace apiary::hunt::machine
