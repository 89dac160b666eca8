// copies: what copies, fills, compares and searches bytes for the program (instrumented.hpp), in place of the C library's:
// each says first what it reads, and what it writes. A search reads as far as it has to; a comparison of so many bytes reads
// all of them, as the C library may.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <apiary/model_check/as_it_is/runtime.hpp>

using namespace apiary::model::as_it_is;

namespace {

#define CALLER __builtin_return_address(0)

void touched(const void* p, std::size_t n, access_kind how, void* pc) {
    if (!in_program || n == 0) return;
    const beside_program now;
    made_runtime->touches(reinterpret_cast<std::uintptr_t>(p), n, how, pc);
}
void is_read(const void* p, std::size_t n, void* pc) { touched(p, n, access_kind::read, pc); }
void is_written(const void* p, std::size_t n, void* pc) { touched(p, n, access_kind::write, pc); }

// A text with its end, or its first `most` bytes.
std::size_t length_with_end(const char* text, std::size_t most = SIZE_MAX) {
    const std::size_t n = ::strnlen(text, most);
    return n == most ? n : n + 1;
}
// As far as two texts are compared.
std::size_t compared(const char* a, const char* b, std::size_t most = SIZE_MAX) {
    std::size_t n = 0;
    while (n < most && a[n] == b[n] && a[n] != '\0') ++n;
    return n == most ? n : n + 1;
}
// As far as a text is searched for what was found.
std::size_t searched(const char* text, const char* found, std::size_t of_it) {
    return found == nullptr ? length_with_end(text) : static_cast<std::size_t>(found - text) + of_it;
}
// Behind what stands there, and with an end.
char* add_to(char* to, const char* from, std::size_t n, void* pc) {
    const std::size_t had = std::strlen(to);
    is_read(to, had + 1, pc), is_written(to + had, n + 1, pc);
    std::memcpy(to + had, from, n);
    to[had + n] = '\0';
    return to;
}

}  // namespace

extern "C" {

// Compilers call these three themselves.
void* __tsan_memcpy(void* to, const void* from, std::size_t n) {
    is_read(from, n, CALLER), is_written(to, n, CALLER);
    return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, std::size_t n) {
    is_read(from, n, CALLER), is_written(to, n, CALLER);
    return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int v, std::size_t n) {
    is_written(to, n, CALLER);
    return std::memset(to, v, n);
}

int apiary_memcmp(const void* a, const void* b, std::size_t n) {
    is_read(a, n, CALLER), is_read(b, n, CALLER);
    return std::memcmp(a, b, n);
}
void* apiary_memchr(const void* p, int c, std::size_t n) {
    const void* const found = std::memchr(p, c, n);
    is_read(p, found == nullptr ? n : searched(static_cast<const char*>(p), static_cast<const char*>(found), 1),
            CALLER);
    return const_cast<void*>(found);
}
std::size_t apiary_strlen(const char* text) {
    is_read(text, length_with_end(text), CALLER);
    return std::strlen(text);
}
std::size_t apiary_strnlen(const char* text, std::size_t most) {
    is_read(text, length_with_end(text, most), CALLER);
    return ::strnlen(text, most);
}
int apiary_strcmp(const char* a, const char* b) {
    is_read(a, compared(a, b), CALLER), is_read(b, compared(a, b), CALLER);
    return std::strcmp(a, b);
}
int apiary_strncmp(const char* a, const char* b, std::size_t most) {
    is_read(a, compared(a, b, most), CALLER), is_read(b, compared(a, b, most), CALLER);
    return std::strncmp(a, b, most);
}
char* apiary_strchr(const char* text, int c) {
    const char* const found = std::strchr(text, c);
    is_read(text, searched(text, found, 1), CALLER);
    return const_cast<char*>(found);
}
char* apiary_strrchr(const char* text, int c) {
    is_read(text, length_with_end(text), CALLER);
    return const_cast<char*>(std::strrchr(text, c));
}
char* apiary_strstr(const char* text, const char* part) {
    const char* const found = std::strstr(text, part);
    is_read(part, length_with_end(part), CALLER), is_read(text, searched(text, found, std::strlen(part)), CALLER);
    return const_cast<char*>(found);
}
char* apiary_strcpy(char* to, const char* from) {
    const std::size_t n = length_with_end(from);
    is_read(from, n, CALLER), is_written(to, n, CALLER);
    std::memcpy(to, from, n);
    return to;
}
char* apiary_strncpy(char* to, const char* from, std::size_t n) {
    is_read(from, length_with_end(from, n), CALLER), is_written(to, n, CALLER);
    return std::strncpy(to, from, n);
}
char* apiary_strcat(char* to, const char* from) {
    is_read(from, length_with_end(from), CALLER);
    return add_to(to, from, std::strlen(from), CALLER);
}
char* apiary_strncat(char* to, const char* from, std::size_t most) {
    is_read(from, length_with_end(from, most), CALLER);
    return add_to(to, from, ::strnlen(from, most), CALLER);
}
char* apiary_strdup(const char* text) {
    const std::size_t n = length_with_end(text);
    is_read(text, n, CALLER);
    auto* const copy = static_cast<char*>(std::malloc(n));
    if (copy == nullptr) return nullptr;
    is_written(copy, n, CALLER);
    std::memcpy(copy, text, n);
    return copy;
}
}
