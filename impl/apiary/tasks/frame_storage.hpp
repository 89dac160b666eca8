// frame_storage: memory for coroutine frames, by size class, recycled by each thread.
//
//   frame_storage<Sync>        allocates through the policy: a checker or a sanitizer sees every use after free.
//   frame_storage<real_sync>   recycles blocks, for production: no heap call in the steady state.
//
// When to use it. In a promise's operator new and delete, and for other objects as short-lived as a frame. When not:
// for memory that is not freed by size. A policy that derives from real_sync has its frames from the heap; heap_frames
// is one, and so switches the recycling off.
//
// The recycler works as task_block_pool (task_storage.hpp), for several sizes. A thread allocates from and frees into
// lists of its own, threaded through the blocks. When a list has grown by two batches, one goes to the depot, under a
// mutex; an empty list takes one from there. So frames may for ever be freed by other threads than those that allocated
// them, and no list grows without bound. A thread that ends hands its lists back; a frame that is freed on it later
// goes back at once.
//
// Threads.  Any, also destructors of thread_local objects. The process keeps the memory.
// Errors.   allocate: std::bad_alloc. release: none. It notes a batch in the batch's first block, so it needs no
//           memory, except that once for each thread the C library notes what to call at the thread's end.
// Under AddressSanitizer and ThreadSanitizer every frame comes from the heap, so that they see its end.
// Tested by schedulers/coro_pool/tests/coro_memory_test.cpp. Not model-checked: it is reached by thread_local pointers,
// and its only shared part is a mutex around lists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <apiary/sync/real_sync.hpp>

namespace apiary {

template <class Sync>
struct frame_storage {
    static constexpr bool recycles = false;
    static void* allocate(std::size_t bytes) { return Sync::allocate(bytes, alignof(std::max_align_t)); }
    static void release(void* p, std::size_t bytes) noexcept { Sync::deallocate(p, bytes, alignof(std::max_align_t)); }
};

// The policy that ships, except that every frame is an object of the heap.
struct heap_frames : real_sync {};

class frame_blocks {
public:
    // Blocks of `step` bytes, of twice that, and so on. A larger frame comes from the heap.
    static constexpr std::size_t step = 64, classes = 32;

    [[gnu::always_inline]] static void* allocate(std::size_t bytes) {
        const std::size_t c = class_of(bytes);
        if (c >= classes) [[unlikely]]
            return ::operator new(bytes);
        list& mine = mine_[c];
        block* const b = mine.top;
        if (b == nullptr) [[unlikely]]
            return allocate_slowly(c);
        mine.top = b->next;
        ++mine.room;
        return b;
    }
    [[gnu::always_inline]] static void release(void* p, std::size_t bytes) noexcept {
        const std::size_t c = class_of(bytes);
        if (c >= classes) [[unlikely]]
            return ::operator delete(p);
        list& mine = mine_[c];
        mine.top = ::new (p) block{mine.top};
        if (--mine.room == 0) [[unlikely]]
            release_slowly(c);
    }

private:
    struct block {
        block* next;
    };
    // Counts down, so that release compares with zero, which its subtraction does anyway.
    struct list {
        block* top;
        std::uint32_t room;  // a batch goes to the depot after so many more releases
    };
    struct batch {
        block* top;
        std::uint32_t count;
    };
    // How the depot sees a batch's first block.
    struct noted_batch {
        block* next;
        noted_batch* other;  // the next batch of the same size
        std::uint32_t count;
    };
    static_assert(sizeof(noted_batch) <= step);
    struct depot {
        std::mutex mutex;
        std::array<noted_batch*, classes> batches{};
        std::vector<void*> slabs;  // so that a leak checker finds them

        void add(std::size_t c, batch b) noexcept {
            block* const next = b.top->next;
            batches[c] = ::new (static_cast<void*>(b.top)) noted_batch{next, batches[c], b.count};
        }
        // Precondition: there is a batch of this size.
        batch take(std::size_t c) noexcept {
            const noted_batch n = *batches[c];
            auto* const top = ::new (static_cast<void*>(batches[c])) block{n.next};
            batches[c] = n.other;
            return {top, n.count};
        }
    };

