// heap: see the header.
#include "heap.hpp"

#include "machine.hpp"

namespace apiary::hunt {

constinit heap program_heap(0x100000000000), own_heap(0x200000000000);

namespace {

struct sized {
    std::uint32_t size_class;
    std::size_t room;
};

// Steps of 16 up to 1 KiB, then four to each power of two.
sized class_of(std::size_t bytes) {
    if (bytes <= 1024) {
        const std::size_t steps = bytes == 0 ? 1 : (bytes + 15) / 16;
        return {static_cast<std::uint32_t>(steps), steps * 16};
    }
    const unsigned power = 63u - static_cast<unsigned>(__builtin_clzll(bytes - 1));
    const std::size_t step = std::size_t{1} << (power - 2);
    const std::size_t steps = (bytes + step - 1) / step;
    return {static_cast<std::uint32_t>(64 + (power - 10) * 4 + (steps - 4)), steps * step};
}

}  // namespace

void heap::lock() {
    while (__atomic_exchange_n(&locked_, 1, __ATOMIC_ACQUIRE) != 0) machine::call(SYS_sched_yield);
}
void heap::unlock() { __atomic_store_n(&locked_, 0, __ATOMIC_RELEASE); }

void heap::begins() {
    if (top_ != 0) return;
    machine::map(reserved, begin_);
    top_ = begin_;
}

void* heap::get(std::size_t bytes, std::size_t alignment) {
    if (bytes > reserved / 4) return nullptr;
    lock();
    begins();
    const bool aligned = alignment > 16;
    const sized s = class_of(bytes + (aligned ? alignment : 0));
    header* h = bins_[s.size_class];
    if (h != nullptr && !aligned) {
        bins_[s.size_class] = h->next;
        ++used_again_;
    } else if (top_ + s.room + 2 * sizeof(header) > begin_ + reserved) {
        unlock();
        return nullptr;
    } else {
        std::uintptr_t block = top_ + sizeof(header);
        top_ = block + s.room;
        if (aligned) block = (block + alignment - 1) & ~(alignment - 1);
        h = reinterpret_cast<header*>(block) - 1;
        h->size_class = aligned ? 0 : s.size_class;
        h->made_before = newest_;
        newest_ = h;
    }
    h->bytes = bytes;
    h->state = alive;
    h->next = nullptr;
    unlock();
    return h + 1;
}

void heap::put(void* block) {
    header& h = of(block);
    lock();
    h.state = freed;
    if (again_ && h.size_class != 0) {
        h.next = bins_[h.size_class];
        bins_[h.size_class] = &h;
    }
    unlock();
}

}  // namespace apiary::hunt
