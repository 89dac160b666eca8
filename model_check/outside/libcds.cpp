// libcds of libcds-dev, unchanged: its queues and stacks over a reclaimer of this program, which frees nothing, and what
// needs none.
#include <apiary/check.hpp>

#include <cds/algo/backoff_strategy.h>
#include <cds/container/rwqueue.h>
#include <cds/container/vyukov_mpmc_cycle_queue.h>
#include <cds/container/weak_ringbuffer.h>
#include <cds/intrusive/basket_queue.h>
#include <cds/intrusive/free_list.h>
#include <cds/intrusive/moir_queue.h>
#include <cds/intrusive/msqueue.h>
#include <cds/intrusive/optimistic_queue.h>
#include <cds/intrusive/treiber_stack.h>
#include <cds/opt/options.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace {
// The parameter GC of libcds's containers. Its own (HP, DHP) read with relaxed, announce, and read again with acquire until
// both reads agree: what a container learns, it learns from the last of them. This one reads once, with acquire.
struct never_frees {
    template <class T>
    using atomic_ref = std::atomic<T*>;
    template <class T>
    using atomic_type = std::atomic<T>;
    template <class T>
    using atomic_marked_ptr = std::atomic<T>;
    template <std::size_t N>
    struct GuardArray {
        void* kept[N] = {};
        template <class T>
        T* assign(std::size_t i, T* p) {
            kept[i] = const_cast<std::remove_const_t<T>*>(p);
            return p;
        }
        template <class T, int Mask>
        T* assign(std::size_t i, cds::details::marked_ptr<T, Mask> p) {
            return assign(i, p.ptr());
        }
        template <class T, class Function>
        T protect(std::size_t i, const std::atomic<T>& from, Function value_of) {
            const T found = from.load(std::memory_order_acquire);
            assign(i, value_of(found));
            return found;
        }
        template <class T>
        T* get(std::size_t i) const {
            return static_cast<T*>(kept[i]);
        }
        void copy(std::size_t to, std::size_t from) { kept[to] = kept[from]; }
        void copy(std::size_t to, const GuardArray<1>& from) { kept[to] = from.kept[0]; }
    };
    struct Guard : GuardArray<1> {
        template <class T, class Function>
        T protect(const std::atomic<T>& from, Function value_of) {
            return GuardArray<1>::protect(0, from, value_of);
        }
        template <class T>
        auto assign(T p) {
            return GuardArray<1>::assign(0, p);
        }
    };
    template <class Disposer, class T>
    static void retire(T*) {}
};

template <class Node>
struct item : Node {
    explicit item(int n) : value(n) {}
    int value;
};
struct keeps {
    template <class T>
    void operator()(T*) const {}
};

template <class Library, template <class...> class Hook>
struct traits_of : Library {
    using hook = Hook<cds::opt::gc<never_frees>>;
    using disposer = keeps;
    using back_off = cds::backoff::empty;
};

using ms_item = item<cds::intrusive::msqueue::node<never_frees>>;
using ms_traits = traits_of<cds::intrusive::msqueue::traits, cds::intrusive::msqueue::base_hook>;
using ms_queue = cds::intrusive::MSQueue<never_frees, ms_item, ms_traits>;
using moir_queue = cds::intrusive::MoirQueue<never_frees, ms_item, ms_traits>;

using optimistic_item = item<cds::intrusive::optimistic_queue::node<never_frees>>;
using optimistic_traits = traits_of<cds::intrusive::optimistic_queue::traits, cds::intrusive::optimistic_queue::base_hook>;
using optimistic_queue = cds::intrusive::OptimisticQueue<never_frees, optimistic_item, optimistic_traits>;

using basket_item = item<cds::intrusive::basket_queue::node<never_frees>>;
using basket_traits = traits_of<cds::intrusive::basket_queue::traits, cds::intrusive::basket_queue::base_hook>;
using basket_queue = cds::intrusive::BasketQueue<never_frees, basket_item, basket_traits>;

using treiber_item = item<cds::intrusive::treiber_stack::node<never_frees>>;
using treiber_traits = traits_of<cds::intrusive::treiber_stack::traits, cds::intrusive::treiber_stack::base_hook>;
using treiber_stack = cds::intrusive::TreiberStack<never_frees, treiber_item, treiber_traits>;

// One pushes two that it has made, and as many as `poppers` pop one each; what is left is popped at the end.
template <class Container, class Item>
void one_pushes(int poppers) {
    std::unique_ptr<Item> made[2];  // they outlive the container
    Container c;
    int got[2] = {0, 0};
    const auto pops = [&](int i) {
        if (const Item* const found = c.pop()) got[i] = found->value;
    };
    std::thread a(pops, 0), b;
    if (poppers == 2) b = std::thread(pops, 1);
    for (int i = 0; i < 2; ++i) {
        made[i] = std::make_unique<Item>(i + 1);
        c.push(*made[i]);
    }
    a.join();
    if (poppers == 2) b.join();
    int sum = got[0] + got[1];
    while (const Item* const found = c.pop()) sum += found->value;
    apiary::check(sum == 3, "lost or doubled");
}
// Two push one each; what they pushed is popped at the end.
template <class Container, class Item>
void two_push() {
    std::unique_ptr<Item> made[2];
    Container c;
    const auto pushes = [&](int i) {
        made[i] = std::make_unique<Item>(i + 1);
        c.push(*made[i]);
    };
    std::thread a(pushes, 0), b(pushes, 1);
    a.join();
    b.join();
    int sum = 0;
    while (const Item* const found = c.pop()) sum += found->value;
    apiary::check(sum == 3, "lost or doubled");
}
}  // namespace