    static constexpr std::size_t class_of(std::size_t bytes) { return (bytes - 1) / step; }
    static constexpr std::uint32_t batch_of(std::size_t c) { return static_cast<std::uint32_t>(c < 8 ? 32 : 8); }
    static constexpr list list_of(std::size_t c, batch b) { return {b.top, 2 * batch_of(c) - b.count}; }
    // Full with its first block: either this thread has not yet registered its hand-back at exit, or it has done it.
    static constexpr list unused{nullptr, 1};
    static constexpr std::array<list, classes> unused_lists() {
        std::array<list, classes> all{};
        all.fill(unused);
        return all;
    }

    // Never destroyed: frames may be freed after every destructor of this file could have run.
    static depot& shared() {
        alignas(depot) static std::byte place[sizeof(depot)];
        static depot& d = *::new (place) depot;
        return d;
    }

    // Out of line: a call in the fast paths would make them save registers for it.
    [[gnu::noinline]] static void* allocate_slowly(std::size_t c) {
        list& mine = mine_[c];
        hand_back_at_thread_exit();
        depot& d = shared();
        {
            const std::lock_guard held(d.mutex);
            if (d.batches[c] != nullptr) {
                mine = list_of(c, d.take(c));
            } else {
                const std::size_t bytes = (c + 1) * step;
                const std::uint32_t n = batch_of(c);
                d.slabs.push_back(nullptr);  // before the allocation, which may throw
                auto* slab = static_cast<std::byte*>(::operator new(n * bytes, std::align_val_t{64}));
                d.slabs.back() = slab;
                batch made{nullptr, n};
                for (std::size_t i = n; i-- > 0;) made.top = ::new (slab + i * bytes) block{made.top};
                mine = list_of(c, made);
            }
        }
        block* const b = mine.top;
        mine.top = b->next;
        ++mine.room;
        if (exited_) hand_back();
        return b;
    }
    [[gnu::noinline]] static void release_slowly(std::size_t c) noexcept {
        list& mine = mine_[c];
        hand_back_at_thread_exit();
        if (mine.top->next == nullptr && !exited_) {  // the list's first block
            mine.room = 2 * batch_of(c) - 1;
            return;
        }
        const batch older = exited_ ? batch{std::exchange(mine, unused).top, 1} : cut(c, mine);
        depot& d = shared();
        const std::lock_guard held(d.mutex);
        d.add(c, older);
    }
    // Precondition: the list is full. Keeps its newest batch, whose lines are warm, and returns the older one.
    static batch cut(std::size_t c, list& full) noexcept {
        block* last = full.top;
        for (std::uint32_t i = 1; i < batch_of(c); ++i) last = last->next;
        const batch older{std::exchange(last->next, nullptr), batch_of(c)};
        full.room = batch_of(c);
        return older;
    }

    struct thread_exit {
        ~thread_exit() {
            exited_ = true;
            hand_back();
        }
    };
    static void hand_back_at_thread_exit() { static thread_local thread_exit at_exit; }
    static void hand_back() noexcept {
        depot& d = shared();
        const std::lock_guard held(d.mutex);
        for (std::size_t c = 0; c != classes; ++c) {
            if (mine_[c].top != nullptr) d.add(c, {mine_[c].top, 2 * batch_of(c) - mine_[c].room});
            mine_[c] = unused;
        }
    }

    static constinit thread_local std::array<list, classes> mine_;
    static inline constinit thread_local bool exited_ = false;  // thread_exit has run
};

inline constinit thread_local std::array<frame_blocks::list, frame_blocks::classes> frame_blocks::mine_ =
    frame_blocks::unused_lists();

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define APIARY_FRAMES_FROM_HEAP
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define APIARY_FRAMES_FROM_HEAP
#endif
#endif

#ifndef APIARY_FRAMES_FROM_HEAP
template <>
struct frame_storage<real_sync> {
    static constexpr bool recycles = true;
    [[gnu::always_inline]] static void* allocate(std::size_t bytes) { return frame_blocks::allocate(bytes); }
    [[gnu::always_inline]] static void release(void* p, std::size_t bytes) noexcept { frame_blocks::release(p, bytes); }
};
#endif

}  // namespace apiary
