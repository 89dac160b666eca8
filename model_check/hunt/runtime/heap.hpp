// heap: blocks in classes of sizes. One heap is the program's, one the runtime's; both begin at fixed addresses, so
// that a program that orders by addresses does the same again.
//
// Any thread calls; a lock guards each heap, since a thread that ends may still give memory back while the next one
// runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace apiary::hunt {

class heap {
public:
    // It stands before each block.
    struct header {
        std::uint64_t bytes;
        std::uint32_t size_class;  // 0: is not used again
        std::uint32_t state;
        header* next;
        header* made_before;  // of all blocks, in use or not
    };
    static constexpr std::uint32_t alive = 0x51ab, freed = 0xdead;

    constexpr explicit heap(std::uintptr_t begin) : begin_(begin) {}

    void begins();
    void* get(std::size_t bytes, std::size_t alignment = 16);
    void put(void* block);
    bool owns(const void* p) const { return number(p) >= begin_ && number(p) < top_; }
    bool reserves(std::uintptr_t address) const { return address >= begin_ && address < begin_ + reserved; }
    std::uintptr_t begin() const { return begin_; }
    std::uintptr_t top() const { return top_; }
    static header& of(void* block) { return static_cast<header*>(block)[-1]; }
    static bool is_freed(void* block) { return of(block).state == freed; }
    // f(address, bytes), while no other thread calls.
    template <class F>
    void each_alive(F f) const {
        for (header* h = newest_; h != nullptr; h = h->made_before)
            if (h->state == alive) f(number(h + 1), h->bytes);
    }
    void use_again(bool yes) { again_ = yes; }
    std::uint64_t used_again() const { return used_again_; }

private:
    static constexpr std::size_t reserved = std::size_t{1} << 38;
    static std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
    void lock();
    void unlock();

    std::uintptr_t begin_, top_ = 0;
    std::array<header*, 256> bins_{};
    header* newest_ = nullptr;
    int locked_ = 0;
    bool again_ = true;
    std::uint64_t used_again_ = 0;
};

extern constinit heap program_heap, own_heap;

template <class T>
struct own_allocator {
    using value_type = T;
    own_allocator() = default;
    template <class U>
    own_allocator(const own_allocator<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(own_heap.get(n * sizeof(T), alignof(T))); }
    void deallocate(T* p, std::size_t) { own_heap.put(p); }
    template <class U>
    bool operator==(const own_allocator<U>&) const {
        return true;
    }
};
template <class T>
using own_vector = std::vector<T, own_allocator<T>>;

template <class T, class... A>
T* make_own(A&&... a) {
    return new (own_heap.get(sizeof(T), alignof(T))) T(static_cast<A&&>(a)...);
}
template <class T>
void end_own(T* p) {
    p->~T();
    own_heap.put(p);
}

}  // namespace apiary::hunt
