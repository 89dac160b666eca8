// xenium of libxenium-dev, unchanged; with nodes of two entries and no retries, which are parameters of its own.
#include <apiary/check.hpp>

#include <xenium/chase_work_stealing_deque.hpp>
#include <xenium/left_right.hpp>
#include <xenium/michael_scott_queue.hpp>
#include <xenium/ramalhete_queue.hpp>
#include <xenium/reclamation/generic_epoch_based.hpp>
#include <xenium/reclamation/stamp_it.hpp>
#include <xenium/seqlock.hpp>
#include <xenium/vyukov_bounded_queue.hpp>

#include <atomic>
#include <optional>
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

// The same without an object: two threads have entered, and leave.
APIARY_FAILING_SCENARIO(xenium_stamp_it_leaves, "the assertion `(last_stamp & NotInList) == 0' does not hold") {
    std::optional<stamped::region_guard> inside(std::in_place);
    std::atomic<bool> has_entered{false};
    std::thread a([&] {
        stamped::region_guard passes;
        has_entered.store(true, std::memory_order_release);
    });
    while (!has_entered.load(std::memory_order_acquire)) {
    }
    inside.reset();
    a.join();
}

// Each thread pushes before it pops: at any time there are as many elements as pops to come.
namespace {
template <class Queue>
void both_push_and_pop(Queue& q) {
    int got[2] = {0, 0};
    const auto both = [&](int i) {
        apiary::check(q.try_push(i + 1), "full although it is not");
        apiary::check(q.try_pop(got[i]), "empty although it was pushed");
    };
    std::thread a(both, 0), b(both, 1);
    a.join();
    b.join();
    apiary::check(got[0] + got[1] == 3 && got[0] != got[1], "lost or doubled");
}
template <class Ring>
void three_through(Ring& q) {
    std::thread producer([&] {
        for (int k = 1; k <= 3; ++k) (void)q.try_push(k);
    });
    int last = 0;
    for (int k = 0, v = 0; k < 3; ++k)
        if (q.try_pop(v)) {
            apiary::check(v > last, "out of order");
            last = v;
        }
    producer.join();
}
}  // namespace
APIARY_FAILING_SCENARIO(xenium_vyukov_bounded_queue, "empty although it was pushed") {
    xenium::vyukov_bounded_queue<int> q(2);
    both_push_and_pop(q);
}
APIARY_SCENARIO(xenium_vyukov_bounded_queue_comes_round, "xenium_vyukov_bounded_queue") {
    xenium::vyukov_bounded_queue<int> q(2);
    three_through(q);
}

APIARY_SCENARIO(xenium_michael_scott_queue, "xenium_ramalhete_queue") {
    xenium::michael_scott_queue<int, reclaimer> q;
    std::thread producer([&] {
        q.push(1);
        q.push(2);
    });
    int last = 0;
    for (int k = 0, v = 0; k < 2; ++k)
        if (q.try_pop(v)) {
            apiary::check(v > last, "out of order");
            last = v;
        }
    producer.join();
    for (int v = 0; q.try_pop(v); last = v) apiary::check(v > last, "out of order");
    apiary::check(last == 2, "lost");
}

// The owner pushes two and takes one, a thief steals one: each leaves once.
APIARY_SCENARIO(xenium_chase_work_stealing_deque, "xenium_ramalhete_queue") {
    xenium::chase_work_stealing_deque<int> d;
    int tasks[2] = {}, left[2] = {}, *stolen = nullptr;
    const auto count = [&](const int* task) { ++left[task - tasks]; };
    std::thread thief([&] {
        if (int* got = nullptr; d.try_steal(got)) stolen = got;
    });
    for (int& task : tasks) apiary::check(d.try_push(&task), "full although it is not");
    int* got = nullptr;
    if (d.try_pop(got)) count(got);
    thief.join();
    if (stolen) count(stolen);
    while (d.try_pop(got)) count(got);
    apiary::check(left[0] == 1 && left[1] == 1, "lost or doubled");
}

APIARY_SCENARIO(xenium_left_right, "xenium_seqlock_of_two_slots") {
    xenium::left_right<two_words> both{two_words{0, 0}};
    std::thread writer([&] {
        for (long k = 1; k <= 2; ++k)
            both.update([k](two_words& value) { value = {k, k}; });
    });
    both.read([](const two_words& value) { apiary::check(value.first == value.second, "a half of each"); });
    writer.join();
}
