// shadow: beside every eight bytes of the program's memory, the last accesses, the atomics that lie there, and a lock's
// state.
//
// A race is two accesses to one byte, of two threads, one of them a write and not both atomic, neither of which happens
// before the other. The last three accesses of eight bytes are kept. What was freed stays marked until it is allocated
// again.
//
// The thread that has the baton touches it, and no other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "clocks.hpp"
#include "machine.hpp"
#include "scheduler.hpp"
#include "weak_memory.hpp"

namespace apiary::hunt {

// Of a mutex or its like, by address.
struct lock_state {
    lock_state* next = nullptr;  // in the same eight bytes
    std::uintptr_t address = 0;
    std::uint32_t owner = 0;  // the thread, and 1
    std::uint32_t count = 0, readers = 0;
    std::uint32_t rounds = 0, inside = 0;  // of a barrier: those that are over, and the threads that have not left
    vector_clock released, released_by_readers;
};

struct atomic_object {
    atomic_object* next = nullptr;
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    atomic_object* whole = nullptr;  // this one stands for the upper half of that one, of sixteen bytes
    location stores;
};

// access_beyond: no access, but the bytes before or after a block, which nobody may touch; the place is that of the
// block's allocation. access_made: the allocation itself, of whole cells, so also of bytes after the block's last.
enum access : std::uint8_t {
    access_read = 0,
    access_write = 1,
    access_atomic = 2,
    access_freed = 4,
    access_valid = 8,
    access_beyond = 16,
    access_made = 32
};

struct cell {
    std::uint64_t accesses[3];
    call_tree::placed places[3];
    atomic_object* atomics;
    lock_state* lock;
};

class shadow {
public:
    void begin();
    void touches(thread& t, std::uintptr_t address, std::size_t bytes, std::uint8_t how, std::uintptr_t place);
    // True for most plain accesses, which then need no call of `touches`.
    static bool adds_nothing(const thread& t, std::uintptr_t address, std::size_t bytes, std::uint8_t how) {
        if ((address & 7) + bytes > 8) return false;
        const cell* const c = if_any(address);
        if (c == nullptr || ((how & access_write) != 0 && (c->atomics != nullptr || c->lock != nullptr))) return false;
        return knows(*c, packed(t.sees.happened.of_own(t.id()), t.id(), mask_of(address, bytes), how));
    }
    void allocated(thread& t, std::uintptr_t address, std::size_t bytes, std::uintptr_t place);
    // By whom and where a block was freed: false if that is forgotten.
    bool tell_free(std::uintptr_t address);
    // Where a block in use was allocated.
    call_tree::placed allocated_at(std::uintptr_t address) { return at(address - 8).places[1]; }
    void mapped(std::uintptr_t address, std::size_t bytes);  // anew: what was seen there is forgotten
    // `checked`: the place that frees is the program's, and what it accessed is known.
    void freed(thread& t, std::uintptr_t address, std::size_t bytes, std::uintptr_t place, bool checked);
    atomic_object& atomic_at(thread& t, std::uintptr_t address, std::size_t bytes, std::uint8_t how,
                             std::uintptr_t place);
    lock_state& lock_at(const volatile void* p);
    void forget_lock(const volatile void* p);
    void forget_everything();  // as if no run had been
    std::size_t bytes_mapped() const;  // for regions

private:
    static std::uint64_t packed(std::uint32_t epoch, std::uint32_t thread, std::uint8_t mask, std::uint8_t how) {
        return std::uint64_t{epoch} << 32 | std::uint64_t{thread & 0xffff} << 16 | std::uint64_t{mask} << 8 | how |
               access_valid;
    }
    static std::uint8_t mask_of(std::uintptr_t address, std::size_t bytes) {
        return static_cast<std::uint8_t>(((1u << bytes) - 1) << (address & 7));
    }
    // The thread has accessed these bytes before in the same epoch, by the same kind of access, or by a write where
    // this one is a read. What races with this access races with that one. That one was compared with all accesses
    // before it, and all after it were compared with it: none of another thread is ordered after it, since the thread
    // releases nothing within an epoch.
    static bool knows(const cell& c, std::uint64_t access) {
        constexpr std::uint64_t bytes = 0xff00, must_be_equal = ~(bytes | access_write);
        const std::uint64_t compared = access | must_be_equal;
        for (const std::uint64_t before : c.accesses)
            if ((before & compared) == access) return true;
        return false;
    }
    static cell*& region_of(std::uintptr_t address) {
        return reinterpret_cast<cell**>(machine::of_shadow_table)[(address >> region_bits) % most_regions];
    }
    static cell* if_any(std::uintptr_t address) {
        cell* const region = region_of(address);
        return region != nullptr ? region + ((address & ((1u << region_bits) - 1)) >> 3) : nullptr;
    }
    cell& at(std::uintptr_t address);
    cell* new_region();
    void check(thread& t, cell& c, std::uintptr_t address, std::uint8_t mask, std::uint8_t how, std::uintptr_t place);
    [[noreturn]] void race(thread& t, const cell& c, int which, std::uintptr_t address, std::uint8_t how,
                           std::uintptr_t place);
    void bound(thread& t, std::uintptr_t address, std::uint8_t mask, std::uintptr_t place);
    void forget_atomics(std::uintptr_t address, std::size_t bytes);
    void forget_unused_locks(cell& c, std::uintptr_t address, std::size_t bytes);
    void forget_all(cell& c, std::uintptr_t address);

    static constexpr unsigned region_bits = 20;
    static constexpr std::size_t most_regions = std::size_t{1} << 27;  // addresses beyond share them
    static constexpr std::size_t page = 4096, region_pages = (sizeof(cell) << region_bits) / 8 / page;
    // Of the regions that there are, in memory that a restart leaves as it is: their pages that were touched.
    struct touched_pages {
        static constexpr std::size_t most = 1 << 16, most_mapped = 1 << 17;
        std::size_t regions, count;
        cell* pages[most];
        std::uint8_t is_touched[most_mapped * region_pages];
    };
    touched_pages& touched() const { return *reinterpret_cast<touched_pages*>(machine::of_touched); }
    void touch(cell& c);
};
extern shadow the_shadow;

}  // namespace apiary::hunt