APIARY_FAILING_SCENARIO(libcds_ms_queue, "data race") { one_pushes<ms_queue, ms_item>(2); }
APIARY_SCENARIO(libcds_ms_queue_one_pops, "libcds_ms_queue") { one_pushes<ms_queue, ms_item>(1); }
APIARY_SCENARIO(libcds_moir_queue, "libcds_ms_queue") { one_pushes<moir_queue, ms_item>(2); }
APIARY_FAILING_SCENARIO(libcds_optimistic_queue, "data race") {
    one_pushes<optimistic_queue, optimistic_item>(2);
}
APIARY_SCENARIO(libcds_optimistic_queue_one_pops, "libcds_optimistic_queue") {
    one_pushes<optimistic_queue, optimistic_item>(1);
}
APIARY_SCENARIO(libcds_basket_queue_one_pops, "libcds_basket_queue_two_push") {
    one_pushes<basket_queue, basket_item>(1);
}
APIARY_FAILING_SCENARIO(libcds_basket_queue_two_push, "data race") { two_push<basket_queue, basket_item>(); }
APIARY_SCENARIO(libcds_treiber_stack, "libcds_ms_queue") { one_pushes<treiber_stack, treiber_item>(2); }

namespace {
struct ring_traits : cds::container::vyukov_queue::traits {
    using buffer = cds::opt::v::uninitialized_static_buffer<int, 2>;
    using back_off = cds::backoff::empty;
};
using vyukov_queue = cds::container::VyukovMPMCCycleQueue<int, ring_traits>;
struct weak_traits : cds::container::weak_ringbuffer::traits {
    using buffer = cds::opt::v::uninitialized_static_buffer<int, 2>;
};
using weak_ring = cds::container::WeakRingBuffer<int, weak_traits>;
struct rw_traits : cds::container::rwqueue::traits {
    using lock_type = std::mutex;
    using allocator = std::allocator<int>;
};
using rw_queue = cds::container::RWQueue<int, rw_traits>;
struct no_lock {
    void lock() {}
    void unlock() {}
};
struct lockless_traits : rw_traits {
    using lock_type = no_lock;
};

// Two threads, each of which pushes and pops.
template <class Queue>
void both_push_and_pop() {
    Queue q;
    int got[2] = {0, 0};
    const auto both = [&](int i) {
        q.push(i + 1);
        apiary::check(q.pop(got[i]), "empty although it was pushed");
    };
    std::thread a(both, 0), b(both, 1);
    a.join();
    b.join();
    apiary::check(got[0] + got[1] == 3 && got[0] != got[1], "lost or doubled");
}
// Three into two slots: a slot is used again.
template <class Ring>
void three_through() {
    Ring q;
    std::thread producer([&] {
        for (int k = 1; k <= 3; ++k) (void)q.push(k);
    });
    int last = 0;
    for (int k = 0, v = 0; k < 3; ++k)
        if (q.pop(v)) {
            apiary::check(v > last, "out of order");
            last = v;
        }
    producer.join();
}
}  // namespace
APIARY_FAILING_SCENARIO(libcds_vyukov_queue, "empty although it was pushed") { both_push_and_pop<vyukov_queue>(); }
APIARY_SCENARIO(libcds_vyukov_queue_comes_round, "libcds_vyukov_queue") { three_through<vyukov_queue>(); }
APIARY_SCENARIO(libcds_weak_ring_buffer, "libcds_ms_queue") { three_through<weak_ring>(); }
APIARY_SCENARIO(libcds_rw_queue, "libcds_rw_queue_without_its_lock") { both_push_and_pop<rw_queue>(); }
APIARY_FAILING_SCENARIO(libcds_rw_queue_without_its_lock, "data race") {
    both_push_and_pop<cds::container::RWQueue<int, lockless_traits>>();
}

namespace {
// Nodes come and go; one has a node at a time.
template <class List>
void nodes_come_and_go() {
    struct node : List::node {
        int owner = 0;
    };
    node n[2];
    List list;
    list.put(&n[0]);
    list.put(&n[1]);
    const auto takes = [&](int i) {
        if (auto* const got = static_cast<node*>(list.get())) {
            got->owner = i;
            apiary::check(got->owner == i, "two have it");
            list.put(got);
        }
    };
    std::thread a(takes, 1), b(takes, 2);
    a.join();
    b.join();
    int left = 0;
    while (list.get()) ++left;
    apiary::check(left == 2, "lost or doubled");
}
}  // namespace
APIARY_SCENARIO(libcds_free_list, "libcds_ms_queue") { nodes_come_and_go<cds::intrusive::FreeList>(); }
