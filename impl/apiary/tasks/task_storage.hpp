// task_storage: where tasks live. Two kinds with one interface: make(callable); release(task), which the task calls at
// its end; and leave_prefetch_hint(task), right after make, for a task that will lie in a list (task.hpp).
//
//   heap_storage     one heap object per task, through the policy: a sanitizer or a checker sees every
//                    use after free. For stress and checks.
//   pooled_storage   recycled 64-byte blocks, for production: no heap call in the steady state.
//
// The pool follows Bonwick's magazines ("Magazines and vmem", USENIX 2001): each thread allocates from and frees into
// an array of blocks of its own. Only a full or an empty array goes through the shared depot, under a mutex, once in
// `magazine::blocks` operations. A block may be freed by another thread than the one that allocated it: full magazines
// of the workers become the posters' next ones.
//
// Tested by task_test.cpp and memory_test.cpp; stressed with every scheduler's threads. Not model-checked: its blocks
// are reached by thread_local pointers, which the engines' fibers would share, and its only shared part is a mutex
// around the depot's lists. The checks of queues use heap_storage, and inbox_recycled_nodes shows that a queue survives
// recycled nodes.
//
// Threads. Any, also destructors of thread_local objects. The process keeps the memory.
// Errors.  make: std::bad_alloc, and whatever the callable's constructor throws; neither loses anything. release: none.
//          It needs no memory: a block for which there is no magazine is linked into the depot by itself.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <apiary/tasks/task.hpp>

namespace apiary {

template <class Sync>
struct heap_storage {
    using task_type = task<Sync>;

    template <class F>
    static task_type* make(F&& callable) {
        return Sync::template create<task_type>(made_by<heap_storage>(), std::forward<F>(callable));
    }
    static void release(task_type* t) noexcept { Sync::destroy(t); }
    static void leave_prefetch_hint(task_type*) noexcept {}
};

class task_block_pool {
public:
    static constexpr std::size_t block_bytes = sizeof(task<real_sync>);

    static void* allocate() {
        magazine* m = loaded_;
        if (m->count == 0) [[unlikely]]
            return allocate_slowly();
        return m->take();
    }

    static void release(void* block) noexcept {
        magazine* m = loaded_;
        if (m->count == m->size) [[unlikely]]
            return release_slowly(block);
        m->put(block);
    }

    // The block that this thread got `ahead` allocations ago, if both came from one magazine; else any block, or null.
    static const void* allocated_before() noexcept { return loaded_->taken_before(); }

private:
    // How many lines are on their way from another core at a time: roughly its latency divided by the time of one task.
    static constexpr std::size_t ahead = 8;

    struct magazine {
        static constexpr std::size_t blocks = 122;
        std::size_t count, size;                          // if size is 0, nothing can be taken from it or put into it
        std::array<void*, ahead + blocks + ahead> slots;  // the first and last `ahead` stay null
        magazine* next;                                   // in the depot

        void* take() {
            --count;
            // Another core used this block last, and it is handed out soon: ask for its line now.
            __builtin_prefetch(slots[count], 1);
            return slots[ahead + count];
        }
        void put(void* block) { slots[ahead + count++] = block; }
        const void* taken_before() const { return slots[ahead + count + ahead]; }
    };

    // Linked, so that a release needs no memory.
    template <class T>
    struct stack {
        T* top = nullptr;
        void push(T* t) {
            t->next = top;
            top = t;
        }
        T* pop() {  // null when empty
            T* const t = top;
            if (t != nullptr) top = t->next;
            return t;
        }
    };
    struct loose_block {
        loose_block* next;
    };
    struct depot {
        std::mutex mutex;
        stack<magazine> full, empty;
        stack<loose_block> loose;  // released when there was no memory for a magazine
        std::vector<void*> slabs;
    };

    // Never destroyed: a scheduler with static lifetime, or on a thread that outlives main, may free tasks after every
    // destructor of this file could have run.
    static depot& shared() {
        alignas(depot) static std::byte place[sizeof(depot)];
        static depot& d = *::new (place) depot;
        return d;
    }

