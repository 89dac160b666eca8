// Programs of which ThreadSanitizer reports a race, and what --arbitrate says of the report (arbitrate_test.py).
#include <apiary/check.hpp>

#include <atomic>
#include <thread>

namespace {

struct message {
    int data = 0;
    std::atomic<int> flag{0};
};

void send_by_a_fence(message& m) {
    m.data = 42;  // written
    std::atomic_thread_fence(std::memory_order_release);  // the release fence
    m.flag.store(1, std::memory_order_relaxed);
}

template <bool Acquires>
void receive_by_a_fence(message& m) {
    if (m.flag.load(std::memory_order_relaxed) == 0) return;
    if (Acquires) std::atomic_thread_fence(std::memory_order_acquire);  // the acquire fence
    apiary::check(m.data == 42, "the message is there");  // read
}

void send_by_an_order(message& m) {
    m.data = 42;  // written by an order
    m.flag.store(1, std::memory_order_release);  // the releasing store
}

void receive_by_an_order(message& m) {
    if (m.flag.load(std::memory_order_acquire) == 1)  // the acquiring load
        apiary::check(m.data == 42, "the message is there");  // read by an order
}

// The message lies in a block of its own: without an order its reader would first meet the block's allocation.
struct sent {
    int data = 0;
};
void send_a_block(std::atomic<sent*>& box) {
    auto* const m = new sent;
    m->data = 42;  // written to a block
    box.store(m, std::memory_order_release);  // the publishing store
}
void receive_a_block(std::atomic<sent*>& box) {
    if (const sent* const m = box.load(std::memory_order_acquire))  // the taking load
        apiary::check(m->data == 42, "the message is there");  // read from a block
}

void write_when_all_are_gone(message& m) { m.data = 0; }  // written alone

}  // namespace

// The scenarios of each dispute are named, so that the others have no part in it.
APIARY_SCENARIO(fences_hand_over, "fence_is_missing") {
    message m;
    std::jthread sender([&] { send_by_a_fence(m); }), receiver([&] { receive_by_a_fence<true>(m); });
}

APIARY_FAILING_SCENARIO(fence_is_missing, "data race") {
    message m;
    std::jthread sender([&] { send_by_a_fence(m); }), receiver([&] { receive_by_a_fence<false>(m); });
}

APIARY_SCENARIO(orders_hand_over, "fence_is_missing") {
    message m;
    {
        std::jthread sender([&] { send_by_an_order(m); }), receiver([&] { receive_by_an_order(m); });
    }
    write_when_all_are_gone(m);
    apiary::check(m.data == 0, "nobody else writes it");
}

APIARY_SCENARIO(a_block_is_handed_over, "fence_is_missing") {
    std::atomic<sent*> box{nullptr};
    {
        std::jthread sender([&] { send_a_block(box); }), receiver([&] { receive_a_block(box); });
    }
    delete box.load();
}
