// frame_storage: memory for coroutine frames, by size class, recycled by each thread.
//
//   frame_storage<Sync>        allocates through the policy: a checker or a sanitizer sees every use after free.
//   the same, if the policy    recycles blocks, for production: no heap call in the steady state. real_sync does
//   recycles memory            (recycles_memory).
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
// Each policy has blocks of its own. Tested by schedulers/coro_pool/tests/coro_memory_test.cpp. Not model-checked: the
// engines have nothing like Sync::local, and its only shared part is a mutex around lists.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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

template <class Sync = real_sync>
class basic_frame_blocks {
    template <class T>
    using cell = typename Sync::template cell<T>;

public:
    // The size classes: `step` bytes, twice that, and so on. A larger frame comes from the heap.
    static constexpr std::size_t step = 64, classes = 32;

    [[gnu::always_inline]] static void* allocate(std::size_t bytes) {
        const std::size_t c = class_of(bytes);
        if (c >= classes) [[unlikely]]
            return ::operator new(bytes);
        list& mine = lists()[c];
        block* const b = mine.top;
        if (b == nullptr) [[unlikely]]
            return allocate_slowly(c);
        mine.top = b->next.read();
        ++mine.room;
        return b;
    }
    [[gnu::always_inline]] static void release(void* p, std::size_t bytes) noexcept {
        const std::size_t c = class_of(bytes);
        if (c >= classes) [[unlikely]]
            return ::operator delete(p);
        list& mine = lists()[c];
        mine.top = before(p, mine.top);
        if (--mine.room == 0) [[unlikely]]
            release_slowly(c);
    }

private:
    struct block {
        cell<block*> next;
    };
    // Makes a block at p that is linked to `next`.
    [[gnu::always_inline]] static block* before(void* p, block* next) noexcept {
        auto* const b = ::new (p) block;
        b->next.write(next);
        return b;
    }
    struct alignas(step) line_of_frames {
        line_of_frames() noexcept {}  // leaves the bytes of the frame as they are
        std::byte bytes[step];
    };
    // `room` counts down, so that release compares with zero, which its subtraction does anyway.
    struct list {
        block* top;
        std::uint32_t room;      // releases until a batch goes to the depot
        std::int32_t given = 0;  // batches, without twice those that it took: from most_taken to most_given
    };
    struct batch {
        block* top;
        std::uint32_t count;
    };
    // Other processors have the lines of a batch's blocks. So the first block notes where the next few are, and each of
    // those, beneath its link, where more are: the thread that takes the batch asks for all of them, and waits for
    // three lines one after the other in place of one for each block. A thread that takes half as many batches as it
    // gives, or more, soon notes nothing. With two processors a line comes quickly, and notes cost more than they
    // bring.
    static constexpr std::size_t in_first = 5, in_each = 7, most_in_batch = 32, least_in_batch = 8;
    static constexpr std::int32_t most_given = 1, most_taken = -1024;
    using addresses = std::array<block*, most_in_batch>;
    struct notes {
        std::array<cell<block*>, in_each> of;
    };
    static_assert(sizeof(block) + sizeof(notes) <= step);
    static notes* notes_of(block* b) {
        return reinterpret_cast<notes*>(reinterpret_cast<std::byte*>(b) + sizeof(block));
    }
    // The first block that block i notes, i > 0.
    static constexpr std::size_t noted_by(std::size_t i) { return in_first + 1 + in_each * (i - 1); }
    static_assert(least_in_batch > in_first && noted_by(in_first + 1) >= most_in_batch);

    // The view that the depot has of a batch's first block.
    struct noted_batch {
        cell<block*> next;
        cell<noted_batch*> other;  // the next batch of the same size
        cell<std::uint32_t> count;
        std::array<cell<block*>, in_first> ahead;  // null: this batch has no notes
    };
    static_assert(sizeof(noted_batch) <= step);
    struct depot {
        typename Sync::mutex mutex;
        std::array<cell<noted_batch*>, classes> batches{};
        std::vector<void*> slabs;  // so that a leak checker finds them

        // `noted`: where its blocks are; null if it has no notes.
        void add(std::size_t c, batch b, const addresses* noted) noexcept {
            block* const next = b.top->next.read();
            auto* const n = ::new (static_cast<void*>(b.top)) noted_batch;
            n->next.write(next);
            n->other.write(batches[c].read());
            n->count.write(b.count);
            n->ahead[0].write(nullptr);
            for (std::size_t k = 0; noted != nullptr && k != in_first; ++k) n->ahead[k].write((*noted)[k + 1]);
            batches[c].write(n);
        }
        // Precondition: there is a batch of this size. `noted`: as far as the first block has it.
        batch take(std::size_t c, addresses& noted) noexcept {
            noted_batch* const n = batches[c].read();
            batches[c].write(n->other.read());
            noted[1] = n->ahead[0].read();
            for (std::size_t k = 1; noted[1] != nullptr && k != in_first; ++k) noted[k + 1] = n->ahead[k].read();
            const std::uint32_t count = n->count.read();
            return {before(n, n->next.read()), count};
        }
    };

