// xenium of libxenium-dev, unchanged; with nodes of two entries and no retries, which are parameters of its own.
#include <apiary/check.hpp>

#include <xenium/ramalhete_queue.hpp>
#include <xenium/reclamation/generic_epoch_based.hpp>
#include <xenium/reclamation/stamp_it.hpp>
#include <xenium/seqlock.hpp>

#include <thread>

namespace {
using reclaimer = xenium::policy::reclaimer<xenium::reclamation::epoch_based<>>;
using queue = xenium::ramalhete_queue<int*, reclaimer, xenium::policy::entries_per_node<2>, xenium::policy::pop_retries<0>>;

// As many as were pushed are there at any time at which a thread pops.
void push_and_pop(queue& q, int& value) {
    q.push(&value);
    int* got = nullptr;
    apiary::check(q.try_pop(got), "empty although it was pushed");
}
}  // namespace

APIARY_FAILING_SCENARIO(xenium_ramalhete_queue, "empty although it was pushed") {
    queue q;
    int one = 1, two = 2;
    std::thread a([&] { push_and_pop(q, one); }), b([&] { push_and_pop(q, two); });
    a.join();
    b.join();
}

// One thread at each end: pop() asks no other popper's counter.
APIARY_SCENARIO(xenium_ramalhete_queue_one_pops, "xenium_ramalhete_queue") {
    queue q;
    int one = 1;
    int* got = nullptr;
    std::thread a([&] { q.push(&one); });
    if (q.try_pop(got)) apiary::check(got == &one, "what nobody pushed");
    a.join();
    apiary::check(got == &one || q.try_pop(got), "lost");
}

namespace {
struct two_words {
    long first, second;
};
template <unsigned Slots>
void reads_one_store() {
    xenium::seqlock<two_words, xenium::policy::slots<Slots>> lock(two_words{0, 0});
    std::thread writer([&] {
        for (long k = 1; k <= 3; ++k) lock.store({k, k});
    });
    const two_words read = lock.load();
    apiary::check(read.first == read.second, "a half of each");
    writer.join();
}
}  // namespace

APIARY_FAILING_SCENARIO(xenium_seqlock_of_two_slots, "a half of each") { reads_one_store<2>(); }
APIARY_SCENARIO(xenium_seqlock_of_one_slot, "xenium_seqlock_of_two_slots") { reads_one_store<1>(); }

// Two threads hold the same object, and one of them takes it out and retires it. Its list of threads stands on the heap from
// before main.
namespace {
using stamped = xenium::reclamation::stamp_it;
struct object : stamped::enable_concurrent_ptr<object> {
    int value = 7;
};
using pointer = stamped::concurrent_ptr<object>;
}  // namespace
APIARY_FAILING_SCENARIO(xenium_stamp_it, "the assertion `(last_stamp & NotInList) == 0' does not hold") {
    pointer shared(new object);
    const auto hold = [&](bool retires) {
        pointer::guard_ptr held;
        held.acquire(shared, std::memory_order_acquire);
        if (!held) return;
        apiary::check(held->value == 7, "gone");
        pointer::marked_ptr expected = held;
        if (retires && shared.compare_exchange_strong(expected, nullptr, std::memory_order_release, std::memory_order_relaxed))
            held.reclaim();
    };
    std::thread a(hold, false), b(hold, true);
    a.join();
    b.join();
}
