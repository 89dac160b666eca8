// task_storage: where tasks live. Two kinds share one interface: make(callable); release(task), which a task calls at
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
// Tested by task_test.cpp and memory_test.cpp; stressed with every scheduler's threads. Not model-checked: the engines
// have nothing like Sync::local, and its only shared part is a mutex around the depot's lists. The checks of queues use
// heap_storage, and inbox_recycled_nodes shows that a queue survives recycled nodes.
//
// Each policy has a pool of its own. What threads hand over to each other lies in cells.
//
// Threads. Any, also destructors of thread_local objects. The process keeps the memory.
// Errors.  make: std::bad_alloc, and whatever the callable's constructor throws; neither loses anything. release: none.
//          It needs no memory: a block for which there is no magazine is linked into the depot by itself.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>

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

template <class Sync = real_sync>
class basic_task_block_pool {
    template <class T>
    using cell = typename Sync::template cell<T>;

public:
    static constexpr std::size_t block_bytes = 64;

    static void* allocate() {
        magazine* m = loaded();
        const std::size_t count = m->count.read();
        if (count == 0) [[unlikely]]
            return allocate_slowly();
        return m->take(count);
    }

    static void release(void* block) noexcept {
        magazine* m = loaded();
        const std::size_t count = m->count.read();
        if (count == m->size) [[unlikely]]
            return release_slowly(block);
        m->put(block, count);
    }

    // The block that this thread got `ahead` allocations ago, if both came from one magazine; else any block, or null.
    static const void* allocated_before() noexcept { return loaded()->taken_before(); }

private:
    // How many lines are on their way from another core at a time: roughly its latency divided by the time of one task.
    static constexpr std::size_t ahead = 8;

    struct magazine {
        static constexpr std::size_t blocks = 122;
        cell<std::size_t> count{};
        std::size_t size = 0;                                     // 0: nothing can be taken from it or put into it
        std::array<cell<void*>, ahead + blocks + ahead> slots{};  // the first and last `ahead` stay null
        cell<magazine*> next{};                                   // in the depot

        // `before`: the count, which the caller has read.
        void* take(std::size_t before) {
            const std::size_t left = before - 1;
            count.write(left);
            // Another core used this block last, and it is handed out soon: ask for its line now.
            Sync::prefetch_to_write(slots[left].read());
            return slots[ahead + left].read();
        }
        void put(void* block, std::size_t before) {
            count.write(before + 1);
            slots[ahead + before].write(block);
        }
        const void* taken_before() const { return slots[ahead + count.read() + ahead].read(); }
    };
    // Separate thread-local variables: with a struct of all, g++ would keep its address in a register, and the paths
    // that are taken often would be two instructions longer.
    struct loaded_magazine {
        magazine* p = &none_;
    };
    struct spare_magazine {
        magazine* p = &none_;
    };
    struct thread_state {
        bool exited = false;  // thread_ends has run
    };
    static magazine*& loaded() { return Sync::template local<loaded_magazine>().p; }
    static magazine*& spare() { return Sync::template local<spare_magazine>().p; }
    static bool& exited() { return Sync::template local<thread_state>().exited; }

