// huge_pages: an allocator for a scenario's large tables. It allocates at a boundary of 2 MiB, in huge pages where the
// system gives them on request. With small pages, their places decide how many of a table's lines share a set of the
// cache, and the places differ in each process. CLI.md asks for the same in every language.
//
// Threads. Any thread. Errors. std::bad_alloc; a system without huge pages is no error.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace apiary::bench {

template <class T>
struct huge_pages {
    using value_type = T;
    static constexpr std::size_t boundary = std::size_t{1} << 21;

    huge_pages() = default;
    template <class U>
    explicit huge_pages(const huge_pages<U>&) {}

    [[nodiscard]] T* allocate(std::size_t n) {
        const std::size_t bytes = (n * sizeof(T) + boundary - 1) / boundary * boundary;
        void* const p = ::operator new(bytes, std::align_val_t{boundary});
        (void)::madvise(p, bytes, MADV_HUGEPAGE);
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{boundary}); }
    bool operator==(const huge_pages&) const { return true; }
};

}  // namespace apiary::bench