    // Gives the thread's magazines back when the thread ends. Destructors that run later on this thread still allocate
    // and free, and give them back each time.
    struct thread_exit {
        ~thread_exit() {
            exited_ = true;
            hand_back();
        }
    };
    static void hand_back() {
        depot& d = shared();
        const std::lock_guard held(d.mutex);
        for (magazine* m : {std::exchange(loaded_, &none_), std::exchange(spare_, &none_)})
            if (m != &none_) (m->count > 0 ? d.full : d.empty).push(m);
    }
    // Out of line: a call in the fast paths would make them save registers for it.
    [[gnu::noinline]] static void* allocate_slowly() {
        exchange_empty();
        void* const block = loaded_->take();
        if (exited_) hand_back();
        return block;
    }
    [[gnu::noinline]] static void release_slowly(void* block) noexcept {
        if (exchange_full()) {
            loaded_->put(block);
        } else {
            depot& d = shared();
            const std::lock_guard held(d.mutex);
            d.loose.push(::new (block) loose_block);
        }
        if (exited_) hand_back();
    }
    static void hand_back_at_thread_exit() { static thread_local thread_exit at_exit; }

    // Makes loaded_ a magazine with at least one block.
    static void exchange_empty() {
        hand_back_at_thread_exit();
        std::swap(loaded_, spare_);
        if (loaded_->count > 0) return;
        depot& d = shared();
        const std::lock_guard held(d.mutex);
        if (magazine* const full = d.full.pop()) {
            if (loaded_ != &none_) d.empty.push(loaded_);
            loaded_ = full;
            return;
        }
        if (loaded_ == &none_) loaded_ = empty_magazine(d);
        while (loaded_->count != magazine::blocks && d.loose.top != nullptr) loaded_->put(d.loose.pop());
        if (loaded_->count > 0) return;
        d.slabs.push_back(nullptr);  // before the allocation, which may throw
        auto* slab = static_cast<std::byte*>(::operator new(magazine::blocks * block_bytes, std::align_val_t{64}));
        d.slabs.back() = slab;
        // Hands blocks out in ascending order, which suits the prefetcher of a thread that walks a list of them.
        for (std::size_t i = magazine::blocks; i-- > 0;) loaded_->put(slab + i * block_bytes);
    }

    // Makes loaded_ a magazine with room. False: there is no memory for one.
    static bool exchange_full() noexcept {
        hand_back_at_thread_exit();
        std::swap(loaded_, spare_);
        if (loaded_->count < loaded_->size) return true;
        depot& d = shared();
        const std::lock_guard held(d.mutex);
        magazine* empty = nullptr;
        try {
            empty = empty_magazine(d);
        } catch (const std::bad_alloc&) {
            return false;
        }
        if (loaded_ != &none_) d.full.push(loaded_);
        loaded_ = empty;
        return true;
    }

    static magazine* empty_magazine(depot& d) {
        magazine* const m = d.empty.pop();
        return m != nullptr ? m : new magazine{0, magazine::blocks, {}, nullptr};
    }

    static inline constinit magazine none_{0, 0, {}, nullptr};  // instead of null, so that one comparison is enough
    static inline constinit thread_local magazine* loaded_ = &none_;
    static inline constinit thread_local magazine* spare_ = &none_;
    static inline constinit thread_local bool exited_ = false;  // thread_exit has run
};

template <class Sync = real_sync>
struct pooled_storage {
    using task_type = task<Sync>;
    static_assert(sizeof(task_type) <= task_block_pool::block_bytes);

    template <class F>
    static task_type* make(F&& callable) {
        void* block = task_block_pool::allocate();
        try {
            return ::new (block) task_type(made_by<pooled_storage>(), std::forward<F>(callable));
        } catch (...) {
            task_block_pool::release(block);
            throw;
        }
    }
    static void release(task_type* t) noexcept {
        t->~task_type();
        task_block_pool::release(t);
    }
    static void leave_prefetch_hint(task_type* t) noexcept {
        t->leave_prefetch_hint(task_block_pool::allocated_before());
    }
};

}  // namespace apiary