    [[gnu::noinline]] static void note(batch b, addresses& noted) noexcept {
        block* at = b.top;
        for (std::size_t i = 0; i != b.count; ++i, at = at->next.read()) noted[i] = at;
        for (std::size_t i = 1; noted_by(i) < b.count; ++i) {
            auto* const n = ::new (static_cast<void*>(notes_of(noted[i]))) notes;
            for (std::size_t k = 0; k != in_each && noted_by(i) + k != b.count; ++k)
                n->of[k].write(noted[noted_by(i) + k]);
        }
    }
    [[gnu::noinline]] static void ask_for(batch b, const addresses& noted) noexcept {
        for (std::size_t k = 1; k <= in_first; ++k) Sync::prefetch_to_write(noted[k]);
        for (std::size_t i = 1; noted_by(i) < b.count; ++i) {
            const notes& n = *std::launder(notes_of(noted[i]));
            for (std::size_t k = 0; k != in_each && noted_by(i) + k != b.count; ++k)
                Sync::prefetch_to_write(n.of[k].read());
        }
    }

    static constexpr std::size_t class_of(std::size_t bytes) { return (bytes - 1) / step; }
    static constexpr std::uint32_t batch_of(std::size_t c) {
        return static_cast<std::uint32_t>(c < 8 ? most_in_batch : least_in_batch);
    }
    static void took(std::size_t c, list& mine, batch b) {
        mine = {b.top, 2 * batch_of(c) - b.count, std::max(mine.given - 2, most_taken)};
    }
    // Counts as full from the first block on: either this thread has not yet registered its hand-back at exit, or it
    // has already done it.
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
        list& mine = lists()[c];
        Sync::template at_thread_exit<&thread_ends>();
        depot& d = shared();
        addresses noted;
        noted[1] = nullptr;
        {
            const typename Sync::lock held(d.mutex);
            if (d.batches[c].read() != nullptr) {
                took(c, mine, d.take(c, noted));
            } else {
                const std::size_t bytes = (c + 1) * step;
                const std::uint32_t n = batch_of(c);
                d.slabs.push_back(nullptr);  // before the allocation, which may throw
                auto* const lines = Sync::template create_array<line_of_frames>(n * (c + 1));
                d.slabs.back() = lines;
                auto* const slab = reinterpret_cast<std::byte*>(lines);
                batch made{nullptr, n};
                for (std::size_t i = n; i-- > 0;) made.top = before(slab + i * bytes, made.top);
                took(c, mine, made);
            }
        }
        if (noted[1] != nullptr) ask_for({mine.top, 2 * batch_of(c) - mine.room}, noted);
        block* const b = mine.top;
        mine.top = b->next.read();
        ++mine.room;
        if (exited()) hand_back();
        return b;
    }
    [[gnu::noinline]] static void release_slowly(std::size_t c) noexcept {
        list& mine = lists()[c];
        Sync::template at_thread_exit<&thread_ends>();
        if (mine.top->next.read() == nullptr && !exited()) {  // the first block of the list
            mine.room = 2 * batch_of(c) - 1;
            return;
        }
        const batch older = exited() ? batch{std::exchange(mine, unused).top, 1} : cut(c, mine);
        mine.given = std::min(mine.given + 1, most_given);
        const bool notes_it = mine.given > 0 && older.count == batch_of(c) && Sync::processors() > 2;
        addresses noted;
        if (notes_it) note(older, noted);
        depot& d = shared();
        const typename Sync::lock held(d.mutex);
        d.add(c, older, notes_it ? &noted : nullptr);
    }
    // Precondition: the list is full. Keeps its newest batch, whose lines are warm, and returns the older one.
    static batch cut(std::size_t c, list& full) noexcept {
        block* last = full.top;
        for (std::uint32_t i = 1; i < batch_of(c); ++i) last = last->next.read();
        const batch older{last->next.read(), batch_of(c)};
        last->next.write(nullptr);
        full.room = batch_of(c);
        return older;
    }

    static void thread_ends() {
        exited() = true;
        hand_back();
    }
    static void hand_back() noexcept {
        depot& d = shared();
        const typename Sync::lock held(d.mutex);
        for (std::size_t c = 0; c != classes; ++c) {
            list& mine = lists()[c];
            if (mine.top != nullptr) d.add(c, {mine.top, 2 * batch_of(c) - mine.room}, nullptr);
            mine = unused;
        }
    }

    struct own_lists {
        std::array<list, classes> all = unused_lists();
    };
    struct thread_state {
        bool exited = false;  // thread_ends has run
    };
    static std::array<list, classes>& lists() { return Sync::template local<own_lists>().all; }
    static bool& exited() { return Sync::template local<thread_state>().exited; }
};

using frame_blocks = basic_frame_blocks<>;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define APIARY_FRAMES_FROM_HEAP
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define APIARY_FRAMES_FROM_HEAP
#endif
#endif

#ifndef APIARY_FRAMES_FROM_HEAP
template <class Sync>
    requires recycles_memory<Sync>
struct frame_storage<Sync> {
    using blocks = basic_frame_blocks<Sync>;
    static constexpr bool recycles = true;
    [[gnu::always_inline]] static void* allocate(std::size_t bytes) { return blocks::allocate(bytes); }
    [[gnu::always_inline]] static void release(void* p, std::size_t bytes) noexcept { blocks::release(p, bytes); }
};
#endif

}  // namespace apiary
