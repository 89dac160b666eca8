// arena: memory whose addresses are the same in each run, and which knows what lies in it.
//
// What the machine charges depends on which objects share a line, and code may depend on addresses themselves. So all
// objects of a virtual run, those of plain operator new too, come from one region at a fixed address. Each object begins
// on a line of its own. Where the fixed address is taken the region lies elsewhere: the lines are shared in the same way.
//
// Small blocks go through magazines, as task_block_pool and frame_storage have them: each processor takes blocks from
// an array of its own and puts them back into it, and exchanges it when it is empty or full.
//
// Threads. One thread of the host.
// Errors.  allocate: std::bad_alloc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace apiary::virt {

void* host_get(std::size_t bytes);  // std::bad_alloc
void host_put(void* p);

// Of the machine's own tables: they must not lie between the objects that it watches.
template <class T>
struct host_memory {
    using value_type = T;
    host_memory() = default;
    template <class U>
    host_memory(const host_memory<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(host_get(n * sizeof(T))); }
    void deallocate(T* p, std::size_t) { host_put(p); }
    bool operator==(const host_memory&) const = default;
};
template <class T>
using host_vector = std::vector<T, host_memory<T>>;

using label = std::uint16_t;  // an index of names

class arena {
public:
    static constexpr std::size_t page = 4096, region_bytes = std::size_t{16} << 30, pages_in_all = region_bytes / page;
    static constexpr std::size_t line = 64, largest_block = 1024, classes = largest_block / line, magazine = 122;

    // The blocks of one processor, by class.
    struct shelf {
        struct pair {
            host_vector<void*> loaded, spare;
        };
        std::array<pair, classes> of;
    };
    struct given {
        void* block;
        void* next;      // the block that comes after it from the same magazine, or null
        bool exchanged;  // a magazine with the depot
    };

    arena();
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;

    given allocate(std::size_t bytes, std::size_t alignment, label what, shelf& from);
    // True: a magazine was exchanged.
    bool release(void* p, shelf& to);
    void empty(shelf& s);  // into the depot
    bool contains(const void* p) const { return position(p) < region_bytes; }
    std::size_t pages_so_far() const { return used_pages_; }  // since begin_anew
    // The number of the page at that address; pages_in_all, where the arena has none there.
    std::size_t page_of(std::uintptr_t address) const {
        return std::min(address - reinterpret_cast<std::uintptr_t>(base_), region_bytes) / page;
    }
    // Nobody will touch again what threads have allocated that will not go on.
    void give_up() { given_up_ = true; }
    bool may_begin_anew() const { return living_ == 0 || given_up_; }
    void begin_anew();  // precondition: may_begin_anew, and no shelf has blocks

    // What lies at p, and how far p lies in it.
    struct inside {
        label what = 0;
        std::size_t offset = 0;
    };
    inside find(const void* p) const;
    // Calls elements of an array by their own offsets: `stride` bytes each.
    void set_stride(const void* object, std::size_t stride);

private:
    static constexpr std::size_t slab_pages = 16;
    struct page_entry {
        std::uint32_t begin = 0;   // page at which its slab or object begins
        std::uint32_t pages = 0;   // of it, in that page's entry
        std::uint32_t stride = 0;  // of a large object; of a slab: its block
        label what = 0;            // of a large object
        bool slab = false;
    };

    std::size_t position(const void* p) const { return static_cast<std::size_t>(static_cast<const char*>(p) - base_); }
    std::uint32_t take_pages(std::size_t n);
    void* allocate_large(std::size_t bytes, std::size_t alignment, label what);

    char* base_;
    page_entry* pages_;  // of the whole region
    label* labels_;      // of each line's block, at its first line
    std::size_t used_pages_ = 0;
    std::size_t living_ = 0;
    bool given_up_ = false;
    std::array<host_vector<host_vector<void*>>, classes> depot_;
    host_vector<std::pair<std::uint32_t, std::uint32_t>> free_;  // pages, first page; the last is reused first
};

// Of a process; all machines use it, one after another.
arena& the_arena();

}  // namespace apiary::virt
