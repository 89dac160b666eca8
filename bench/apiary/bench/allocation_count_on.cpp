// Replaces operator new and delete by malloc and free plus one count.
//
// Each thread adds to a word of its own, without a lock prefix; the words live for ever, so a count
// survives its thread. Threads beyond the table share the last word by read-modify-write.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include <apiary/bench/allocation_count.hpp>
#include <apiary/sync/cache_line.hpp>

namespace apiary::bench {

namespace {

struct alignas(cache_line) word {
    std::atomic<std::uint64_t> count{0};
};

constexpr std::size_t words = 1024;
constinit std::array<word, words> table{};
constinit std::atomic<std::size_t> threads{0};
constinit thread_local word* mine = nullptr;

void count_one() noexcept {
    if (mine == nullptr) [[unlikely]]
        mine = &table[std::min(threads.fetch_add(1, std::memory_order_relaxed), words - 1)];
    if (mine == &table[words - 1]) [[unlikely]]
        mine->count.fetch_add(1, std::memory_order_relaxed);
    else
        mine->count.store(mine->count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void* allocate_or_null(std::size_t size) noexcept {
    count_one();
    return std::malloc(size == 0 ? 1 : size);
}

void* allocate_or_null(std::size_t size, std::align_val_t alignment) noexcept {
    count_one();
    const auto a = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(a, (size + a - 1) / a * a);
}

template <class... Alignment>
void* allocate(std::size_t size, Alignment... alignment) {
    if (void* p = allocate_or_null(size, alignment...)) [[likely]]
        return p;
    throw std::bad_alloc();
}

}  // namespace

std::optional<std::uint64_t> allocation_count() noexcept {
    std::uint64_t sum = 0;
    for (const word& w : table) sum += w.count.load(std::memory_order_relaxed);
    return sum;
}

}  // namespace apiary::bench

using apiary::bench::allocate;
using apiary::bench::allocate_or_null;

// Every form that may be replaced: the library would forward most of them to the first two, the
// runtimes of the sanitizers do not.
void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t a) { return allocate(size, a); }
void* operator new[](std::size_t size, std::align_val_t a) { return allocate(size, a); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
    return allocate_or_null(size, a);
}
void* operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
    return allocate_or_null(size, a);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