    // The blocks themselves are linked, so that a release needs no memory.
    template <class T>
    struct stack {
        cell<T*> top{};
        void push(T* t) {
            t->next.write(top.read());
            top.write(t);
        }
        T* pop() {  // null if it is empty
            T* const t = top.read();
            if (t != nullptr) top.write(t->next.read());
            return t;
        }
        bool empty() const { return top.read() == nullptr; }
    };
    struct alignas(block_bytes) task_block {
        task_block() noexcept {}  // leaves the bytes as they are
        cell<task_block*> next;
    };
    static_assert(sizeof(task_block) == block_bytes);
    struct depot {
        typename Sync::mutex mutex;
        stack<magazine> full, empty;
        stack<task_block> loose;  // released when there was no memory for a magazine
        stack<task_block> slabs;  // the first block of each, so that a leak checker finds them
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
    static void thread_ends() {
        exited() = true;
        hand_back();
    }
    static void hand_back() {
        depot& d = shared();
        const typename Sync::lock held(d.mutex);
        for (magazine* m : {std::exchange(loaded(), &none_), std::exchange(spare(), &none_)})
            if (m != &none_) (m->count.read() > 0 ? d.full : d.empty).push(m);
    }
    // Out of line: a call in the fast paths would make them save registers for it.
    [[gnu::noinline]] static void* allocate_slowly() {
        struct end_again {  // also where there is no memory
            ~end_again() {
                if (exited()) hand_back();
            }
        } const when_done;
        exchange_empty();
        return loaded()->take(loaded()->count.read());
    }
    [[gnu::noinline]] static void release_slowly(void* block) noexcept {
        if (exchange_full()) {
            loaded()->put(block, loaded()->count.read());
        } else {
            depot& d = shared();
            const typename Sync::lock held(d.mutex);
            d.loose.push(::new (block) task_block);
        }
        if (exited()) hand_back();
    }

    // Loads a magazine with at least one block.
    static void exchange_empty() {
        Sync::template at_thread_exit<&thread_ends>();
        std::swap(loaded(), spare());
        if (loaded()->count.read() > 0) return;
        depot& d = shared();
        const typename Sync::lock held(d.mutex);
        if (magazine* const full = d.full.pop()) {
            if (loaded() != &none_) d.empty.push(loaded());
            loaded() = full;
            return;
        }
        if (loaded() == &none_) loaded() = empty_magazine(d);
        std::size_t count = 0;
        while (count != magazine::blocks && !d.loose.empty()) loaded()->put(d.loose.pop(), count++);
        if (count > 0) return;
        // Its first block links the slab, so that the depot allocates nothing beside slabs and magazines.
        auto* const made = Sync::template create_array<task_block>(1 + magazine::blocks);
        d.slabs.push(made);
        // Hands blocks out in ascending order, which suits the prefetcher of a thread that walks a list of them.
        for (std::size_t i = magazine::blocks; i > 0; --i) loaded()->put(made + i, magazine::blocks - i);
    }

    // Loads a magazine with room. False: there is no memory for one.
    static bool exchange_full() noexcept {
        Sync::template at_thread_exit<&thread_ends>();
        std::swap(loaded(), spare());
        if (loaded()->count.read() < loaded()->size) return true;
        depot& d = shared();
        const typename Sync::lock held(d.mutex);
        magazine* empty = nullptr;
        try {
            empty = empty_magazine(d);
        } catch (const std::bad_alloc&) {
            return false;
        }
        if (loaded() != &none_) d.full.push(loaded());
        loaded() = empty;
        return true;
    }

    static magazine* empty_magazine(depot& d) {
        magazine* const m = d.empty.pop();
        if (m != nullptr) return m;
        auto* const made = Sync::template create<magazine>();
        made->size = magazine::blocks;
        return made;
    }

    static inline constinit magazine none_{};  // instead of null, so that one comparison is enough
};

using task_block_pool = basic_task_block_pool<>;

template <class Sync = real_sync>
struct pooled_storage {
    using task_type = task<Sync>;
    using blocks = basic_task_block_pool<Sync>;
    static_assert(sizeof(task_type) <= blocks::block_bytes);

    template <class F>
    static task_type* make(F&& callable) {
        void* block = blocks::allocate();
        try {
            return ::new (block) task_type(made_by<pooled_storage>(), std::forward<F>(callable));
        } catch (...) {
            blocks::release(block);
            throw;
        }
    }
    static void release(task_type* t) noexcept {
        t->~task_type();
        blocks::release(t);
    }
    static void leave_prefetch_hint(task_type* t) noexcept {
        t->leave_prefetch_hint(blocks::allocated_before());
    }
};

}  // namespace apiary
